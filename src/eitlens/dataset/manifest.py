"""The table of contents of a data set, `manifest.json`: written last, so where it is, the set is whole."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eitlens.checks import known_keys
from eitlens.dataset.config import SPLITS, Split
from eitlens.dataset.shard import VERSION, Header
from eitlens.domain.bodies import SQUARE, without_square
from eitlens.errors import InputError
from eitlens.files import disk_errors, sha256, write_atomically
from eitlens.forward.currents import CurrentsConfig

FILE = "manifest.json"
FORMAT = "eitlens-data"


@dataclass(frozen=True)
class Shard:
    """One file: samples start … stop - 1."""

    file: str
    start: int
    stop: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What the data set is, where each sample is, every file's checksum. No clock: the same bytes."""

    name: str
    n: int
    currents: CurrentsConfig
    splits: dict[Split, tuple[int, int]]
    source: dict[str, Any]
    """`{"config": …}` of a generated set, `{"imported": …}` of an imported one."""
    made_with: tuple[str, ...]
    """All the machines and versions that made shards."""
    shards: tuple[Shard, ...]
    format: str = FORMAT
    version: int = VERSION
    body: str = SQUARE.name

    @property
    def count(self) -> int:
        """Samples in all."""
        return self.shards[-1].stop


def list_shards(folder: Path, headers: dict[str, Header]) -> tuple[Shard, ...]:
    """The files with their sizes and checksums."""
    return tuple(
        Shard(name, header.start, header.stop, (folder / name).stat().st_size, sha256(folder / name))
        for name, header in headers.items()
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it, whole or not at all."""
    values = {"format": FORMAT, "version": VERSION} | without_square(asdict(manifest))
    write_atomically(folder / FILE, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a data set, checked for version, keys and gaps between shards."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(
            f"{path}: no such file: not a data set, or not finished: run `eitlens generate` on {folder} again"
        )
    with disk_errors(path):
        content = path.read_bytes()
    try:
        values = json.loads(content)
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}): delete it and run `eitlens generate` again") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError(f"{path}: not the manifest of an eitlens data set: is {folder} the right folder?")
    if values.get("version") != VERSION:
        raise InputError(
            f"{path}: format version {values.get('version')!r}, this eitlens reads {VERSION}: "
            "update eitlens, or generate again"
        )
    return _checked(path, values)


def _checked(path: Path, values: dict[str, Any]) -> Manifest:
    values = known_keys(values, Manifest, str(path))
    try:
        shards = tuple(Shard(**known_keys(shard, Shard, str(path))) for shard in values["shards"])
        splits: dict[Split, tuple[int, int]] = {
            s: (int(values["splits"][s][0]), int(values["splits"][s][1])) for s in SPLITS
        }
        currents = CurrentsConfig(**known_keys(values["currents"], CurrentsConfig, str(path)))
        made_with = tuple(values["made_with"])
        manifest = Manifest(
            values["name"],
            int(values["n"]),
            currents,
            splits,
            values["source"],
            made_with,
            shards,
            body=values.get("body", SQUARE.name),
        )
    except (KeyError, TypeError, IndexError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged ({error!r}): delete it and run `eitlens generate` again") from None
    _check_order(path, manifest)
    return manifest


def _check_order(path: Path, manifest: Manifest) -> None:
    """Shards follow each other without gaps, stay in the folder, and hold every split."""
    expected = 0
    for shard in manifest.shards:
        if shard.start != expected or shard.stop <= shard.start or Path(shard.file).name != shard.file:
            raise InputError(f"{path}: damaged at {shard.file!r}: delete it and run `eitlens generate` again")
        expected = shard.stop
    if not manifest.shards or any(not 0 <= a <= b <= expected for a, b in manifest.splits.values()):
        raise InputError(
            f"{path}: the splits reach beyond its {expected} samples: run `eitlens generate` again"
        )
