"""Refinement of a network's image by Levenberg-Marquardt steps through the forward solver, on ellipses.

The image is replaced by a union of ellipses θ, at most eight, and θ by the minimiser of

    ½ |W (F(θ) - y)|² + ½ |(θ - θ₀) / s|²,

F the forward solver, y the data, W one over the standard deviation of the noise at each node (and of the solver's own
error), θ₀ the ellipses that look like the network's image, s how far they are trusted. Levenberg-Marquardt steps with
difference quotients, all parameters in one batch of the solver. It stops when a step gains less than 3, as what is
left is then the noise (at the discrepancy |W (F - y)|² = number of values, give or take, where ellipses are the truth),
and the result is taken only if it explains the data better than the image did.

F is computed on 128 cells a side, its slopes on 64. A fit to clean data through the coarse solver alone would chase
that solver's error: 0.1 % of the data as a rule and up to 2 % where inclusions nearly touch; on 128 cells it is 0.01 %
to 0.06 %, but for one in sixteen (validation phantoms, against 200 cells). The constants of the picture were chosen
by cross entropy on the same phantoms.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.errors import ConvergenceError, InputError
from eitlens.forward.base import Data
from eitlens.imaging.misfit import Simulation, on_grid, relative_misfit
from eitlens.imaging.reconstruction import Image, Refinement
from eitlens.imaging.refine import ellipses
from eitlens.imaging.refine.ellipses import natural
from eitlens.phantom import Ellipse, PhantomBatch
from eitlens.phantom.batch import of_rows
from eitlens.phantom.samplers import PER_ELLIPSE

Rows = Float64[Tensor, "*batch ellipses numbers"]
"""Five numbers an ellipse (`refine.ellipses`), or six: the last is the logarithm of its conductivity."""
# s: how far the start is trusted, in units of the half side for the centre, in the logarithm of each semi-axis (0.3 is
# a factor of 1.35) and in radians for the angle, of which an image tells least; last, where it is free, in the
# logarithm of the conductivity.
_TRUST = (0.1, 0.1, 0.3, 0.3, 0.5, 1.0)
# Cells a side of the accurate forward map, and its error there as a share of the rms (see above: 0.01 % to 0.06 %).
_CELLS, _SOLVER_ERROR = 128, 5e-4
# Where f - f0 nearly vanishes its noise is taken to be that of a tenth of the rms: no node may count without bound.
_QUIET = 0.1
# Of the difference quotients: large against the solver's tolerance of 1e-4, small against any ellipse.
_DIFFERENCE = 3e-3
# Ellipses must stay inside the body, by a little, and none may fill it: a semi-axis of 0.9 of the half side is no
# inclusion any more.
_CLEARANCE, _LARGEST = 0.01, 0.9
# Of |log σ|: a factor of 1000, beyond which all contrasts look alike.
_STRONGEST = 7.0
# Levenberg and Marquardt's damping: small at first, as the start is near; ten times as much after a step that fails,
# a fifth after one that succeeds; after five failures the damping is 1e3 and steps are too short to matter.
_DAMPING, _MORE, _LESS, _TRIALS = 1e-2, 10.0, 0.2, 5
# A step that gains less chases noise: six parameters fitted to nothing but noise gain as much.
_SETTLED = 3.0
# The picture: draws of the Gaussian (the mean of 64 is right to 0.06), and the width of an outline's edge in cells.
_DRAWS, _EDGE = 64, 0.1
# The doubt that the world is ellipses: at least a tenth, more with the noise and with what stays unexplained, at most
# one half. Chosen by cross entropy (see above).
_DOUBT, _DOUBT_BY_NOISE, _DOUBT_BY_EXCESS, _MOST_DOUBT = 0.1, 2.0, 0.1, 0.5
# Another contrast is told where its logarithm differs by 0.4 (a factor of 1.5), by four standard deviations, and where
# it explains at least 0.4 of the rest; one Gauss-Newton step is not believed beyond a factor of e.
_OTHER, _SURE, _SHARE, _FAR = 0.4, 4.0, 0.4, 1.0
# Then it is followed: so many rounds of so many steps, until it changes by less than a tenth.
_ROUNDS, _STEPS_A_ROUND, _NEAR = 6, 6, 0.1


@dataclass(frozen=True)
class Problem:
    """The data of a refinement, their forward model and their noise."""

    simulate: Simulation
    data: Data
    seen: Bool[Tensor, "currents boundary"]
    noise: float
    contrast: float

    def model(self, rows: Rows, contrast: float | None = None) -> Data:
        """Compute F for one set of ellipses (K, 5), of the contrast of training or another, on the fine grid."""
        fine = replace(self.simulate, cells=_CELLS)
        return fine(bodies(rows[None], contrast or self.contrast))[0]

    def slopes(self, rows: Rows) -> Float64[Tensor, "parameters currents boundary"]:
        """∂F/∂θ by difference quotients, all in one batch on the coarse grid, whose error nearly cancels."""
        count = rows.numel()
        moves = torch.eye(count + 1, count, dtype=torch.float64).view(count + 1, *rows.shape)
        found = self.simulate(bodies(rows + _DIFFERENCE * moves, self.contrast))
        return (found[:-1] - found[-1]) / _DIFFERENCE

    def deviation(self, model: Data) -> Data:
        """The standard deviation at each node: τ |f - f0|, where that nearly vanishes τ/10 of its mean, and F's."""
        size = model.square().mean(-1, keepdim=True)
        return (self.noise**2 * (model.square() + _QUIET**2 * size) + _SOLVER_ERROR**2 * size).sqrt()

    def left(self, model: Data) -> float:
        """The cost |W (F - y)|²: about the number of values where the noise is all that is left."""
        return float((self.seen * (model - self.data) / self.deviation(model)).square().sum())

    def misfit(self, model: Data) -> float:
        """The relative misfit of a model."""
        return relative_misfit(model, self.data, self.seen)


def bodies(rows: Float64[Tensor, "batch ellipses numbers"], contrast: float) -> PhantomBatch:
    """The bodies of rows of five numbers an ellipse, or of six: the last is the logarithm of its conductivity."""
    batch = of_rows(Ellipse, natural(rows[..., :PER_ELLIPSE]), contrast, 1.0)
    if rows.shape[-1] == PER_ELLIPSE:
        return batch
    return replace(batch, groups=(replace(batch.groups[0], inside=rows[..., PER_ELLIPSE].exp()),))


class Candidate(NamedTuple):
    """Ellipses with their boundary data."""

    rows: Rows
    model: Data


def refine(problem: Problem, image: Image, before: float, steps: int) -> tuple[Image, Refinement]:
    """The refined image on the grid of the given one, or that one itself with the reason why it was kept."""

    def kept(reason: str) -> tuple[Image, Refinement]:
        return image, Refinement(0, before, before, f"kept: {reason}")

    cells = problem.simulate.cells
    start = ellipses.find(on_grid(image, cells), problem.simulate.body(cells))
    if start is None or not allowed(start):
        return kept("the image is not like ellipses inside the body")
    try:
        state, jacobian, taken = minimise(problem, start, steps)
        contrast = _followed(problem, state, start) if taken else None
    except (ConvergenceError, InputError) as error:
        return kept(str(error))
    after = problem.misfit(state.model)
    if after >= before:
        return kept(f"ellipses explain the data no better ({after:.3f})")
    if taken == 0:
        return kept("no step explains the data better")
    reason = "settled" if taken < steps else "steps used up"
    return _picture(problem, state, jacobian, image), Refinement(taken, before, after, reason, contrast)


def minimise(problem: Problem, start: Rows, steps: int) -> tuple[Candidate, Tensor, int]:
    """Levenberg-Marquardt; the last state, W ∂F/∂θ there, and the number of steps taken."""
    state, damping, taken = Candidate(start, problem.model(start)), _DAMPING, 0
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
    problem: Problem, state: Candidate, start: Rows, jacobian: Tensor, damping: float
) -> tuple[Candidate | None, float, float]:
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
        if allowed(rows):
            trial = Candidate(rows, problem.model(rows))
            gain = now - _cost(problem, trial, start, weight)
            if gain > 0:
                return trial, gain, damping * _LESS
        damping *= _MORE
    return None, 0.0, damping


def _cost(problem: Problem, state: Candidate, start: Rows, weight: Data) -> float:
    fit = (weight * (state.model - problem.data)).square().sum()
    return 0.5 * float(fit + (_pull(start) * (state.rows - start).flatten().square()).sum())


def _jacobian(problem: Problem, state: Candidate) -> Float64[Tensor, "values parameters"]:
    """W ∂F/∂θ."""
    return (problem.seen * problem.slopes(state.rows) / problem.deviation(state.model)).flatten(1).T


def _followed(problem: Problem, state: Candidate, start: Rows) -> float | None:
    """The contrast that the data ask for, after steps with each that they ask for on the way; None for no other.

    One Gauss-Newton step from the contrast of training says which side it is on, not how far.
    """
    asked = _contrast(problem, state, _jacobian(problem, state), start)
    first, best, found = asked, state, problem.contrast
    for _ in range(_ROUNDS):
        if asked is None or abs(math.log(asked / found)) < _NEAR:
            break
        there = replace(problem, contrast=asked)
        trial, jacobian, _ = minimise(there, best.rows, _STEPS_A_ROUND)
        if problem.misfit(trial.model) < problem.misfit(best.model):
            best, found = trial, asked
            asked = _contrast(there, trial, jacobian, start, least=_NEAR)
        else:
            asked = math.sqrt(asked * found)  # too far
    return first if best is state else found


def _contrast(
    problem: Problem, state: Candidate, jacobian: Tensor, start: Rows, least: float = _OTHER
) -> float | None:
    """The contrast after one Gauss-Newton step with its logarithm set free; None where it changes little.

    It counts only if it is far from the contrast of training, by four deviations, and if most of what the
    ellipses leave unexplained beyond the noise goes away with it: a fit that is stuck asks for odd contrasts too.
    """
    other = problem.model(state.rows, problem.contrast * math.exp(_DIFFERENCE))
    weight = problem.seen / problem.deviation(state.model)
    column = (weight * (other - state.model) / _DIFFERENCE).flatten()
    whole = torch.cat([jacobian, column[:, None]], 1)
    pull = torch.cat([_pull(start), column.new_zeros(1)])
    drift = torch.cat([(state.rows - start).flatten(), column.new_zeros(1)])
    slope = whole.T @ (weight * (state.model - problem.data)).flatten() + pull * drift
    covariance = torch.linalg.inv(whole.T @ whole + torch.diag(pull))
    change, variance = -float((covariance @ slope)[-1]), float(covariance[-1, -1])
    unexplained = problem.left(state.model) - float(problem.seen.sum())
    gain, left = change**2 / variance, max(unexplained, 0.0)
    if abs(change) < least or gain < max(_SURE**2, _SHARE * left):
        return None
    return problem.contrast * math.exp(max(-_FAR, min(_FAR, change)))


def _pull(start: Rows) -> Float64[Tensor, "parameters"]:
    return torch.tensor(_TRUST[: start.shape[-1]], dtype=torch.float64).pow(-2).repeat(len(start))


def allowed(rows: Rows) -> bool:
    """Tell whether all ellipses are inside the body and of sensible size."""
    bounds = Ellipse.bounds(natural(rows[..., :PER_ELLIPSE])).abs().max()
    sizes, values = rows[:, 2:4].exp(), rows[:, PER_ELLIPSE:]
    return (
        bool(bounds < 1 - _CLEARANCE)
        and bool(sizes.max() < _LARGEST)
        and bool((values.abs() < _STRONGEST).all())
    )


def _picture(problem: Problem, state: Candidate, jacobian: Tensor, image: Image) -> Image:
    """The mean of pictures drawn from the Gaussian around θ, with a doubt that the world is ellipses."""
    draws = draws_of(problem, state, jacobian)
    square = problem.simulate.body(image.shape[0] - 1)
    points, edge = square.nodes().flatten(0, 1), _EDGE * square.h
    total = sum(
        torch.sigmoid(ellipses.depth(state.rows + move.view_as(state.rows), points) / edge) for move in draws
    )
    sharp = torch.as_tensor(total).view_as(image) / _DRAWS
    return torch.lerp(sharp, image, doubt_of(problem, state))


def draws_of(problem: Problem, state: Candidate, jacobian: Tensor) -> Float64[Tensor, "draws parameters"]:
    """Draws of θ less its mean; the Gaussian is wider where the ellipses leave more than the noise unexplained."""
    covariance = torch.linalg.inv(
        jacobian.T @ jacobian / _excess(problem, state) + torch.diag(_pull(state.rows))
    )
    factor = torch.linalg.cholesky((covariance + covariance.T) / 2)
    generator = torch.Generator().manual_seed(0)
    draws: Tensor = torch.randn(_DRAWS, len(factor), dtype=torch.float64, generator=generator) @ factor.T
    return draws


def doubt_of(problem: Problem, state: Candidate) -> float:
    """How little it is believed that the world is ellipses: less, the more they leave unexplained."""
    excess = _excess(problem, state)
    return min(_DOUBT + _DOUBT_BY_NOISE * problem.noise + _DOUBT_BY_EXCESS * (excess - 1), _MOST_DOUBT)


def _excess(problem: Problem, state: Candidate) -> float:
    """What the ellipses leave unexplained over the noise and the solver's error, at least 1."""
    return max(1.0, problem.left(state.model) / float(problem.seen.sum()))
