"""Fine-tuning of a network's image through the forward solver, on ellipses.

The image is replaced by a union of ellipses θ, at most eight, and θ by the minimiser of

    ½ |W (F(θ) - y)|² + ½ |(θ - θ₀) / s|²,

F the forward solver, y the data, W one over the standard deviation of the noise at each node (and of the solver's own
error), θ₀ the ellipses that look like the network's image, s how far they are trusted. Levenberg-Marquardt steps with
difference quotients, all parameters in one batch of the solver. It stops when a step gains less than 3, as what is
left is then the noise (at the discrepancy |W (F - y)|² = number of values, give or take, where ellipses are the truth),
and the result is taken only if it explains the data better than the image did.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.domain import Square
from eitlens.errors import ConvergenceError, InputError
from eitlens.forward.base import Data
from eitlens.imaging.base import Image, Refinement
from eitlens.imaging.misfit import Simulation, on_grid, relative_misfit
from eitlens.imaging.refine import ellipses
from eitlens.imaging.refine.ellipses import Rows, natural
from eitlens.phantom import Ellipse, PhantomBatch
from eitlens.phantom.batch import ShapeGroup

_TRUST = (0.1, 0.1, 0.3, 0.3, 0.5)
_SOLVER_ERROR, _QUIET = 2e-3, 0.1
_DIFFERENCE, _CLEARANCE, _LARGEST = 3e-3, 0.01, 0.9
_DAMPING, _MORE, _LESS, _TRIALS = 1e-2, 10.0, 0.2, 5
_DRAWS, _DOUBT, _DOUBT_BY_NOISE = 64, 0.02, 2.0
_SETTLED = 3.0
_OTHER, _SURE, _SHARE, _FAR = 0.4, 4.0, 0.4, 1.0


@dataclass(frozen=True)
class Problem:
    """The data, how they come about, and how noisy they are."""

    simulate: Simulation
    data: Data
    seen: Bool[Tensor, "currents boundary"]
    noise: float
    contrast: float

    def differences(self, rows: Rows, contrast: float | None = None) -> Data:
        """F for a batch of ellipse sets (B, K, 5), of the contrast of training or another: (B, L, 4n)."""
        shapes = natural(rows)
        present = torch.ones(shapes.shape[:2], dtype=torch.bool)
        rank = torch.arange(shapes.shape[1]).expand(shapes.shape[:2])
        inside = torch.full(shapes.shape[:2], contrast or self.contrast, dtype=torch.float64)
        group = ShapeGroup(Ellipse, shapes, present, rank, inside)
        return self.simulate(PhantomBatch((group,), torch.ones(len(shapes), dtype=torch.float64)))

    def deviation(self, model: Data) -> Data:
        """The standard deviation at each node: τ |f - f0|, where that nearly vanishes τ/10 of its mean, and F's."""
        size = model.square().mean(-1, keepdim=True)
        return (self.noise**2 * (model.square() + _QUIET**2 * size) + _SOLVER_ERROR**2 * size).sqrt()

    def misfit(self, model: Data) -> float:
        """The relative misfit of a model."""
        return relative_misfit(model, self.data, self.seen)


class _State(NamedTuple):
    """Ellipses with what they send to the boundary."""

    rows: Rows
    model: Data


def refine(problem: Problem, image: Image, before: float, steps: int) -> tuple[Image, Refinement]:
    """The refined image on the grid of the given one, or that one itself with the reason why it was kept."""
    start = ellipses.find(on_grid(image, problem.simulate.cells))
    if start is None or not _allowed(start):
        return image, Refinement(0, before, before, "kept: the image is not like ellipses inside the body")
    try:
        state, jacobian, taken = _minimise(problem, start, steps)
    except (ConvergenceError, InputError) as error:
        return image, Refinement(0, before, before, f"kept: {error}")
    after = problem.misfit(state.model)
    if after >= before:
        return image, Refinement(
            0, before, before, f"kept: ellipses explain the data no better ({after:.3f})"
        )
    if taken == 0:
        return image, Refinement(0, before, before, "kept: no step explains the data better")
    reason = "settled" if taken < steps else "steps used up"
    contrast = _contrast(problem, state, jacobian, start)
    return _picture(problem, state, jacobian, image), Refinement(taken, before, after, reason, contrast)


def _minimise(problem: Problem, start: Rows, steps: int) -> tuple[_State, Tensor, int]:
    """Levenberg-Marquardt; the last state, W ∂F/∂θ there, and the number of steps taken."""
    state, damping, taken = _State(start, problem.differences(start[None])[0]), _DAMPING, 0
    jacobian = _jacobian(problem, state)
    while taken < steps:
        better, gain, damping = _step(problem, state, start, jacobian, damping)
        if better is None:
            break
        state, taken = better, taken + 1
        jacobian = _jacobian(problem, state)
        if gain < _SETTLED:
            break
    return state, jacobian, taken


def _step(
    problem: Problem, state: _State, start: Rows, jacobian: Tensor, damping: float
) -> tuple[_State | None, float, float]:
    """A step that lowers the cost, what it gains and the next damping; None when there is none.

    W depends on the model. It is kept fixed over a step, and so is the cost that trials are compared by: with a
    W of its own, a louder model would excuse itself.
    """
    weight, pull = problem.seen / problem.deviation(state.model), _pull(start)
    curvature = jacobian.T @ jacobian
    slope = jacobian.T @ (weight * (state.model - problem.data)).flatten()
    slope = slope + pull * (state.rows - start).flatten()
    now = _cost(problem, state, start, weight)
    for _ in range(_TRIALS):
        matrix = curvature + torch.diag(pull + damping * (curvature.diagonal() + pull))
        rows = state.rows - torch.linalg.solve(matrix, slope).view_as(start)
        if _allowed(rows):
            trial = _State(rows, problem.differences(rows[None])[0])
            gain = now - _cost(problem, trial, start, weight)
            if gain > 0:
                return trial, gain, damping * _LESS
        damping *= _MORE
    return None, 0.0, damping


def _cost(problem: Problem, state: _State, start: Rows, weight: Data) -> float:
    fit = (weight * (state.model - problem.data)).square().sum()
    return 0.5 * float(fit + (_pull(start) * (state.rows - start).flatten().square()).sum())


def _jacobian(problem: Problem, state: _State) -> Float64[Tensor, "values parameters"]:
    """W ∂F/∂θ by difference quotients, all in one batch of the solver."""
    count = state.rows.numel()
    moves = _DIFFERENCE * torch.eye(count, dtype=torch.float64).view(count, *state.rows.shape)
    slope = (problem.differences(state.rows + moves) - state.model) / _DIFFERENCE
    return (problem.seen * slope / problem.deviation(state.model)).flatten(1).T


def _contrast(problem: Problem, state: _State, jacobian: Tensor, start: Rows) -> float | None:
    """The contrast after one Gauss-Newton step with its logarithm set free; None where it changes little.

    It counts only if it is far from the contrast of training, by four deviations, and if most of what the
    ellipses leave unexplained beyond the noise goes away with it: a fit that is stuck asks for odd contrasts too.
    """
    other = problem.differences(state.rows[None], problem.contrast * math.exp(_DIFFERENCE))[0]
    weight = problem.seen / problem.deviation(state.model)
    column = (weight * (other - state.model) / _DIFFERENCE).flatten()
    whole = torch.cat([jacobian, column[:, None]], 1)
    pull = torch.cat([_pull(start), column.new_zeros(1)])
    drift = torch.cat([(state.rows - start).flatten(), column.new_zeros(1)])
    slope = whole.T @ (weight * (state.model - problem.data)).flatten() + pull * drift
    covariance = torch.linalg.inv(whole.T @ whole + torch.diag(pull))
    change, variance = -float((covariance @ slope)[-1]), float(covariance[-1, -1])
    unexplained = float((weight * (state.model - problem.data)).square().sum() - problem.seen.sum())
    gain, left = change**2 / variance, max(unexplained, 0.0)
    if abs(change) < _OTHER or gain < max(_SURE**2, _SHARE * left):
        return None
    return problem.contrast * math.exp(max(-_FAR, min(_FAR, change)))


def _pull(start: Rows) -> Float64[Tensor, "parameters"]:
    return torch.tensor(_TRUST, dtype=torch.float64).pow(-2).repeat(len(start))


def _allowed(rows: Rows) -> bool:
    """Whether all ellipses are inside the body and of sensible size."""
    bounds = Ellipse.bounds(natural(rows)).abs().max()
    return bool(bounds < 1 - _CLEARANCE) and bool(rows[:, 2:4].exp().max() < _LARGEST)


def _picture(problem: Problem, state: _State, jacobian: Tensor, image: Image) -> Image:
    """The mean of pictures drawn from the Gaussian around θ, with a doubt that the world is ellipses."""
    covariance = torch.linalg.inv(jacobian.T @ jacobian + torch.diag(_pull(state.rows)))
    factor = torch.linalg.cholesky((covariance + covariance.T) / 2)
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(_DRAWS, len(factor), dtype=torch.float64, generator=generator) @ factor.T
    points = Square(image.shape[0] - 1).nodes().flatten(0, 1)
    edge = points.new_tensor(1.0) / (image.shape[0] - 1)
    total = sum(
        torch.sigmoid(ellipses.depth(state.rows + move.view_as(state.rows), points) / edge) for move in draws
    )
    sharp = torch.as_tensor(total).view_as(image) / _DRAWS
    doubt = min(_DOUBT + _DOUBT_BY_NOISE * problem.noise, 0.5)
    return (1 - doubt) * sharp + doubt * image
