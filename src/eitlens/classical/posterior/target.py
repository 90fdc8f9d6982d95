"""The posterior of a batch of measurements in the coordinates z, with slope and metric at every particle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.classical.posterior.coordinates import Coordinates
from eitlens.classical.posterior.electrodes import Electrodes
from eitlens.classical.posterior.likelihood import Level, Likelihood
from eitlens.classical.posterior.linearised import Linearised, LinearisedSolver
from eitlens.classical.posterior.resolution import node_counts
from eitlens.domain import Domain
from eitlens.forward.base import Currents
from eitlens.phantom import EllipseSampler, PhantomBatch
from eitlens.phantom.batch import ShapeGroup
from eitlens.phantom.ellipse import Ellipse

Solved = TypeVar("Solved")


class Particles(NamedTuple):
    """Where the particles of each measurement are, and the boundary data they would send, linearised there."""

    z: Float64[Tensor, "measurements particles parameters"]
    data: Float64[Tensor, "measurements particles currents boundary"]
    jacobian: Float64[Tensor, "measurements particles currents parameters boundary"]

    def take(self, index: Tensor) -> "Particles":
        """Particle index[m, i] of measurement m in place i."""
        row = torch.arange(len(index), device=index.device)[:, None]
        return Particles(*(part[row, index] for part in self))

    def where(self, moved: Tensor, others: "Particles") -> "Particles":
        """The others where `moved`, these elsewhere."""
        pairs = zip(self, others, strict=True)
        return Particles(*(torch.where(_like(moved, a), b, a) for a, b in pairs))


class Local(NamedTuple):
    """log π at the particles up to a constant, and its quadratic model in axes of their own.

    In x = P^½ z, P the prior's precision, the information of the data is A diag(μ) Aᵀ and the slope A times
    `slope`: along axis i the data determine x to about 1/√(1 + μ_i), where the prior alone leaves 1.
    """

    likelihood: Float64[Tensor, "measurements particles"]
    density: Float64[Tensor, "measurements particles"]
    slope: Float64[Tensor, "measurements particles parameters"]
    information: Float64[Tensor, "measurements particles parameters"]
    axes: Float64[Tensor, "measurements particles parameters parameters"]

    def where(self, moved: Tensor, others: "Local") -> "Local":
        """The others where `moved`, these elsewhere."""
        return Local(*(torch.where(_like(moved, a), b, a) for a, b in zip(self, others, strict=True)))


@dataclass(frozen=True)
class Target:
    """π(z) ∝ p(y | f(z)) p(z): the forward map at the accuracy that the noise asks for."""

    domain: Domain
    electrodes: Electrodes
    coordinates: Coordinates
    likelihood: Likelihood
    tolerance: float

    @staticmethod
    def build(
        domain: Domain, currents: Currents, prior: EllipseSampler, likelihood: Likelihood, tolerance: float
    ) -> "Target":
        """For data that are to be right to a relative `tolerance`."""
        electrodes = Electrodes.build(domain, currents, 1 - prior.extent, tolerance)
        return Target(domain, electrodes, Coordinates(prior), likelihood, tolerance)

    def data(
        self, z: Float64[Tensor, "particles parameters"]
    ) -> Float64[Tensor, "particles currents boundary"]:
        """The boundary data at allowed z, without their derivative."""
        parts, back = self._by_count(self.coordinates.rows(z), LinearisedSolver.data)
        return torch.cat(parts)[back]

    def particles(self, z: Float64[Tensor, "measurements particles parameters"]) -> Particles:
        """Solve the forward problem at allowed z."""
        flat = z.flatten(0, 1)
        rows = self.coordinates.rows(flat)
        data, by_row = self._solve(rows)
        inner = self.coordinates.derivative(flat)
        jacobian = torch.einsum("blekn,bekj->blejn", by_row, inner).flatten(2, 3)
        return Particles(z, *(torch.unflatten(part, 0, z.shape[:2]) for part in (data, jacobian)))

    def local(self, particles: Particles, level: Level) -> Local:
        """The log of π and its quadratic model at the level s of extra white noise."""
        near = self.likelihood.local(particles.data, level)
        slope = torch.einsum("mclpn,mcln->mcp", particles.jacobian, near.slope)
        slope = slope + self.coordinates.gradient(particles.z)
        scale = self.coordinates.precision(slope.device).rsqrt()
        metric = scale[:, None] * _metric(particles.jacobian, near.precision, near.weight) * scale
        information, axes = torch.linalg.eigh(metric)
        own = ((scale * slope)[..., None, :] @ axes)[..., 0, :]
        density = near.value + self.coordinates.log_density(particles.z)
        return Local(near.value, density, own, information.clamp(min=0), axes)

    def _solve(self, rows: Float64[Tensor, "batch ellipses 5"]) -> Linearised:
        parts, back = self._by_count(rows, LinearisedSolver.__call__)
        return Linearised(*(torch.cat(part)[back] for part in zip(*parts, strict=True)))

    def _by_count(
        self, rows: Float64[Tensor, "batch ellipses 5"], solve: Callable[[LinearisedSolver, Tensor], Solved]
    ) -> tuple[list[Solved], Int64[Tensor, "batch"]]:
        """Phantoms that need equally many nodes together, as close outlines need more; and the way back."""
        counts = node_counts(self.domain, rows, self.tolerance)
        parts, places = [], []
        for count in torch.unique(counts).tolist():
            place = torch.nonzero(counts == count).flatten()
            parts.append(solve(self._solver(count), rows[place]))
            places.append(place)
        return parts, torch.argsort(torch.cat(places))

    def _solver(self, nodes: int) -> LinearisedSolver:
        prior = self.coordinates.prior
        return LinearisedSolver(self.domain, self.electrodes, prior.inside, prior.outside, nodes)


def phantoms(rows: Float64[Tensor, "batch ellipses 5"], inside: float, outside: float) -> PhantomBatch:
    """Ellipses in rows as a batch of phantoms."""
    present = torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
    rank = torch.arange(rows.shape[1], device=rows.device).expand(len(rows), -1)
    group = ShapeGroup(Ellipse, rows, present, rank, torch.full_like(rows[..., 0], inside))
    return PhantomBatch((group,), rows.new_full((len(rows),), outside))


def _metric(jacobian: Tensor, precision: Tensor, weight: Tensor) -> Tensor:
    """Σ_l J_l (diag(weight) - w wᵀ / Σ w) J_lᵀ, the Fisher information of z."""
    own = (jacobian * weight[..., None, :]).transpose(-3, -2).flatten(-2)
    metric = own @ jacobian.transpose(-3, -2).flatten(-2).mT
    constant = torch.einsum("mclpn,mcln->mclp", jacobian, precision)
    constant = constant / precision.sum(-1, keepdim=True).sqrt()
    return metric - constant.mT @ constant


def _like(moved: Tensor, values: Tensor) -> Tensor:
    return moved.reshape(*moved.shape, *[1] * (values.ndim - moved.ndim))
