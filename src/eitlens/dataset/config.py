"""The configuration of a data set: frozen dataclasses that go to JSON and back. An unknown key is an error."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

from eitlens.checks import at_least, known_keys
from eitlens.domain import Domain
from eitlens.domain.bodies import BODIES, SQUARE, without_square
from eitlens.errors import InputError
from eitlens.files import read_json
from eitlens.forward import Solver
from eitlens.forward.automatic import SOLVERS
from eitlens.forward.currents import CurrentsConfig
from eitlens.phantom import Sampler
from eitlens.phantom.samplers import SAMPLERS

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
FINEST = 1000
"""Cells a side of the finest grid, as for the commands: beyond it memory gives out."""


@dataclass(frozen=True)
class SamplerConfig:
    """Random phantoms: `count` shapes of a registered sampler's own sizes, `gap` apart if `disjoint`."""

    shapes: str = "ellipses"
    seed: int = 1127802
    count: int = 4
    disjoint: bool = False
    gap: float = 0.04
    extent: float = 0.95
    inside: float = 10.0
    outside: float = 1.0

    def __post_init__(self) -> None:
        SAMPLERS.check("sampler: shapes", self.shapes)
        at_least("sampler: seed", self.seed, 0)
        at_least("sampler: count", self.count, 1)

    def build(self) -> Sampler:
        """The sampler: phantom k is a pure function of (seed, k)."""
        settings = asdict(self)
        return SAMPLERS[settings.pop("shapes")](**settings)


@dataclass(frozen=True)
class SolverConfig:
    """A forward solver by name. `tolerance` is the solver's own when left out."""

    name: str = "grid"
    tolerance: float | None = None

    def __post_init__(self) -> None:
        SOLVERS.check("solver: name", self.name)
        if not isinstance(self.tolerance, int | float | None):
            raise InputError(f"solver: tolerance must be a number or left out, got {self.tolerance!r}")

    def build(self, domain: Domain) -> Solver:
        """The solver on a domain."""
        kind = SOLVERS[self.name]
        if self.tolerance is None:
            return kind(domain)
        if "tolerance" not in signature(kind).parameters:
            raise InputError(f"solver {self.name} solves exactly: leave the tolerance out")
        return kind(domain, tolerance=self.tolerance)


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
    body: str = SQUARE.name

    def __post_init__(self) -> None:
        BODIES.check("body", self.body)
        at_least("n", self.n, 16)  # cells: a smaller grid hardly has a node in an ellipse
        if self.n > FINEST:
            raise InputError(f"n must be at most {FINEST}, got {self.n}: choose a coarser grid")
        at_least("shard", self.shard, 1)
        for split in SPLITS:
            at_least(split, getattr(self, split), 0)
        at_least("samples in all", self.count, 1)
        if self.solver.name == "boundary-integral" and not (
            self.sampler.disjoint and SAMPLERS[self.sampler.shapes].kind.smooth
        ):
            raise InputError(
                "the boundary-integral solver needs ellipses that do not touch: "
                "set sampler disjoint=true and shapes=ellipses, or use the grid solver"
            )

    @property
    def domain(self) -> Domain:
        """The body and its grid."""
        return BODIES[self.body].at(self.n)

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
        """The configuration as plain JSON values."""
        return without_square(asdict(self))

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
