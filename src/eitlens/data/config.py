"""What a data set is made of: frozen dataclasses that go to JSON and back. An unknown key is an error."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from eitlens.errors import InputError
from eitlens.files import read_json

if TYPE_CHECKING:
    import torch

    from eitlens.domain import Domain, Square
    from eitlens.forward import Solver
    from eitlens.forward.base import Currents
    from eitlens.phantom import Sampler

Family = Literal["cosine", "sine", "trigonometric", "arclength"]
SolverName = Literal["boundary-integral", "grid"]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
FINEST = 1000
"""Cells a side of the finest grid, as for the commands: beyond it memory gives out."""


@dataclass(frozen=True)
class CurrentsConfig:
    """A family of `eitlens.forward.currents` and how many of it."""

    family: Family = "cosine"
    count: int = 3

    def __post_init__(self) -> None:
        choose("currents: family", self.family, get_args(Family))
        at_least("currents: count", self.count, 1)

    def build(self, domain: "Domain", device: "torch.device | None" = None) -> "Currents":
        """The currents (L, N) at the boundary nodes."""
        from eitlens.forward import currents

        families: dict[str, Callable[..., Currents]] = {
            "cosine": currents.cosine,
            "sine": currents.sine,
            "trigonometric": currents.trigonometric,
            "arclength": currents.arclength,
        }
        return families[self.family](domain, self.count).to(device)


@dataclass(frozen=True)
class SamplerConfig:
    """Random phantoms: `count` ellipses or polygons of the sampler's own sizes, `gap` apart if `disjoint`."""

    shapes: Literal["ellipses", "polygons"] = "ellipses"
    seed: int = 1127802
    count: int = 4
    disjoint: bool = False
    gap: float = 0.04
    extent: float = 0.95
    inside: float = 10.0
    outside: float = 1.0

    def __post_init__(self) -> None:
        choose("sampler: shapes", self.shapes, ("ellipses", "polygons"))
        at_least("sampler: seed", self.seed, 0)
        at_least("sampler: count", self.count, 1)

    def build(self) -> "Sampler":
        """The sampler: phantom k is a pure function of (seed, k)."""
        from eitlens.phantom import EllipseSampler, PolygonSampler

        kind = EllipseSampler if self.shapes == "ellipses" else PolygonSampler
        return kind(
            seed=self.seed,
            count=self.count,
            disjoint=self.disjoint,
            gap=self.gap,
            extent=self.extent,
            inside=self.inside,
            outside=self.outside,
        )


@dataclass(frozen=True)
class SolverConfig:
    """A forward solver by name. `tolerance` is the solver's own when left out."""

    name: SolverName = "grid"
    tolerance: float | None = None

    def __post_init__(self) -> None:
        choose("solver: name", self.name, get_args(SolverName))
        if not isinstance(self.tolerance, int | float | None):
            raise InputError(f"solver: tolerance must be a number or left out, got {self.tolerance!r}")

    def build(self, domain: "Square") -> "Solver":
        """The solver on a domain."""
        if self.name == "boundary-integral":
            from eitlens.forward import BoundaryIntegralSolver

            exact = BoundaryIntegralSolver(domain)
            return exact if self.tolerance is None else replace(exact, tolerance=self.tolerance)
        from eitlens.forward.grid import GridSolver

        grid = GridSolver(domain)
        return grid if self.tolerance is None else replace(grid, tolerance=self.tolerance)


@dataclass(frozen=True)
class DataConfig:
    """A data set: samples 0 … train + validation + test - 1 of the sampler, in that order, `shard` to a file.

    The splits are ranges of the sample's index, so they share no phantom and do not depend on how the work
    was split.
    """

    name: str
    n: int = 200
    train: int = 8640
    validation: int = 2160
    test: int = 2000
    shard: int = 400
    currents: CurrentsConfig = field(default_factory=CurrentsConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    solver: SolverConfig = field(default_factory=SolverConfig)

    def __post_init__(self) -> None:
        at_least("n", self.n, 16)
        if self.n > FINEST:
            raise InputError(f"n must be at most {FINEST}, got {self.n}: choose a coarser grid")
        at_least("shard", self.shard, 1)
        for split in SPLITS:
            at_least(split, getattr(self, split), 0)
        at_least("samples in all", self.count, 1)
        if self.solver.name == "boundary-integral" and not (
            self.sampler.disjoint and self.sampler.shapes == "ellipses"
        ):
            raise InputError(
                "the boundary-integral solver needs ellipses that do not touch: "
                "set sampler disjoint=true and shapes=ellipses, or use the grid solver"
            )

    @property
    def domain(self) -> "Square":
        """The body and its grid."""
        from eitlens.domain import Square

        return Square(self.n)

    @property
    def count(self) -> int:
        """Samples in all."""
        return self.train + self.validation + self.test

    @property
    def ranges(self) -> dict[Split, tuple[int, int]]:
        """The indices start … stop - 1 of each split."""
        middle = self.train + self.validation
        return {"train": (0, self.train), "validation": (self.train, middle), "test": (middle, self.count)}

    @property
    def shards(self) -> list[tuple[int, int]]:
        """The indices start … stop - 1 of each file."""
        return [(k, min(k + self.shard, self.count)) for k in range(0, self.count, self.shard)]

    @property
    def digest(self) -> str:
        """A name for exactly this configuration: shards of another are never taken for its own."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_dict(values: object) -> "DataConfig":
        """From plain JSON values, each checked; defaults fill what is left out."""
        top = known_keys(values, DataConfig, "data configuration")
        parts = {"currents": CurrentsConfig, "sampler": SamplerConfig, "solver": SolverConfig}
        nested = {key: parts[key](**known_keys(top[key], parts[key], key)) for key in parts if key in top}
        if not isinstance(top.get("name"), str):
            raise InputError("data configuration: 'name' is missing or not text: name the data set")
        return DataConfig(**(top | nested))

    @staticmethod
    def read(path: Path) -> "DataConfig":
        """From a JSON file."""
        return read_json(path, DataConfig.from_dict, "see docs/data_format.md for an example")


def known_keys(values: object, kind: type[Any], what: str) -> dict[str, Any]:
    """The values as a dictionary whose keys are fields of the dataclass, of the types of their defaults."""
    names = [f.name for f in fields(kind)]
    if not isinstance(values, dict):
        raise InputError(f"{what}: expected an object with the keys {', '.join(names)}, got {values!r}")
    for key, value in values.items():
        if key not in names:
            raise InputError(f"{what}: unknown key {key!r}: it has {', '.join(names)}")
        _check_type(what, key, value, next(f.default for f in fields(kind) if f.name == key))
    return dict(values)


def choose(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def at_least(name: str, value: int, least: int) -> None:
    """Refuse a number that is too small."""
    if not value >= least:
        raise InputError(f"{name} must be at least {least}, got {value}")


def _check_type(what: str, key: str, value: object, default: object) -> None:
    """Refuse a value of another type than the default; a whole number may stand for a fraction."""
    kind = type(default)
    if kind not in (bool, int, float, str) or (kind is float and type(value) is int):
        return
    if type(value) is not kind:
        raise InputError(f"{what}: {key} must be of type {kind.__name__}, got {value!r}")
