"""Level sets: bodies of three conductivities, by Gauss-Newton steps that move the edges between them.

A smooth field φ tells what is where: resistive below -1, background between, conductive above 1. The conductivity takes
a smooth step at ±1,

    log σ/σ_b = a₊ S((φ - 1) / w) - a₋ S((-φ - 1) / w),    S(t) = (2 + 3 t - t³) / 4 from t = -1, where it is 0, to 1,

so that the readings move φ where it is near an edge, and edges with it. It begins with Gauss-Newton's image, whose Otsu
classes are the first guess. Steps in φ and steps in the values a± take turns. A class that the image does not have stays
empty unless the readings carry φ across the whole way.

Reference: F. Santosa, "A level-set approach for inverse problems involving obstacles", ESAIM COCV 1 (1996); smooth steps
as in A. Aghasi, M. Kilmer, E. Miller, "Parametric level set methods", SIAM J. Imaging Sci. 4 (2011).
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.classical.classes import three_classes
from eitlens.classical.gauss_newton import SmoothPrior, TankImage, gauss_newton_image, image_of, others
from eitlens.classical.newton import Estimate, Pointwise, Progress, TankProblem, gauss_newton_steps
from eitlens.classical.tank_frame import TankFrame

_WIDTH = 0.5  # w: half of the way from the background's middle to an edge is free of any effect
_ROUNDS = 3  # of steps in φ and steps in the values
_DEEPEST = 2.0  # |φ| of the start: as far beyond an edge as the background's middle is before it, and no further
_VALUE, _SPREAD = 3.0, 1.0  # of a±: good conductors and insulators of 1 : 20, and how much they may differ from that
_LEAST, _MOST = 0.3, 8.0  # of a±: less is no object, more reads the same

FIELD_PRIOR = SmoothPrior(contrast=0.7, length=0.25)
"""Of φ about its start: it may cross an edge, and two at a time seldom."""


@dataclass(frozen=True)
class Levels:
    """The values a₊ and a₋ of log σ over the background's."""

    conductive: float = _VALUE
    resistive: float = _VALUE

    def around(self, start: Float64[Tensor, "unknowns"]) -> Pointwise:
        """T and T' of the change of φ from a start."""

        def stairs(change: Tensor) -> tuple[Tensor, Tensor]:
            at = self.places(start + change)
            above, below = map(_step, at)
            rise = self.conductive * (1 - at[0].square()) + self.resistive * (1 - at[1].square())
            return self.conductive * above - self.resistive * below, 0.75 / _WIDTH * rise

        return stairs

    @staticmethod
    def places(field: Tensor) -> tuple[Tensor, Tensor]:
        """The arguments of both steps, -1 before it and 1 behind it."""
        return ((field - 1) / _WIDTH).clamp(-1, 1), ((-field - 1) / _WIDTH).clamp(-1, 1)

    @staticmethod
    def shares(field: Tensor) -> tuple[Tensor, Tensor]:
        """How much of a conductor and of an insulator is at each node."""
        above, below = Levels.places(field)
        return _step(above), _step(below)


def _step(t: Tensor) -> Tensor:
    return (2 + 3 * t - t**3) / 4


@dataclass(frozen=True, eq=False)
class LevelSetImage:
    """An image of three conductivities: `image` as of other methods, and φ whose values tell the classes."""

    image: TankImage
    field: Float64[Tensor, "unknowns"]
    levels: Levels

    @property
    def classes(self) -> Int64[Tensor, "unknowns"]:
        """-1 resistive, 0 background, 1 conductive, at the nodes."""
        return (self.field > 1).long() - (self.field < -1).long()


def level_set_image(
    frame: TankFrame,
    prior: SmoothPrior | None = None,
    steps: int = 10,
    target: float = 1.0,
    progress: Progress | None = None,
) -> LevelSetImage:
    """The image after rounds of at most so many steps together, from Gauss-Newton's."""
    smooth = gauss_newton_image(frame, prior, steps, target, progress)
    start, levels = first_field(smooth.contrast), Levels()
    field = FIELD_PRIOR.covariance(frame.model)
    found: Estimate | None = None
    for _ in range(_ROUNDS):
        problem = TankProblem(frame, levels.around(start))
        covariance = problem.covariance(field, others(frame))
        found = gauss_newton_steps(problem, covariance, max(1, steps // _ROUNDS), found, target, progress=progress)
        levels = _refined(problem, found, levels, start)
    problem = TankProblem(frame, levels.around(start))
    assert found is not None
    last = problem.errors(found.x).square().mean()
    image = image_of(problem, replace(found, misfits=(*found.misfits, float(last))))
    return LevelSetImage(image, start + problem.split(found.x)[0], levels)


def first_field(contrast: Float64[Tensor, "unknowns"]) -> Float64[Tensor, "unknowns"]:
    """The field φ whose classes are those of an image: ±1 at the mean of the values on both sides of the threshold."""
    sign = three_classes(contrast)
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
    """The values a± after one Gauss-Newton step, about their prior means."""
    x = found.x
    model, frame = problem.frame.model, problem.frame
    sigma, impedance = problem.sigma(x), problem.impedance(x)
    by_log = frame.reduced.potentials @ model.potentials_jacobian(sigma, impedance) * sigma
    above, below = levels.shares(start + problem.split(x)[0])
    slope = torch.stack([by_log @ above, -(by_log @ below)], 1)
    now = torch.tensor([levels.conductive, levels.resistive]).to(slope)
    curvature = slope.mT @ slope + torch.eye(2).to(slope) / _SPREAD**2
    step = torch.linalg.solve(curvature, slope.mT @ problem.errors(x) + (_VALUE - now) / _SPREAD**2)
    best = min((part for part in (1.0, 0.5, 0.25, 0.0)), key=lambda part: _size(problem, x, start, now + part * step))
    conductive, resistive = (now + best * step).clamp(_LEAST, _MOST).tolist()
    return Levels(conductive, resistive)


def _size(problem: TankProblem, x: Tensor, start: Tensor, values: Tensor) -> float:
    conductive, resistive = values.clamp(_LEAST, _MOST).tolist()
    other = replace(problem, pointwise=Levels(conductive, resistive).around(start))
    away = ((values - _VALUE) / _SPREAD).square().sum()
    return float(other.errors(x).square().sum() + away)
