"""What a data set is made of: frozen dataclasses that go to JSON and back. An unknown key is an error."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from eitlens.checks import at_least, choose, known_keys
from eitlens.errors import InputError
from eitlens.files import read_json
from eitlens.forward.currents import CurrentsConfig

if TYPE_CHECKING:
    from eitlens.domain import Square
    from eitlens.forward import Solver
    from eitlens.phantom import Sampler

SolverName = Literal["boundary-integral", "grid"]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
FINEST = 1000
"""Cells a side of the finest grid, as for the commands: beyond it memory gives out."""


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
