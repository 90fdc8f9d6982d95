"""Gauss-Newton steps through the complete electrode model with a Gaussian prior, for any map from unknowns to σ.

The unknowns are a field φ at the nodes of the lattice, the logarithm c of a factor of the background, and those of
factors of the contact impedances:

    log σ = log σ0 + c + T(φ),    readings V(σ, z),    minimise ½ |r|² + ½ xᵀ Γ⁻¹ x,

r the errors over their standard deviations, x all unknowns, Γ their prior covariance and T a function of each value. A
step solves the problem with V linearised, in the space of the readings, which are few (its dual form); where there are
more than the electrodes' potentials for the independent currents, in the space of these:

    x⁺ = Γ Aᵀ (A Γ Aᵀ + 1)⁻¹ (r + A x),    A = -∂r/∂x,

and a line search goes as far towards x⁺ as the sum decreases. Γ is never inverted: x = Γ β, and β is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical.tank_frame import TankFrame
from eitlens.errors import ConvergenceError

Progress = Callable[[float, str], None]
Unknowns = Float64[Tensor, "all"]
Covariance = Float64[Tensor, "all all"]
Pointwise = Callable[[Tensor], tuple[Tensor, Tensor]]
"""T and its derivative."""

_SHORTEST = 2.0**-12  # of a step, in the line search
_MOST = 12.0  # |log σ/σ0| is cut off here: 1.6e5 to one is as good as a perfect conductor, and the elements stay exact


class Deviations(NamedTuple):
    """Prior standard deviations of the logarithms of the background and of each contact impedance."""

    background: float
    contact: float


class Linearisation(NamedTuple):
    """The errors r at some unknowns and A = -∂r/∂x."""

    errors: Float64[Tensor, "numbers"]
    slope: Float64[Tensor, "numbers all"]


@dataclass(frozen=True, eq=False)
class TankProblem:
    """The readings of a frame as a function of the unknowns x: φ, then c, then the contacts."""

    frame: TankFrame
    pointwise: Pointwise

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return self.frame.model.unknowns + 1 + self.frame.model.electrodes.count

    def split(self, x: Unknowns) -> tuple[Tensor, Tensor, Tensor]:
        """The values φ, c, and the logarithms of the contacts' factors."""
        field, background, contacts = torch.split(x, [self._field, 1, self.size - 1 - self._field])
        return field, background, contacts

    def sigma(self, x: Unknowns) -> Float64[Tensor, "unknowns"]:
        """The conductivity σ at the nodes."""
        field, background, _ = self.split(x)
        return self.frame.conductivity * (background + self.pointwise(field)[0]).clamp(-_MOST, _MOST).exp()

    def impedance(self, x: Unknowns) -> Float64[Tensor, "electrodes"]:
        """Contact impedances in Ω m²."""
        return self.frame.model.electrodes.impedance.to(x) * self.split(x)[2].exp()

    def errors(self, x: Unknowns) -> Float64[Tensor, "numbers"]:
        """The measured less the modelled numbers, over their standard deviations."""
        modelled = self.frame.model.potentials(self.sigma(x), self.impedance(x))
        return self.frame.reduced.values - self.frame.reduced.potentials @ modelled

    def linearised(self, x: Unknowns) -> Linearisation:
        """The errors and their derivatives."""
        sigma, impedance, few = self.sigma(x), self.impedance(x), self.frame.reduced
        found = self.frame.model.response(sigma, impedance)
        by_sigma = few.potentials @ found.by_sigma * sigma
        by_contact = few.potentials @ found.by_contact * impedance
        by_field = by_sigma * self.pointwise(self.split(x)[0])[1]
        slope = torch.cat([by_field, by_sigma.sum(1, keepdim=True), by_contact], 1)
        return Linearisation(few.values - few.potentials @ found.potentials, slope)

    def covariance(self, field: Float64[Tensor, "unknowns unknowns"], others: Deviations) -> Covariance:
        """The prior covariance of all unknowns from that of the field."""
        found, inner = field.new_zeros(self.size, self.size), len(field)
        found[:inner, :inner] = field
        found.diagonal()[inner] = others.background**2
        found.diagonal()[inner + 1 :] = others.contact**2
        return found

    @property
    def _field(self) -> int:
        return self.frame.model.unknowns


@dataclass(frozen=True, eq=False)
class Estimate:
    """Unknowns x = Γ β, the misfits on the way (1 is the noise level), and the posterior's standard deviations."""

    x: Unknowns
    beta: Unknowns
    misfits: tuple[float, ...]
    deviation: Unknowns | None = None


def gauss_newton_steps(
    problem: TankProblem,
    covariance: Covariance,
    steps: int,
    start: Estimate | None = None,
    target: float = 1.0,
    tolerance: float = 1e-3,
    progress: Progress | None = None,
    uncertainty: bool = True,
) -> Estimate:
    """Step until the misfit is `target`, the noise level, or the objective falls by less than `tolerance` of itself."""
    here = start or Estimate(*_origin(problem, covariance), ())
    errors = problem.errors(here.x)
    here = replace(here, misfits=(float(errors.square().mean()),))
    for number in range(steps):
        report = f"Gauss-Newton, step {number + 1}: misfit {here.misfits[-1]:.3g} of the noise level"
        if progress:
            progress(number / steps, report)
        if here.misfits[-1] <= target:
            break
        before = _objective(errors, here)
        here, errors = _stepped(problem, covariance, problem.linearised(here.x), here)
        if before - _objective(errors, here) < tolerance * before:
            break
    if not uncertainty:
        return here
    return replace(here, deviation=_deviation(covariance, problem.linearised(here.x).slope))


def _origin(problem: TankProblem, covariance: Covariance) -> tuple[Unknowns, Unknowns]:
    zero = covariance.new_zeros(problem.size)
    return zero, zero


def _stepped(
    problem: TankProblem, covariance: Covariance, at: Linearisation, here: Estimate
) -> tuple[Estimate, Tensor]:
    """The next estimate and its errors."""
    spread = at.slope @ covariance
    factor = _factor(spread @ at.slope.mT)
    alpha = torch.cholesky_solve((at.errors + at.slope @ here.x)[:, None], factor)[:, 0]
    beta, x = at.slope.mT @ alpha, spread.mT @ alpha
    before, part = _objective(at.errors, here), 1.0
    while part > _SHORTEST:
        tried = Estimate(here.x + part * (x - here.x), here.beta + part * (beta - here.beta), here.misfits)
        errors = problem.errors(tried.x)
        if _objective(errors, tried) < before:
            return replace(tried, misfits=(*here.misfits, float(errors.square().mean()))), errors
        part /= 2
    return replace(here, misfits=(*here.misfits, here.misfits[-1])), at.errors


def _objective(errors: Tensor, at: Estimate) -> float:
    return 0.5 * float(errors.square().sum() + at.x @ at.beta)


def _factor(spread: Float64[Tensor, "numbers numbers"]) -> Float64[Tensor, "numbers numbers"]:
    """The Cholesky factor of A Γ Aᵀ + 1."""
    matrix = spread + torch.eye(len(spread), dtype=spread.dtype, device=spread.device)
    found = torch.linalg.cholesky_ex(matrix)
    if bool(found.info):
        raise ConvergenceError(
            "Gauss-Newton: a step has no solution: are the readings' errors far too small?"
        )
    factor: Tensor = found.L
    return factor


def _deviation(covariance: Covariance, slope: Float64[Tensor, "numbers all"]) -> Unknowns:
    """Standard deviations of the linearised posterior: Γ - Γ Aᵀ (A Γ Aᵀ + 1)⁻¹ A Γ."""
    spread = slope @ covariance
    known = torch.linalg.solve_triangular(_factor(spread @ slope.mT), spread, upper=False)
    variance: Tensor = covariance.diagonal() - known.square().sum(0)
    return variance.clamp(min=0).sqrt()
