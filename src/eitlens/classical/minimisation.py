"""Regularised least squares, the classical opponent of the paper's networks: its minimisation (7) on the square.

The image is the conductivity σ = e^x, one value in each of n × n cells, that minimises

    Φ(x) = Σ_l |W_l (F_l(x) - y_l)|² + α R(x),        R = ∫ |∇x|²  (H¹)    or    R = 2 ∫ √(|∇x|² + β²)  (TV),

F_l(x) and y_l the coefficients of f - f0 of current l in waves along the boundary, computed and measured. W_l makes the
noise of these coefficients white: the noise of a node is τ |f - f0|, to which comes the error of the grid. Outside the
square x = 0: the body has the conductivity σ0 at its boundary. σ stays between two bounds by a logarithmic barrier,
-ω Σ log(x - low)(high - x), which counts within a few ω of a bound alone.

Each step solves the linearised problem (Gauss and Newton; the slopes in TV's weights are those of the last step),
shortened until Φ falls. The derivative needs no other solver: with u_l the potential of current l and p_k that of wave
k in the same body, a change of σ in cell c changes coefficient k by -∫_c ∇u_l · ∇p_k, which holds exactly for the
discrete potentials. α is that of the discrepancy principle (Morozov): after each step it falls or grows with the misfit
χ² over the number of coefficients, so that both settle together, from large α to small. The first steps are made on a
coarse grid.

References: paper eq. (7); A. B. Bakushinskii, Comput. Math. Math. Phys. 32 (1992), for α that changes with the steps.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens import checks
from eitlens.classical import penalties
from eitlens.classical.penalties import Cells, Regulariser
from eitlens.domain import Domain
from eitlens.domain.bodies import SQUARE
from eitlens.errors import InputError, prefix_errors
from eitlens.forward import Field as Conductivity
from eitlens.forward import GridSolver
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig, arclength
from eitlens.measure.base import Measurement, Prepared
from eitlens.threads import free_cores_only

Bounds = tuple[float, float]
_CURRENTS = 3  # the paper's cosines, at most
_GRIDS = (16, 32)  # cells a side of σ; with 48 the images of three currents are no better
_WAVES = 24  # of either kind: the next reach 4 % of the side into the body
_TOLERANCE = 1e-4  # of the grid solver, below the error of its grid
_GRID_ERROR = 2e-3  # of the data: what no image of so few cells explains
_BOUNDS = (0.01, 100.0)  # σ / σ0, where nothing is known: positive, and far from all that data can tell
_BARRIER = 0.1  # ω: a hundredth of it leaves the minimum much harder to find and the images as they are
_ROOM = 0.9  # of the way to a bound that a step may go
_FASTEST = 0.6  # the factor by which α may change from step to step
_COARSE = 2.0  # χ² a coefficient at which the coarse grid has done its work
_COARSE_STEPS = 10  # after which it will not do more
_NEAR, _SETTLED = 0.05, 0.01  # χ² this near to 1 and Φ lowered by no larger share: the end
MOST_STEPS = 30  # in all, unless told otherwise
_HALVINGS = 5  # of a step that does not lower Φ


@dataclass(frozen=True)
class Minimum:
    """The image that minimises (7).

    Attributes:
        image: (n+1, n+1), σ in S/m, indexed [i, j] with x = -1 + i h, y = -1 + j h.
        strength: α.
        misfit: χ² over the number of coefficients: 1 where only noise is left.
        noise: τ.
        steps: the Gauss-Newton steps that were taken.
    """

    image: Float64[Tensor, "nx ny"]
    strength: float
    misfit: float
    noise: float
    steps: int


@free_cores_only()
def minimise(
    measurement: Measurement,
    regulariser: Regulariser = "tv",
    tau: float | None = None,
    strength: float | None = None,
    steps: int = MOST_STEPS,
    bounds: Bounds = _BOUNDS,
    start: Float64[Tensor, "nx ny"] | None = None,
    domain: Domain = SQUARE,
) -> Minimum:
    """Minimise (7) of the paper for up to three cosine currents on the square.

    Args:
        measurement: of the square, with currents that make cos θ at least.
        regulariser: "tv" for sharp edges, "h1" for smooth images.
        tau: the noise level; estimated from the data when left out.
        strength: α; by the discrepancy principle when left out.
        steps: at most so many Gauss-Newton steps.
        bounds: the smallest and the largest σ over that of the empty body, where they are known.
        start: an image of σ over that of the empty body to begin with, (m, m) nodes; the empty body when left out.
        domain: the square with the grid of the image.

    >>> square, phantom = eit.Square(64), eit.Phantom([eit.circle((0.3, 0.2), 0.3)])
    >>> df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))
    >>> found = eit.minimise(eit.Measurement.of_difference(df), tau=0.01)
    >>> inside = eit.indicator(eit.Square(200), phantom)
    >>> bool(found.image[inside].mean() > 3 * found.image[~inside].mean())
    True
    """
    checks.choose("regulariser", regulariser, get_args(Regulariser))
    if not 0 < bounds[0] < 1 < bounds[1] < math.inf or steps < 1:
        raise InputError(f"minimise: expected bounds around 1 and at least 1 step, got {bounds} and {steps}")
    prepared = measurement.prepare(CurrentsConfig("cosine", _CURRENTS), 1, domain)
    noise = prepared.noise if tau is None else tau
    with prefix_errors(measurement.source):
        if noise is None:
            raise InputError("minimise: the points are too far apart to see the noise level: give it (--tau)")
        if not bool(prepared.difference.any()):
            raise InputError("minimise: f - f0 is zero: there is nothing to image")
    goal = _Goal(prepared, noise, regulariser, bounds, strength)
    state, alpha, taken = _search(goal, _first(start, goal), steps)
    return Minimum(prepared.conductivity * _image(state.x, domain).exp(), alpha, state.misfit, noise, taken)


class _Goal(NamedTuple):
    """What is to be minimised, on whatever grid; without a strength the misfit is to be that of the noise."""

    prepared: Prepared
    noise: float
    regulariser: Regulariser
    bounds: Bounds
    strength: float | None


def _first(start: Tensor | None, goal: _Goal) -> Cells:
    """The start on the coarse grid, off the bounds."""
    n = _GRIDS[0]
    if start is None:
        return torch.zeros(n, n, dtype=torch.float64)
    given = checks.positive(checks.physics(start, "minimise: start").cpu(), "minimise: start").log()
    low, high = (math.log(end) for end in goal.bounds)
    cells = fn.adaptive_avg_pool2d(given[None], n)[0]
    return torch.clamp(cells, _ROOM * low, _ROOM * high)


def _search(goal: _Goal, x: Cells, steps: int) -> tuple["_Iterate", float, int]:
    """Steps on one grid after the other, until α has settled; the image, α and the number of steps."""
    alpha = _problem(goal, _GRIDS[0]).equal() if goal.strength is None else goal.strength
    taken = 0
    for n in _GRIDS:
        problem = _problem(goal, n)
        state = problem.at(fn.interpolate(x[None, None], (n, n), mode="bilinear")[0, 0])
        settled, last = False, steps if n == _GRIDS[-1] else _COARSE_STEPS
        while not settled and taken < min(last, steps):
            before = problem.cost(state, alpha)
            state, taken = problem.step(state.x, alpha), taken + 1
            slow = before - problem.cost(state, alpha) < _SETTLED * before
            if n != _GRIDS[-1]:
                settled = state.misfit < _COARSE
            else:
                settled = slow and (goal.strength is not None or abs(state.misfit - 1) < _NEAR)
            if goal.strength is None and not settled:
                alpha *= min(max(1 / state.misfit, _FASTEST), 1 / _FASTEST)
        x = state.x
    return state, alpha, taken


class _Iterate(NamedTuple):
    """An image x with its whitened residual W (F(x) - y)."""

    x: Cells
    residual: Float64[Tensor, "values"]

    @property
    def misfit(self) -> float:
        """χ² over the number of coefficients."""
        return float(self.residual.square().mean())


@dataclass(frozen=True)
class _Inversion:
    """The data of (7) on one grid; the bounds are those of x."""

    domain: Domain
    data: Float64[Tensor, "currents waves"]
    whitening: Float64[Tensor, "currents waves waves"]
    regulariser: Regulariser
    low: float
    high: float

    @cached_property
    def solver(self) -> GridSolver:
        """The solver of this grid."""
        return GridSolver(self.domain, _TOLERANCE)  # type: ignore[arg-type]  # it says itself that it is for the square

    @cached_property
    def currents(self) -> Float64[Tensor, "rows boundary"]:
        """The currents, and below them the waves."""
        count, waves = self.data.shape
        family = CurrentsConfig("cosine", count).build(self.domain)
        return torch.cat([family, arclength(self.domain, waves)])

    def at(self, x: Cells) -> _Iterate:
        """The residual of an image."""
        currents = self.currents[: len(self.data)]
        return self._compare(x, self.solver.difference(Conductivity(x.exp()), currents))

    def linearised(self, x: Cells) -> tuple[_Iterate, Float64[Tensor, "values cells"]]:
        """The residual and its derivative."""
        count = len(self.data)
        fields = self.solver.potential(Conductivity(x.exp()), self.currents)
        empty = self.solver.background(self.currents[:count])
        change = self.solver.domain.trace(fields[:count]) - empty
        slope = -energies(fields[:count], fields[count:]) * x.exp().flatten()
        return self._compare(x, change), (self.whitening @ slope).flatten(0, 1)

    def _compare(self, x: Cells, change: Data) -> _Iterate:
        found = self.domain.boundary_weight * change @ self.currents[len(self.data) :].mT
        return _Iterate(x, (self.whitening @ (found - self.data)[..., None]).flatten())

    def cost(self, state: _Iterate, strength: float) -> float:
        """Φ with the barrier."""
        room = (state.x - self.low).log() + (self.high - state.x).log()
        penalty = strength * penalties.value(state.x, self.regulariser)
        return float(state.residual.square().sum()) + penalty - 2 * _BARRIER * float(room.sum())

    def step(self, x: Cells, strength: float) -> _Iterate:
        """One step towards the minimum of Φ; x itself where no step lowers it."""
        state, slope = self.linearised(x)
        prior = strength * penalties.matrix(x, self.regulariser)
        below, above = (x - self.low).flatten(), (self.high - x).flatten()
        uphill = slope.mT @ state.residual + prior @ x.flatten() + _BARRIER * (1 / above - 1 / below)
        curvature = slope.mT @ slope + prior + _BARRIER * torch.diag(above**-2 + below**-2)
        move = -torch.cholesky_solve(uphill[:, None], torch.linalg.cholesky(curvature)).flatten()
        room = torch.where(move > 0, above, below) / move.abs().clamp(min=1e-300)
        move = (move * min(1.0, _ROOM * float(room.min()))).view_as(x)
        now = self.cost(state, strength)
        for halving in range(_HALVINGS):
            trial = self.at(x + move / 2**halving)
            if self.cost(trial, strength) < now:
                return trial
        return state

    def equal(self) -> float:
        """The α at which data and R weigh the same in the first step: the ratio of the traces of their matrices."""
        n = self.solver.domain.n
        _, slope = self.linearised(torch.zeros(n, n, dtype=torch.float64))
        prior = penalties.matrix(torch.zeros(n, n, dtype=torch.float64), self.regulariser)
        return float(slope.square().sum() / prior.trace())


def _problem(goal: _Goal, n: int) -> _Inversion:
    """The coefficients of the data, and what makes their noise white, for a grid of n cells a side."""
    domain, count = goal.prepared.domain, 2 * min(_WAVES, n)
    waves = arclength(domain, count)
    data = domain.boundary_weight * goal.prepared.difference @ waves.mT
    # The noise of a node, by data that have lost most of theirs.
    size = goal.noise * domain.boundary_weight * (data @ waves)
    covariance = (waves * size.square()[:, None]) @ waves.mT
    floor = _GRID_ERROR**2 * data.square().mean(-1)[:, None]
    covariance = covariance + torch.diag_embed(floor.expand_as(data))
    eye = torch.eye(count, dtype=torch.float64).expand_as(covariance)
    whitening = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), eye, upper=False)
    low, high = (math.log(end) for end in goal.bounds)
    return _Inversion(domain.at(n), data, whitening, goal.regulariser, low, high)


def energies(
    u: Float64[Tensor, "currents mx my"], p: Float64[Tensor, "waves mx my"]
) -> Float64[Tensor, "currents waves cells"]:
    """∫ ∇u · ∇p over each cell, in the element of the grid solver (`forward/grid/cells.py`)."""

    def parts(field: Tensor) -> Float64[Tensor, "rows cells parts"]:
        along_x, along_y = field.diff(dim=1), field.diff(dim=2)
        saddle = along_x.diff(dim=2)
        edges = (along_x[:, :, 1:], along_x[:, :, :-1], along_y[:, 1:], along_y[:, :-1], saddle)
        return torch.stack(edges, -1).flatten(1, 2)

    weight = u.new_tensor([0.5, 0.5, 0.5, 0.5, -1 / 6])
    return torch.einsum("lce,wce->lwc", parts(u) * weight, parts(p))


def _image(x: Cells, domain: Domain) -> Float64[Tensor, "mx my"]:
    """Values in cells, at the nodes of a grid: bilinear between the centres, constant beyond the outermost."""
    place = domain.nodes().flip(-1)[None]
    return fn.grid_sample(x[None, None], place, padding_mode="border", align_corners=False)[0, 0]
