"""Level sets: bodies of three conductivities, by Gauss-Newton steps that move the edges between them.

A smooth field φ tells what is where: resistive below -1, background between, conductive above 1. The conductivity takes
a smooth step at ±1,

    log σ/σ_b = a₊ S((φ - 1) / w) - a₋ S((-φ - 1) / w),    S(t) = (2 + 3 t - t³) / 4 for -1 < t < 1, else 0 or 1,

so that the readings move φ where it is near an edge, and edges with it. It begins with Gauss-Newton's image and its
classes. Rounds of steps in φ and in the values a± take turns, with narrower steps w each time. A class that the image
does not have stays empty.

References: F. Santosa, "A level-set approach for inverse problems involving obstacles", ESAIM COCV 1 (1996); A. Aghasi,
M. Kilmer, E. Miller, "Parametric level set methods for inverse problems", SIAM J. Imaging Sci. 4 (2011).
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.classical.classes import three_classes
from eitlens.classical.gauss_newton import SmoothPrior, TankImage, first_image, image_of, others
from eitlens.classical.newton import Estimate, Pointwise, Progress, TankProblem, gauss_newton_steps
from eitlens.classical.tank_frame import TankFrame

_WIDTHS = (
    0.9,
    0.6,
    0.4,
)  # w of each round: wide steps feel the readings from afar, narrow ones are the model
_DEEPEST = (
    2.0  # |φ| of the start: as far beyond an edge as the background's middle is before it, and no further
)
_VALUE, _SPREAD = (
    3.0,
    1.0,
)  # of a±: good conductors and insulators of 1 : 20, and how much they may differ from that
_LEAST, _MOST = 0.3, 8.0  # of a±: less is no object, more reads the same

FIELD_PRIOR = SmoothPrior(contrast=0.3, length=0.2)
"""Of φ about its start: small, so that what the readings do not see, such as the inside of an object, stays."""


@dataclass(frozen=True)
class Levels:
    """The values a₊ and a₋ of log σ over the background's, 0 where the class is empty, and the width w of a step."""

    conductive: float
    resistive: float
    width: float

    def around(self, start: Float64[Tensor, "unknowns"]) -> Pointwise:
        """T and T' of the change of φ from a start."""

        def stairs(change: Tensor) -> tuple[Tensor, Tensor]:
            at = self.places(start + change)
            above, below = map(_step, at)
            rise = self.conductive * (1 - at[0].square()) + self.resistive * (1 - at[1].square())
            return self.conductive * above - self.resistive * below, 0.75 / self.width * rise

        return stairs

    def places(self, field: Tensor) -> tuple[Tensor, Tensor]:
        """The arguments of both steps, -1 before it and 1 behind it."""
        return ((field - 1) / self.width).clamp(-1, 1), ((-field - 1) / self.width).clamp(-1, 1)

    def shares(self, field: Tensor) -> tuple[Tensor, Tensor]:
        """How much of a conductor and of an insulator is at each node."""
        above, below = self.places(field)
        return _step(above), _step(below)


def _step(t: Tensor) -> Tensor:
    return (2 + 3 * t - t**3) / 4


@dataclass(frozen=True, eq=False)
class LevelSetImage:
    """An image of three conductivities: `image` as of other methods, and φ, whose values tell the classes."""

    image: TankImage
    field: Float64[Tensor, "unknowns"]
    levels: Levels

    @property
    def classes(self) -> Int64[Tensor, "unknowns"]:
        """-1 resistive, 0 background, 1 conductive, at the nodes."""
        above = (self.field > 1) & (self.levels.conductive > 0)
        return above.long() - ((self.field < -1) & (self.levels.resistive > 0)).long()


def level_set_image(
    frame: TankFrame,
    start: TankImage | None = None,
    steps: int = 10,
    target: float = 1.0,
    progress: Progress | None = None,
) -> LevelSetImage:
    """The image after three rounds of at most so many steps each, by default from Gauss-Newton's."""
    smooth = start or first_image(frame, steps, target, progress)
    sign = three_classes(smooth.contrast)
    origin = first_field(smooth.contrast, sign)
    values = [_VALUE if bool((sign == side).any()) else 0.0 for side in (1, -1)]
    levels, field = Levels(values[0], values[1], _WIDTHS[0]), FIELD_PRIOR.covariance(frame.model)
    found: Estimate | None = None
    for width in _WIDTHS:
        levels = replace(levels, width=width)
        problem = TankProblem(frame, levels.around(origin))
        covariance = problem.covariance(field, others(frame))
        found = gauss_newton_steps(problem, covariance, steps, found, target, progress=progress)
        levels = _refined(problem, found, levels, origin)
    assert found is not None
    problem = TankProblem(frame, levels.around(origin))
    last = float(problem.errors(found.x).square().mean())
    image = image_of(problem, replace(found, misfits=(*found.misfits, last)))
    return LevelSetImage(image, origin + problem.split(found.x)[0], levels)


def first_field(
    contrast: Float64[Tensor, "unknowns"], sign: Int64[Tensor, "unknowns"]
) -> Float64[Tensor, "unknowns"]:
    """The field φ with the classes of an image: ±1 at the mean of the values on both sides of the threshold."""
    found = torch.zeros_like(contrast)
    for side in (1, -1):
        height = side * contrast
        if bool((sign == side).any()):
            edge = (height[sign == side].min() + height[sign != side].max()) / 2
        else:
            edge = 2 * contrast.abs().max()
        found = torch.where(height > 0, side * height / edge, found)
    return found.clamp(-_DEEPEST, _DEEPEST)


def _refined(problem: TankProblem, found: Estimate, levels: Levels, start: Tensor) -> Levels:
    """The values a± of the classes that there are, after one Gauss-Newton step about their prior means."""
    x, model = found.x, problem.frame.model
    sigma, impedance = problem.sigma(x), problem.impedance(x)
    by_log = problem.frame.reduced.potentials @ model.response(sigma, impedance).by_sigma * sigma
    above, below = levels.shares(start + problem.split(x)[0])
    slope = torch.stack([by_log @ above, -(by_log @ below)], 1)
    now = torch.tensor([levels.conductive, levels.resistive]).to(slope)
    curvature = slope.mT @ slope + torch.eye(2).to(slope) / _SPREAD**2
    step = torch.linalg.solve(curvature, slope.mT @ problem.errors(x) + (_VALUE - now) / _SPREAD**2)
    tried = [_moved(levels, now + part * step) for part in (1.0, 0.5, 0.25, 0.0)]
    return min(tried, key=lambda other: _objective(problem, x, start, other))


def _moved(levels: Levels, values: Float64[Tensor, "two"]) -> Levels:
    """Other values, within their bounds; an empty class keeps its 0."""
    conductive, resistive = values.clamp(_LEAST, _MOST).tolist()
    return replace(
        levels, conductive=conductive * (levels.conductive > 0), resistive=resistive * (levels.resistive > 0)
    )


def _objective(problem: TankProblem, x: Tensor, start: Tensor, levels: Levels) -> float:
    other = replace(problem, pointwise=levels.around(start))
    away = sum(((value - _VALUE) / _SPREAD) ** 2 for value in (levels.conductive, levels.resistive) if value)
    return float(other.errors(x).square().sum()) + away
