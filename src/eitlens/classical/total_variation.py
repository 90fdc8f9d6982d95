"""Total variation: the σ of a tank with few and short edges that explains its readings.

    minimise ½ |r|² + λ ∫ √(|∇θ|² + ε²) dx,    θ = log σ/σ0,

r the errors over their standard deviations. Gauss-Newton's smooth image is the start. Each step then linearises the
readings and solves with lagged diffusivity: the integrand is taken as |∇θ|² over twice its last size, a few times. λ is
halved from step to step until the misfit is at the noise level, unless it is given.

Jumps are kept and ripples are not: objects come out nearly flat. Lengths are in the body's units, and so is λ.

References: L. Rudin, S. Osher, E. Fatemi, Physica D 60 (1992); C. Vogel, M. Oman, "Iterative methods for total
variation denoising", SIAM J. Sci. Comput. 17 (1996); A. Borsic et al., IEEE Trans. Med. Imaging 29 (2010).
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.gauss_newton import (
    TankImage,
    first_image,
    identity,
    image_of,
    others,
)
from eitlens.classical.lattice import Lattice
from eitlens.classical.newton import Deviations, Estimate, Linearisation, Progress, TankProblem, Unknowns
from eitlens.classical.tank_frame import TankFrame

_STRONGEST, _FACTOR = 20.0, 0.5  # λ of the first step where it is looked for, and from step to step
_LAGS = 4  # solutions a step: the weights change little after them
_FREE = 1e-6  # precision of θ by itself: keeps a constant, which has no variation, from being anything
_SHORTEST = 2.0**-8  # of a step, in the line search
_STALLED = 0.99  # of the misfit before: a weaker penalty explains no more
_ENOUGH = 1e-3  # of the objective: a smaller gain ends the steps


@dataclass(frozen=True)
class Variation:
    """The penalty λ ∫ √(|∇θ|² + ε²), and its quadratic stand-in at a field.

    Attributes:
        strength: λ; None for one that reaches the noise level.
        edge: ε, the slope of log σ in the body's units below which there is no edge.
    """

    strength: float | None = None
    edge: float = 0.5

    def __post_init__(self) -> None:
        if self.strength is not None:
            checks.positive_number(self.strength, "variation: strength")
        checks.positive_number(self.edge, "variation: edge")

    def slope(self, lattice: Lattice, field: Float64[Tensor, "unknowns"]) -> Float64[Tensor, "unknowns"]:
        """√(|∇θ|² + ε²) at the nodes."""
        return (lattice.gradient(field).square().sum(0) + self.edge**2).sqrt()

    def of(self, lattice: Lattice, field: Float64[Tensor, "unknowns"]) -> float:
        """The integral."""
        return float(self.slope(lattice, field).sum() * lattice.step.prod())

    def precision(
        self, lattice: Lattice, field: Float64[Tensor, "unknowns"]
    ) -> Float64[Tensor, "unknowns unknowns"]:
        """The matrix L of ½ θᵀ L θ with the gradient of the integral at the field."""
        weight = lattice.step.prod() / self.slope(lattice, field)
        rise = lattice.slopes.flatten(0, 1)
        return rise.mT @ (weight.repeat(2)[:, None] * rise)


def total_variation_image(
    frame: TankFrame,
    variation: Variation | None = None,
    start: TankImage | None = None,
    steps: int = 12,
    target: float = 1.0,
    progress: Progress | None = None,
) -> TankImage:
    """The image after at most so many steps from Gauss-Newton's, fewer where the misfit reaches `target`."""
    own = variation or Variation()
    smooth = start or first_image(frame, steps, target, progress)
    problem = TankProblem(frame, identity)
    field, water = smooth.contrast, smooth.background / frame.conductivity
    contacts = (smooth.impedance / frame.model.electrodes.impedance.to(field)).log()
    x = torch.cat([field, torch.tensor([water]).to(field).log(), contacts])
    found = _Descent(problem, own, others(frame)).run(x, steps, target, progress)
    return image_of(problem, found)


@dataclass(frozen=True, eq=False)
class _Descent:
    """The steps."""

    problem: TankProblem
    variation: Variation
    deviations: Deviations

    def run(self, x: Unknowns, steps: int, target: float, progress: Progress | None) -> Estimate:
        """Step until the noise level is reached, or a given λ has nothing more to gain."""
        strength = self.variation.strength or _STRONGEST
        misfits: list[float] = []
        for number in range(steps):
            at = self.problem.linearised(x)
            misfits.append(float(at.errors.square().mean()))
            if progress:
                progress(
                    number / steps,
                    f"total variation, step {number + 1}: misfit {misfits[-1]:.3g} of the noise",
                )
            moved, gain = self._stepped(x, at, strength)
            x = moved
            if self.variation.strength is None:
                if number and (misfits[-1] <= target or misfits[-1] > _STALLED * misfits[-2]):
                    break
                strength *= _FACTOR
            elif gain < _ENOUGH:
                break
        errors = self.problem.errors(x)
        misfits.append(float(errors.square().mean()))
        return replace(Estimate(x, x, tuple(misfits)), deviation=self._deviation(x, strength))

    def _stepped(self, x: Unknowns, at: Linearisation, strength: float) -> tuple[Unknowns, float]:
        """The next unknowns, and the part of the objective that they gain."""
        curvature, right = at.slope.mT @ at.slope, at.slope.mT @ (at.errors + at.slope @ x)
        towards = x
        for _ in range(_LAGS):
            towards = torch.linalg.solve(curvature + self._precision(towards, strength), right)
        before, part = self._objective(x, at.errors, strength), 1.0
        while part > _SHORTEST:
            tried = x + part * (towards - x)
            after = self._objective(tried, self.problem.errors(tried), strength)
            if after < before:
                return tried, (before - after) / before
            part /= 2
        return x, 0.0

    def _precision(self, x: Unknowns, strength: float) -> Float64[Tensor, "all all"]:
        field = self.problem.split(x)[0]
        found = torch.full_like(x, self.deviations.contact**-2).diag()
        inner, lattice = len(field), self.problem.frame.model.lattice
        found[inner, inner] = self.deviations.background**-2
        found[:inner, :inner] = strength * self.variation.precision(lattice, field)
        found.diagonal()[:inner] += _FREE
        return found

    def _objective(self, x: Unknowns, errors: Tensor, strength: float) -> float:
        field, background, contacts = self.problem.split(x)
        rest = (background / self.deviations.background).square().sum()
        rest = rest + (contacts / self.deviations.contact).square().sum() + _FREE * field.square().sum()
        variation = self.variation.of(self.problem.frame.model.lattice, field)
        return 0.5 * float(errors.square().sum() + rest) + strength * variation

    def _deviation(self, x: Unknowns, strength: float) -> Unknowns:
        """Standard deviations with the quadratic stand-in of the penalty as the prior."""
        slope = self.problem.linearised(x).slope
        whole = slope.mT @ slope + self._precision(x, strength)
        deviation: Tensor = torch.linalg.inv(whole).diagonal().sqrt()
        return deviation
