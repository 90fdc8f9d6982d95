"""Refinement of an image of classes and log σ: ellipses, each with a conductivity of its own.

The steps are those of `levenberg_marquardt`, with the logarithm of its conductivity as a sixth parameter of each
ellipse: resistive and conductive ones begin where the network sees the class, with its mean of log σ.
"""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from eitlens.errors import ConvergenceError, InputError
from eitlens.imaging.misfit import on_grid
from eitlens.imaging.reconstruction import Phases, Refinement
from eitlens.imaging.refine import ellipses
from eitlens.imaging.refine.levenberg_marquardt import (
    Candidate,
    Problem,
    allowed,
    bodies,
    doubt_of,
    draws_of,
    minimise,
)
from eitlens.models.tank import LARGEST_SIGMA, read_output
from eitlens.phantom.raster import CLASS_BOUND, classes, conductivity

Rows = Float64[Tensor, "ellipses 6"]


def phases_of(outputs: Float[Tensor, "one five nx ny"], temperature: float) -> Phases:
    """The outputs of a network in words, calibrated."""
    found = read_output(outputs, temperature)
    return Phases(*(part[0].double() for part in (found.probabilities, found.log_sigma, found.deviation)))


def refine_phases(problem: Problem, phases: Phases, before: float, steps: int) -> tuple[Phases, Refinement]:
    """The refined image, or the given one with the reason why it was kept."""

    def kept(reason: str) -> tuple[Phases, Refinement]:
        return phases, Refinement(0, before, before, f"kept: {reason}")

    start = _start(problem, phases)
    if start is None or not allowed(start):
        return kept("the image is not like ellipses inside the body")
    try:
        state, jacobian, taken = minimise(problem, start, steps)
    except (ConvergenceError, InputError) as error:
        return kept(str(error))
    after = problem.misfit(state.model)
    if after >= before or taken == 0:
        return kept(f"ellipses explain the data no better ({after:.3f})")
    reason = "settled" if taken < steps else "steps used up"
    return _picture(problem, state, jacobian, phases), Refinement(taken, before, after, reason)


def _start(problem: Problem, phases: Phases) -> Rows | None:
    """Ellipses where a class is seen, with the network's log σ there."""
    cells = problem.simulate.cells
    body = problem.simulate.body(cells)
    points, sigma = body.nodes().flatten(0, 1), on_grid(phases.log_sigma, cells).flatten()
    rows = []
    for number, sign in ((1, -1.0), (2, 1.0)):
        found = ellipses.find(on_grid(phases.probabilities[number], cells), body)
        for row in () if found is None else found:
            inside = ellipses.depth(row[None], points) > 0
            value = float(sigma[inside].mean()) if bool(inside.any()) else 0.0
            size = min(max(sign * value, CLASS_BOUND), LARGEST_SIGMA)
            rows.append(torch.cat([row, row.new_tensor([sign * size])]))
    rows.sort(key=lambda row: -float(row[2] + row[3]))
    return torch.stack(rows[: ellipses.MOST]) if rows else None


def _picture(problem: Problem, state: Candidate, jacobian: Tensor, phases: Phases) -> Phases:
    """The mean over ellipses drawn from the Gaussian around θ, with a doubt that the world is ellipses."""
    square = problem.simulate.body(phases.log_sigma.shape[0] - 1)
    drawn = state.rows + draws_of(problem, state, jacobian).view(-1, *state.rows.shape)
    drawn[..., 5] = drawn[..., 5].clamp(-LARGEST_SIGMA, LARGEST_SIGMA)
    log_sigma = conductivity(square, bodies(drawn, problem.contrast)).log()
    kinds = classes(log_sigma)
    sharp = torch.stack([(kinds == k).double().mean(0) for k in range(3)])
    doubt = doubt_of(problem, state)
    mean = torch.lerp(log_sigma.mean(0), phases.log_sigma, doubt)
    second = torch.lerp(
        log_sigma.square().mean(0), phases.log_sigma.square() + phases.deviation.square(), doubt
    )
    deviation = (second - mean.square()).clamp(min=0).sqrt()
    return Phases(torch.lerp(sharp, phases.probabilities, doubt), mean, deviation)
