"""A measurement: what a device knows of a body. Two files beside this one hold its two kinds.

`readings.py` has the measurement of a tank: electrodes, a pattern and readings in volts. `points.py` has that of the
paper: densities of current and potentials at points of the boundary.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError, prefix_errors
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig

if TYPE_CHECKING:
    from eitlens.measure.boundary_map import BoundaryMap
    from eitlens.measure.points import PointMeasurement
    from eitlens.measure.readings import ElectrodeMeasurement

FEWEST_POINTS = 8  # fewer tell next to nothing
Frames = Float64[Tensor, "frames readings"]


@dataclass(frozen=True)
class Flag:
    """A warning about data or their image: `kind` for programs, `text` for people.

    Kinds: noise, amplitude, contrast, mean, gap, currents, units, reference, posterior (see docs/measurements.md).
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Prepared:
    """Data in the form that a method reads: f - f0 of its own currents at the nodes of its own grid.

    Attributes:
        difference: (L, N), f - f0 for a body of conductivity 1, zero mean, filled in where not measured.
        seen: (L, N), the nodes next to a measured point.
        noise: estimate of τ; None where the data do not tell.
        gap: the longest piece of boundary without a voltage.
        mean: the largest |mean of f - f0| over its root mean square, before it was taken off.
        residual: the largest part of a wanted current that the injected ones do not make.
        unread: how many wanted currents are not among them though as many independent ones were given.
        domain: the body at whose boundary nodes they are.
        doubts: what else is doubtful about them.
        weights: (L,), how much each current is worth where data of some are next to nothing; None where all are alike.
        conductivity: σ0 of the body in S/m; 1 where it is not known, and σ is then relative to it.
    """

    difference: Data
    seen: Bool[Tensor, "currents boundary"]
    noise: float | None
    gap: float
    mean: float
    residual: float
    unread: int
    domain: Domain
    doubts: tuple[Flag, ...] = ()
    weights: Float64[Tensor, "currents"] | None = None
    conductivity: float = 1.0


class Measurement(ABC):
    """Readings of a body, of one or more frames, with all that is needed to understand them.

    Three ways to make one: `of_electrodes` for a tank in amperes, volts and metres, `of_points` for potentials at
    points of the boundary, `of_difference` for f - f0 at the nodes of a grid. `eitlens.measure.files.read` reads one.

    Attributes:
        domain: the body.
        electrodes: where the currents go in.
        pattern: what was driven, and what was read.
        source: the file it was read from, for errors that are found later; no part of a file.

    >>> data = eit.Measurement.of_difference(torch.zeros(3, 800, dtype=torch.float64))
    >>> data.domain, data.frames
    (Square(n=200), 1)
    """

    if TYPE_CHECKING:  # each is a field of one kind of measurement and follows from the fields of the other

        @property
        def domain(self) -> Domain:
            """The body."""

        @property
        def electrodes(self) -> Electrodes:
            """Where the currents go in."""

        @property
        def pattern(self) -> Pattern:
            """What was driven, and what was read."""

        @property
        def source(self) -> str:
            """The file it was read from."""

        @property
        def times(self) -> Float64[Tensor, "frames"] | None:
            """The time of each frame in seconds, where it is known."""

    @property
    @abstractmethod
    def frames(self) -> int:
        """The number of frames."""

    @abstractmethod
    def frame(self, number: int) -> "Measurement":
        """The measurement of one frame, counted from 0."""

    def selected(self, rows: Sequence[int]) -> "Measurement":
        """The measurement of some frames, counted from 0, in the order given; the reference stays."""
        raise self._single("chosen")

    def averaged(self, count: int | None = None) -> "Measurement":
        """The means of so many frames in a row each, of all for None; what is left at the end is left out."""
        raise self._single("averaged")

    def against(self, reference: Any) -> "Measurement":
        """The measurement compared with another, or with some of its own frames (counted from 0)."""
        raise self._single("compared")

    def _single(self, action: str) -> InputError:
        return InputError(
            f"{self.source or 'measurement'}: it has one frame and its own reference: no frames can be {action}"
        )

    def prepare(self, wanted: CurrentsConfig, fewest: int, domain: Domain) -> Prepared:
        """As many of the wanted currents as the injected ones make, at least `fewest`, at the nodes of a grid.

        Of several frames the first is taken. Errors name the file that the measurement was read from.
        """
        with prefix_errors(self.source):
            if self.domain.name != domain.name:
                raise InputError(
                    f"the measurement is of a {self.domain.name}, and this method knows only the {domain.name}: "
                    "use direct sampling (--method dsm), which takes any body"
                )
            return self._prepared(wanted, fewest, domain)

    @abstractmethod
    def _prepared(self, wanted: CurrentsConfig, fewest: int, domain: Domain) -> Prepared:
        """What `prepare` returns, for the same body."""

    def boundary_map(self) -> "BoundaryMap":
        """What the inclusions change in the Neumann-to-Dirichlet map, from the first frame."""
        raise InputError(
            f"{self.source or 'measurement'}: potentials at points: this method needs readings of electrodes"
        )

    @staticmethod
    def of_electrodes(
        electrodes: Electrodes, pattern: Pattern, voltages: Any, reference: Any = None, **more: Any
    ) -> "ElectrodeMeasurement":
        """From electrodes, a pattern and readings in volts; see `ElectrodeMeasurement` for what more there is."""
        from eitlens.measure.readings import ElectrodeMeasurement

        return ElectrodeMeasurement(electrodes, pattern, voltages, reference, **more)

    @staticmethod
    def of_points(
        points: Any, currents: Any, voltages: Any, reference: Any = None, mask: Any = None, **more: Any
    ) -> "PointMeasurement":
        """From densities and potentials at points of the boundary; see `PointMeasurement` for what more there is."""
        from eitlens.measure.points import PointMeasurement

        return PointMeasurement(points, currents, voltages, reference, mask, **more)

    @staticmethod
    def of_difference(
        difference: Data, currents: CurrentsConfig | None = None, domain: Domain | None = None
    ) -> "PointMeasurement":
        """From f - f0 for the first L of a family, cosines by default, at the boundary nodes of a domain.

        Without one, values (L, 4n) are taken to be those at the nodes of Square(n).
        """
        from eitlens.measure.points import of_difference

        return of_difference(difference, currents, domain)

    @staticmethod
    def from_arrays(values: object, where: str = "measurement") -> "Measurement":
        """From named arrays or lists of numbers; an unknown name or a bad value is an error."""
        from eitlens.measure.points import PointMeasurement
        from eitlens.measure.readings import ElectrodeMeasurement

        of_electrodes = isinstance(values, dict) and "electrodes" in values
        return (ElectrodeMeasurement if of_electrodes else PointMeasurement).from_arrays(values, where)

    @abstractmethod
    def to_arrays(self) -> dict[str, Any]:
        """The values for a file, by name, without what is left out: numbers, text and tensors."""

    def to_dict(self) -> dict[str, Any]:
        """The values for a file as plain JSON values."""
        return {key: v.tolist() if isinstance(v, Tensor) else v for key, v in self.to_arrays().items()}
