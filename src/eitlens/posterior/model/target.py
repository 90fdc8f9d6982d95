"""The posterior of a batch of measurements in the coordinates z, and the surface on which its particles move.

The exact target needs the data f(z) to a small part of the noise. How to move needs much less: a sketch d(z) of the
data from few nodes an outline, always equally many, so that it is smooth in z, and its derivative.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.base import Currents
from eitlens.forward.integral.accuracy import node_counts
from eitlens.forward.integral.linearised import LinearisedSolver
from eitlens.forward.integral.sources import BoundarySources
from eitlens.phantom import EllipseSampler
from eitlens.phantom.samplers import EllipseRows as Rows
from eitlens.posterior.model.coordinates import Coordinates
from eitlens.posterior.model.likelihood import Level, Likelihood

# On a GPU a group of fewer phantoms costs more than the nodes that it saves.
_LEAST_TOGETHER = 512
# Of the sketch: nodes an outline, and the relative accuracy along the boundary. With 24 nodes manifold steps are
# accepted a little more often but take half as long again (measured at L = 1, τ = 0.05).
_SKETCH_NODES, _SKETCH_TOLERANCE = 16, 5e-2
# Draws of the prior on which the accuracy is tried. The data of rough currents are small against the charges that make
# them: their outlines get nodes for up to so many digits more than are asked for.
_TRIED, _DIGITS = 64, 6

Data = Float64[Tensor, "particles currents boundary"]


class Particles(NamedTuple):
    """Particles of each measurement: their places, the boundary data they would send, and the sketch of these data."""

    z: Float64[Tensor, "measurements particles parameters"]
    data: Float64[Tensor, "measurements particles currents boundary"]
    sketch: Float64[Tensor, "measurements particles currents boundary"]
    jacobian: Float64[Tensor, "measurements particles parameters currents boundary"]
    """The derivative of the sketch."""


class LocalModel(NamedTuple):
    """log π at the particles up to a constant, and its quadratic model in axes of their own.

    In x = P^½ z, P the prior's precision, the information Jᵀ W J of the data is A diag(μ) Aᵀ and the slope A times
    `slope`; J is the derivative of the sketch, W how well the nodes are known. Along axis i the data determine x to
    about 1/√(1 + μ_i), where the prior alone leaves 1.
    """

    likelihood: Float64[Tensor, "measurements particles"]
    density: Float64[Tensor, "measurements particles"]
    slope: Float64[Tensor, "measurements particles parameters"]
    information: Float64[Tensor, "measurements particles parameters"]
    axes: Float64[Tensor, "measurements particles parameters parameters"]


@dataclass(frozen=True)
class Target:
    """π(z) ∝ p(y | f(z)) p(z): the forward map at the accuracy that the noise asks for."""

    domain: Domain
    sources: BoundarySources
    coarse: BoundarySources
    coordinates: Coordinates
    likelihood: Likelihood
    tolerance: float
    """The relative accuracy by which the outlines get their nodes."""

    @staticmethod
    @torch.no_grad()
    def build(
        domain: Domain, currents: Currents, prior: EllipseSampler, likelihood: Likelihood, tolerance: float
    ) -> "Target":
        """Build the target for data right to `tolerance`: an error at a node over the rms of the current's data.

        The rules for nodes and series hold for smooth currents, like the paper's. Whatever the currents, some draws of
        the prior are tried, and what is too coarse for them is made finer.
        """
        margin = _margin(domain, prior)
        sources, coarse = (
            BoundarySources.build(domain, currents, margin, t) for t in (tolerance, _SKETCH_TOLERANCE)
        )
        return _refined(Target(domain, sources, coarse, Coordinates(prior), likelihood, tolerance))

    def data(self, z: Float64[Tensor, "particles parameters"]) -> Data:
        """The boundary data at allowed z."""
        rows = self.coordinates.rows(z)
        counts = node_counts(self.domain, rows, self.tolerance)
        return self.solved(rows, _merged(counts) if counts.is_cuda else counts)

    def solved(self, rows: Rows, counts: Int64[Tensor, "particles"]) -> Data:
        """The boundary data with so many nodes an outline: phantoms that need equally many together."""
        parts, places = [], []
        for count in torch.unique(counts).tolist():
            place = torch.nonzero(counts == count).flatten()
            parts.append(self._solver(self.sources, count).data(rows[place]))
            places.append(place)
        return torch.cat(parts)[torch.argsort(torch.cat(places))]

    def sketch(self, z: Float64[Tensor, "particles parameters"]) -> Data:
        """The sketch of the data at allowed z."""
        return self._solver(self.coarse, _SKETCH_NODES).data(self.coordinates.rows(z))

    def particles(self, z: Float64[Tensor, "measurements particles parameters"]) -> Particles:
        """Solve the forward problem at allowed z."""
        return self.sketched(z, torch.unflatten(self.data(z.flatten(0, 1)), 0, z.shape[:2]))

    def sketched(self, z: Float64[Tensor, "measurements particles parameters"], data: Tensor) -> Particles:
        """Particles at z whose data are known."""
        flat = z.flatten(0, 1)
        sketch, by_row = self._solver(self.coarse, _SKETCH_NODES)(self.coordinates.rows(flat))
        inner = self.coordinates.derivative(flat)
        jacobian = torch.einsum("blekn,bekj->bejln", by_row, inner).flatten(1, 2)
        return Particles(z, data, *(torch.unflatten(part, 0, z.shape[:2]) for part in (sketch, jacobian)))

    def local(self, particles: Particles, level: Level) -> LocalModel:
        """The log of π and its quadratic model at the level s of extra white noise."""
        near = self.likelihood.local(particles.data, level)
        jacobian = particles.jacobian.flatten(3)
        slope = (jacobian @ near.slope.flatten(2)[..., None])[..., 0] + self.coordinates.gradient(particles.z)
        weight = self.likelihood.weight(level)[:, None, None]
        scale = self.coordinates.precision(slope.device).rsqrt()
        metric = jacobian @ weighted(particles.jacobian, weight).flatten(3).mT
        information, axes = torch.linalg.eigh(scale[:, None] * metric * scale)
        own = ((scale * slope)[..., None, :] @ axes)[..., 0, :]
        density = near.value + self.coordinates.log_density(particles.z)
        return LocalModel(near.value, density, own, information.clamp(min=0), axes)

    def _solver(self, sources: BoundarySources, nodes: int) -> LinearisedSolver:
        prior = self.coordinates.prior
        return LinearisedSolver(self.domain, sources, prior.inside, prior.outside, nodes)


class _Trial(NamedTuple):
    """Draws of the prior, the right data for them, and how far from right may be at most.

    Right is what all boundary nodes, all sources and many nodes an outline give. Outlines so close that they would need
    more than the most there may be are not judged: no current is to blame for them.
    """

    rows: Rows
    exact: Data
    most: Float64[Tensor, "draws currents"]

    @staticmethod
    def of(target: Target) -> "_Trial":
        z = target.coordinates.draw(_TRIED, 0, target.sources.strength.device)
        rows, finest = target.coordinates.rows(z), target.sources.every(1).summed()
        counts = node_counts(target.domain, rows, 10.0**-_DIGITS * target.tolerance)
        exact = replace(target, sources=finest).solved(rows, counts)
        return _Trial(rows, exact, target.tolerance * exact.square().mean(-1).sqrt())

    def interpolates(self, sources: BoundarySources) -> bool:
        """Tell whether the data at these nodes give those at all nodes."""
        return self._right(sources.everywhere(self.exact[..., :: sources.stride]))

    def passes(self, target: Target) -> bool:
        """Tell whether the target's data are right."""
        # Not by `data`: many particles on a GPU have fewer nodes an outline than a few that are merged.
        return self._right(target.solved(self.rows, node_counts(target.domain, self.rows, target.tolerance)))

    def _right(self, found: Data) -> bool:
        return bool(((found - self.exact).abs().amax(-1) <= self.most).all())


def _refined(target: Target) -> Target:
    """The target, or the first finer one that is right to its tolerance on draws of the prior."""
    trial = _Trial.of(target)
    fewest = next(sources for sources in target.sources.finer() if trial.interpolates(sources))
    # More and more nodes an outline, each time also without the series.
    ways = [fewest] if fewest.series is None else [fewest, fewest.summed()]
    parts = (10.0**-k for k in range(_DIGITS + 1))
    finer = [replace(target, sources=e, tolerance=p * target.tolerance) for p in parts for e in ways]
    return next((one for one in finer if trial.passes(one)), finer[-1])


def _margin(domain: Domain, prior: EllipseSampler) -> float:
    """The distance that the ellipses keep from the boundary: if it is convex, as far as the corners of their box."""
    corners = prior.extent * torch.tensor([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=torch.float64)
    margin = float(domain.clearance(corners).amin())
    if margin <= 0:
        raise InputError(
            "posterior: ellipses of the prior may reach beyond the body: give it a smaller extent than "
            f"{prior.extent:g}"
        )
    return margin


def _merged(counts: Int64[Tensor, "particles"]) -> Int64[Tensor, "particles"]:
    """Small groups with the next that has more nodes."""
    known, sizes = (part.tolist() for part in torch.unique(counts, return_counts=True))
    for k in range(len(known) - 1):
        if sizes[k] < _LEAST_TOGETHER:
            counts = counts.where(counts != known[k], known[k + 1])
            sizes[k + 1] += sizes[k]
    return counts


def weighted(
    values: Float64[Tensor, "*batch currents boundary"], weight: Float64[Tensor, "*#batch currents boundary"]
) -> Float64[Tensor, "*batch currents boundary"]:
    """W = diag(w) - w wᵀ / Σ w, current by current, applied to boundary values: it does not see constants."""
    mean = (values * weight).sum(-1, keepdim=True) / weight.sum(-1, keepdim=True)
    return (values - mean) * weight
