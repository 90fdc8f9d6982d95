"""A tank in plain numbers and words: the options of `eitlens simulate`, and a part of a data set's configuration."""

import math
from dataclasses import dataclass

from eitlens.domain import Domain, bodies
from eitlens.electrodes.layout import DEFAULT_IMPEDANCE, Electrodes
from eitlens.electrodes.patterns import Pattern


@dataclass(frozen=True)
class TankConfig:
    """Even electrodes on a body, what they drive and read, and the size of the tank.

    Attributes:
        electrodes: how many.
        coverage: the part of the boundary under them.
        impedance: of the contacts, in Ω m².
        first: the angle of electrode 1 in degrees; 90 is the top.
        clockwise: whether the numbers run clockwise.
        pattern: what drives, see `Pattern.named`.
        readings: the channels, in the same words.
        driven: whether electrodes that drive are read as well.
        rotating: whether the first channel is that at the first electrode that drives.
        current: amperes.
        scale: metres of a unit of the body's coordinates, such as the radius of a disk; the body's own where None.
        height: of the tank, in metres.

    >>> electrodes, pattern = eit.TankConfig(electrodes=8, scale=0.1).build(eit.Disk(32))
    >>> electrodes.count, pattern.count, electrodes.body.scale
    (8, 40, 0.1)
    """

    electrodes: int = 16
    coverage: float = 0.5
    impedance: float = DEFAULT_IMPEDANCE
    first: float = 0.0
    clockwise: bool = False
    pattern: str = "adjacent"
    readings: str = "adjacent"
    driven: bool = False
    rotating: bool = False
    current: float = 1e-3
    scale: float | None = None
    height: float = 1.0

    def build(self, body: Domain) -> tuple[Electrodes, Pattern]:
        """The electrodes on a body, and the pattern."""
        return self.row(body), self.drive()

    def row(self, body: Domain) -> Electrodes:
        """The electrodes."""
        sized = body if self.scale is None else bodies.scaled(body, self.scale)
        angle = math.radians(self.first)
        return Electrodes.even(sized, self.electrodes, self.coverage, self.impedance, angle, self.clockwise)

    def drive(self) -> Pattern:
        """The pattern."""
        return Pattern.named(
            self.pattern, self.electrodes, self.current, self.readings, self.driven, self.rotating
        )
