"""The table of contents of a data set, `manifest.json`: written last, so where it is, the set is whole."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eitlens.checks import known_keys
from eitlens.dataset.config import SPLITS, Split
from eitlens.dataset.shard import VERSION, Header
from eitlens.domain.bodies import SQUARE, without_square
from eitlens.errors import InputError
from eitlens.files import read_json, sha256, write_json
from eitlens.forward.currents import CurrentsConfig

FILE = "manifest.json"
FORMAT = "eitlens-data"
_AGAIN = "delete it and run `eitlens generate` again"


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
    """The contents of a data set: where each sample is, every file's checksum. No clock: the same bytes."""

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
    readings: int = 0
    """Readings of a sample, of a tank; 0 for currents and boundary nodes."""

    @property
    def count(self) -> int:
        """Samples in all."""
        return self.shards[-1].stop


def write_manifest(
    folder: Path,
    name: str,
    headers: dict[str, Header],
    splits: dict[Split, tuple[int, int]],
    source: dict[str, Any],
) -> None:
    """Write the manifest of files with these headers, whole or not at all."""
    shards = tuple(
        Shard(file, header.start, header.stop, (folder / file).stat().st_size, sha256(folder / file))
        for file, header in headers.items()
    )
    first, *_ = headers.values()
    currents = CurrentsConfig(**first.currents)
    made_with = tuple(sorted({header.made_with for header in headers.values()}))
    manifest = Manifest(
        name, first.n, currents, splits, source, made_with, shards, body=first.body, readings=first.readings
    )
    values = {"format": FORMAT, "version": VERSION} | without_square(asdict(manifest))
    del values["currents" if first.readings else "readings"]
    write_json(folder / FILE, values, indent=1)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a data set, checked for version, keys and gaps between shards."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(
            f"{path}: no such file: not a data set, or not finished: run `eitlens generate` on {folder} again"
        )
    return read_json(path, _checked, _AGAIN)


def _checked(values: Any) -> Manifest:
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError("not the manifest of an eitlens data set: is it the right folder?")
    if values.get("version") != VERSION:
        raise InputError(
            f"format version {values.get('version')!r}, this eitlens reads {VERSION}: "
            "update eitlens, or generate again"
        )
    values = known_keys(values, Manifest, "manifest")
    spans: dict[Split, list[int]] = values["splits"]
    manifest = Manifest(
        values["name"],
        int(values["n"]),
        CurrentsConfig(**known_keys(values.get("currents", {}), CurrentsConfig, "currents")),
        {split: (int(spans[split][0]), int(spans[split][1])) for split in SPLITS},
        values["source"],
        tuple(values["made_with"]),
        tuple(Shard(**known_keys(shard, Shard, "shards")) for shard in values["shards"]),
        body=values.get("body", SQUARE.name),
        readings=int(values.get("readings", 0)),
    )
    _check_order(manifest)
    return manifest


def _check_order(manifest: Manifest) -> None:
    """Shards follow each other without gaps, stay in the folder, and hold every split."""
    expected = 0
    for shard in manifest.shards:
        if shard.start != expected or shard.stop <= shard.start or Path(shard.file).name != shard.file:
            raise InputError(f"damaged at {shard.file!r}: {_AGAIN}")
        expected = shard.stop
    if not manifest.shards or any(not 0 <= a <= b <= expected for a, b in manifest.splits.values()):
        raise InputError(f"the splits reach beyond its {expected} samples: {_AGAIN}")
