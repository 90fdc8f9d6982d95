"""Places of weights: networks that come with the package, by name, and folders of runs.

A folder of shipped weights holds: the weights, 8-bit, in shards of at most 15 MB, with their .json; features.json (or
what another kind of reader needs); calibration.json (eitlens.imaging.calibration); config.json and log.csv of the
training; evaluation.json, of the weights in 16 bits; eight_bits.json, both side by side (benchmarks/eight_bits.py);
and card.md, the model card. Two kinds of folders are other things: one with a guide.json is the guide of the posterior
(eitlens.posterior.guide.network) and makes no images; one with a maps.safetensors is a network for readings of round
tanks (eitlens.imaging.tank_imager).
"""

from pathlib import Path

from eitlens.errors import InputError

SHIPPED = Path(__file__).parent
"""The folder of the package's own networks."""
DEFAULT, TANK = "flagship", "tank"
"""The networks that are used where none is named: of boundary data, and of readings of a round tank."""
MAPS = "maps.safetensors"
"""The prior beside the weights of a network for tanks, which is known by it."""
_ORDER = (DEFAULT, "uit", "uit-small")
_GUIDE, _MARK = "guide", "guide.json"


def shipped() -> list[str]:
    """The names of the networks of boundary data that come with the package, the default first."""
    return sorted(networks(SHIPPED), key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def networks(place: Path) -> list[str]:
    """The names of the folders in a place that hold networks of boundary data; none where there is no such place."""
    found = {file.parent for file in place.glob("*/*.safetensors")}
    marks = (_MARK, MAPS)
    return sorted(folder.name for folder in found if not any((folder / mark).exists() for mark in marks))


def guide() -> Path | None:
    """The folder of the posterior's guide, where this copy of the package has one."""
    folder = SHIPPED / _GUIDE
    return folder if (folder / _MARK).exists() else None


def default() -> str:
    """Name `flagship`, or the first network that is there; an error when none is."""
    names = shipped()
    if not names:
        raise InputError(
            "no trained network is installed with this copy of eitlens: give the folder of a run of "
            "`eitlens train` as the model, or use direct sampling (--method dsm), which needs none"
        )
    return names[0]


def find(model: str | Path | None) -> Path:
    """The folder of a shipped network by its name, or a folder given; the default for None."""
    name = default() if model is None else str(model)
    if name in shipped() or (name == TANK and (SHIPPED / TANK).exists()):
        return SHIPPED / name
    if not is_folder(name):
        known = ", ".join([*shipped(), *([TANK] if (SHIPPED / TANK).exists() else [])]) or "none"
        raise InputError(
            f"no trained network {name!r}: the names installed are: {known}; and there is no such folder"
        )
    return Path(name)


def find_tank(model: str | Path | None) -> Path:
    """The folder of a network for tanks, by its name or as it is given; the shipped one for None."""
    folder = find(TANK if model is None else model)
    if not (folder / MAPS).exists():
        raise InputError(f"{folder}: no network for tanks: it holds no {MAPS}")
    return folder


def owns(folder: Path) -> bool:
    """Whether the package itself keeps a network there."""
    return folder.resolve().parent == SHIPPED.resolve()


def is_folder(name: str) -> bool:
    """Whether there is a folder of that name, if it can be one at all."""
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # too long a name, a zero byte
        return False
