"""The configuration of a data set: frozen dataclasses that go to JSON and back. An unknown key is an error."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

from eitlens import checks
from eitlens.checks import at_least, known_keys
from eitlens.domain import Domain
from eitlens.domain.bodies import BODIES, SQUARE, without_square
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, ElectrodeSolver, TankConfig
from eitlens.electrodes.base import by_elements
from eitlens.errors import InputError
from eitlens.files import read_json
from eitlens.forward import Solver
from eitlens.forward.automatic import SOLVERS
from eitlens.forward.currents import CurrentsConfig
from eitlens.phantom import Sampler
from eitlens.phantom.registry import SAMPLERS

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
    size: tuple[float, float] | None = None
    resistive: tuple[float, float] | None = None
    conductive: tuple[float, float] | None = None
    worlds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        SAMPLERS.check("sampler: shapes", self.shapes)
        at_least("sampler: seed", self.seed, 0)
        at_least("sampler: count", self.count, 1)
        for name in ("size", "resistive", "conductive"):
            if getattr(self, name) is not None:
                pair = checks.finite(
                    checks.physics(getattr(self, name), f"sampler: {name}"), f"sampler: {name}"
                )
                if pair.shape != (2,):
                    raise InputError(
                        f"sampler: {name}: expected two numbers, got {checks.shown(getattr(self, name))}"
                    )
                object.__setattr__(self, name, tuple(pair.tolist()))
        if self.worlds is not None:
            object.__setattr__(self, "worlds", tuple(self.worlds))
        known = signature(SAMPLERS[self.shapes]).parameters
        for field_ in fields(self):
            if field_.name not in ("shapes", *known) and getattr(self, field_.name) != field_.default:
                raise InputError(f"sampler {self.shapes} has no {field_.name}: leave it out")

    def build(self, body: Domain = SQUARE) -> Sampler:
        """The sampler: phantom k is a pure function of (seed, k), and of the body where the sampler asks for one."""
        kind = SAMPLERS[self.shapes]
        known = signature(kind).parameters
        settings = {key: value for key, value in asdict(self).items() if key in known and value is not None}
        return kind(**settings, **({"body": body} if "body" in known else {}))


@dataclass(frozen=True)
class SolverConfig:
    """A forward solver by name. `tolerance` is the solver's own when left out.

    Boundary integrals with `nodes` an outline are quicker: they do not ask how many are needed.
    """

    name: str = "grid"
    tolerance: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        SOLVERS.check("solver: name", self.name)
        if not isinstance(self.tolerance, int | float | None):
            raise InputError(f"solver: tolerance must be a number or left out, got {self.tolerance!r}")

    def build(self, domain: Domain) -> Solver:
        """The solver on a domain."""
        kind, settings = SOLVERS[self.name], without_none({"tolerance": self.tolerance, "nodes": self.nodes})
        known = signature(kind).parameters
        if "tolerance" in settings and "tolerance" not in known:
            raise InputError(f"solver {self.name} solves exactly: leave the tolerance out")
        if "nodes" in settings and "nodes" not in known:
            raise InputError(f"solver {self.name} has no nodes on outlines: leave them out")
        return kind(domain, **settings)

    def with_electrodes(self, electrodes: Electrodes) -> ElectrodeSolver:
        """The solver for electrodes."""
        if self.name == "elements":
            return by_elements(electrodes)
        return CompleteElectrodeSolver(self.build(electrodes.body), electrodes)


@dataclass(frozen=True)
class DataConfig:
    """A data set: samples 0 … train + validation + test - 1 of the sampler, in that order, `shard` to a file.

    The splits are ranges of the sample's index, so they share no phantom and do not depend on how the work
    was split. What is measured are the data of `currents`, or the readings of electrodes where there is a `tank`.
    With `sigma` the log of σ over that of the body is stored at each node, and the mask is where it is far from 0.
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
    tank: TankConfig | None = None
    sigma: bool = False

    def __post_init__(self) -> None:
        BODIES.check("body", self.body)
        if self.tank is not None:
            self._check_tank()
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
                "the boundary-integral solver needs smooth shapes that do not touch: "
                "set sampler disjoint=true and shapes=ellipses or objects, or use another solver"
            )

    def _check_tank(self) -> None:
        """Refuse a tank that nobody can simulate, before anything is done."""
        assert self.tank is not None
        if self.currents != CurrentsConfig():
            raise InputError("currents: in a tank the pattern says what is driven: leave them out")
        if self.solver.name == "grid":
            raise InputError(
                "the grid solver knows no electrodes: set solver to boundary-integral or elements"
            )
        self.tank.build(BODIES[self.body])

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
        values = without_none(without_square(asdict(self)))
        # Keys that came later, and those a tank has no use for, are left out: digests of before stay the same.
        sampler = without_none(values["sampler"]).items()
        values["sampler"] = {key: list(v) if isinstance(v, tuple) else v for key, v in sampler}
        tolerance = values["solver"].pop("tolerance")
        values["solver"] = without_none(values["solver"]) | {"tolerance": tolerance}
        if not self.sigma:
            del values["sigma"]
        if self.tank is not None:
            values["tank"] = without_none(values["tank"])
            del values["currents"]
        return values

    @staticmethod
    def from_dict(values: object) -> "DataConfig":
        """From plain JSON values, each checked; defaults fill what is left out."""
        top = known_keys(values, DataConfig, "data configuration")
        parts = {
            "currents": CurrentsConfig,
            "sampler": SamplerConfig,
            "solver": SolverConfig,
            "tank": TankConfig,
        }
        nested = {key: parts[key](**known_keys(top[key], parts[key], key)) for key in parts if key in top}
        if not isinstance(top.get("name"), str):
            raise InputError("data configuration: 'name' is missing or not text: name the data set")
        return DataConfig(**(top | nested))

    @staticmethod
    def read(path: Path) -> "DataConfig":
        """From a JSON file."""
        return read_json(path, DataConfig.from_dict, "see docs/data_format.md for an example")


def without_none(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are given."""
    return {key: value for key, value in values.items() if value is not None}
