"""Outlines: objects in a tank as few stars, fitted to readings through the exact solver.

An image tells how many objects there are, where they are and which conduct: the connected pieces of its classes. Each
becomes a star of R(θ) = R (1 + Σ_k a_k cos kθ + b_k sin kθ), k = 2 … K, with a conductivity of its own. Centres,
sizes, waves, ratios and the background are fitted (`outline_fit.py`). It begins with circles, and waves are added as
long as the misfit falls by more than they cost.

Priors keep what the readings do not tell: waves are the smaller the shorter they are, and the logarithm of a ratio is
about that of a good conductor or insulator, which hardly differ from perfect ones.

Circles that the readings do not need are taken away. Where much is left unexplained the fit is made once more: objects
may then slide along the wall, and others are put where they explain what is left, as an image may miss a small one.

Caveats: the body must be smooth, objects must not touch each other, and each must be seen whole from its centre.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from scipy import ndimage
from torch import Tensor

from eitlens.classical.outline_fit import FIXED, OutlineFit, OutlinePrior, OutlineProblem, Rows, Vector
from eitlens.classical.tank_frame import TankFrame
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.phantom import Phantom
from eitlens.phantom.batch import PhantomBatch

Progress = Callable[[float, str], None]

_SMALLEST = 0.004  # of the body's area: smaller pieces of an image are left out
_SHRINK, _SHRINKS = 0.85, 15  # of circles that touch at the beginning
_EXPLAINED = 0.12  # of the changes may be left: measured tanks leave 3 to 6 %
_MOST = 8  # objects that a second fit may have: more are not told apart
_NEW, _CELLS = 0.1, 10  # radius of a circle that is tried, on a lattice of so many cells a side
_TRIED = 3  # of the best places, from which circles are fitted


@dataclass(frozen=True, eq=False)
class Outlined:
    """Objects that explain a frame.

    Attributes:
        phantom: the objects, with σ in S/m.
        sign: 1 for each that conducts better than the background, -1 for the others.
        background: σ of the background in S/m.
        misfit: the mean square of errors over their standard deviations.
        relative_misfit: |modelled - measured| / |measured|, of the changes where there is a reference.
        order: K, of the shortest waves.
        deviation: standard deviations of R, relative, from the linearised posterior, an object each.
    """

    phantom: Phantom
    sign: tuple[int, ...]
    background: float
    misfit: float
    relative_misfit: float
    order: int
    deviation: tuple[float, ...]

    def classes(self, points: Float64[Tensor, "points 2"]) -> Int64[Tensor, "points"]:
        """-1, 0 or 1 at each point of the body: resistive, background, conductive."""
        found = torch.zeros(len(points), dtype=torch.int64, device=points.device)
        for shape, sign in zip(self.phantom.shapes, self.sign, strict=True):
            found[shape.level_set(shape.parameters().to(points), points) < 0] = sign
        return found


def pieces(classes: Int64[Tensor, "nx ny"], domain: Domain) -> tuple[Rows, tuple[int, ...]]:
    """Circles of the area and centre of each connected piece of an image of -1, 0 and 1, the largest first."""
    inside = domain.inside()
    nodes, found = domain.nodes(), []
    area = float((nodes[1, 1] - nodes[0, 0]).prod())
    for sign in (-1, 1):
        labels, count = ndimage.label(((classes == sign) & inside).numpy())
        for k in range(count):
            where = nodes[torch.from_numpy(labels == k + 1)]
            if len(where) >= _SMALLEST * int(inside.sum()):
                radius = math.sqrt(len(where) * area / math.pi)
                found.append((radius, where.mean(0).tolist(), sign))
    found.sort(key=lambda piece: -piece[0])
    rows = [[*centre, math.log(radius), 0.0] for radius, centre, _ in found]
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, FIXED), tuple(sign for *_, sign in found)


def fit_outlines(
    frame: TankFrame,
    start: tuple[Rows, tuple[int, ...]],
    prior: OutlinePrior | None = None,
    steps: int = 15,
    progress: Progress | None = None,
) -> Outlined:
    """Fit the outlines that begin as `start`, circles and their signs (see `pieces`)."""
    own = prior or OutlinePrior()
    report = progress or (lambda part, text: None)
    found = _attempt(frame, start, own, steps, report, again=False)
    if found.relative_misfit <= _EXPLAINED:
        return found
    report(0.0, f"outlines: {found.relative_misfit:.0%} of the changes are not explained: once more")
    other = _attempt(frame, start, own, steps, report, again=True)
    return min(found, other, key=lambda one: one.relative_misfit)


def start_misfit(frame: TankFrame, start: tuple[Rows, tuple[int, ...]]) -> float:
    """The relative misfit of the circles that a fit begins with."""
    problem = OutlineProblem.of(frame, OutlinePrior())
    fit = _begun(replace(problem, sign=start[1]), start[0])
    return fit.problem.relative_misfit(fit.vector)


def _attempt(
    frame: TankFrame,
    start: tuple[Rows, tuple[int, ...]],
    own: OutlinePrior,
    steps: int,
    report: Progress,
    again: bool,
) -> Outlined:
    """One fit; a second one may slide along the wall and add objects that the image has missed."""
    coarse = replace(OutlineProblem.of(frame.with_errors(own.rough), own), slides=again)
    rough = _circles(coarse, start, steps, report, _MOST if again else 0)
    problem = replace(OutlineProblem.of(frame, own), sign=rough.problem.sign, slides=again)
    fit = OutlineFit(problem, rough.vector, rough.mean).run(steps)
    for number, order in enumerate(own.orders[1:], 1):
        report(
            number / len(own.orders), f"outlines of {order} waves: misfit {fit.misfit:.3g} of the noise level"
        )
        more = _with_waves(fit, order).run(steps)
        if more.misfit > (1 - own.worth) * fit.misfit and fit.misfit < math.inf:
            continue
        fit = more
    return _outlined(fit)


def _circles(
    problem: OutlineProblem, start: tuple[Rows, tuple[int, ...]], steps: int, report: Progress, most: int
) -> OutlineFit:
    """Circles, those that the readings need; others are added up to `most` in all."""
    rows, sign = start
    if not sign:
        raise InputError("outlines: the image has no object to begin with")
    fit = _begun(replace(problem, sign=sign), rows).run(steps)
    while len(fit.problem.sign) > 1:
        report(0.0, f"outlines: {len(fit.problem.sign)} circles, misfit {fit.misfit:.3g} of the noise level")
        fewer = [_without(fit, k).run(steps) for k in range(len(fit.problem.sign))]
        best = min(fewer, key=lambda one: one.misfit)
        if best.misfit * (1 - problem.prior.worth) > fit.misfit:
            break
        fit = best
    while len(fit.problem.sign) < most:
        report(0.0, f"outlines: {len(fit.problem.sign)} circles, misfit {fit.misfit:.3g}: is there another?")
        more = _with_another(fit, steps)
        if more is None or more.misfit > (1 - problem.prior.worth) * fit.misfit:
            break
        fit = more
    return fit


def _with_another(fit: OutlineFit, steps: int) -> OutlineFit | None:
    """The fit with another small circle, where it explains most; None if there is no place for one."""
    problem, found = fit.problem, []
    grid = problem.frame.model.domain.at(_CELLS)
    places = grid.nodes()[grid.inside()]
    for sign in (-1, 1):
        bigger = replace(problem, sign=(*problem.sign, sign))
        for place in places.to(fit.vector):
            row = torch.zeros_like(problem.rows(fit.vector)[0])
            row[:2], row[2], row[3] = place, math.log(_NEW), problem.prior.ratio[0]
            joined = [torch.cat([v[:-1], row, v[-1:]]) for v in (fit.vector, fit.mean)]
            found.append(OutlineFit(bigger, joined[0], joined[1]))
    found.sort(key=lambda one: one.misfit)
    tried = [one.run(steps) for one in found[:_TRIED] if one.misfit < math.inf]
    return min(tried, key=lambda one: one.misfit, default=None)


def _begun(problem: OutlineProblem, rows: Rows) -> OutlineFit:
    """The fit from circles, made smaller until they are apart and inside."""
    rows = rows.clone()
    rows[:, 3] = problem.prior.ratio[0]
    for _ in range(_SHRINKS):
        vector = torch.cat([rows.flatten(), rows.new_zeros(1)])
        fit = OutlineFit(problem, vector, vector)
        if fit.errors is not None:
            break
        rows[:, 2] += math.log(_SHRINK)
    return fit


def _without(fit: OutlineFit, number: int) -> OutlineFit:
    """The fit without one of its objects."""
    left = [k for k in range(len(fit.problem.sign)) if k != number]
    problem = replace(fit.problem, sign=tuple(fit.problem.sign[k] for k in left))
    parts = [
        torch.cat([fit.problem.rows(vector)[left].flatten(), vector[-1:]])
        for vector in (fit.vector, fit.mean)
    ]
    return OutlineFit(problem, parts[0], parts[1])


def _with_waves(fit: OutlineFit, order: int) -> OutlineFit:
    """The fit with more waves, of no height yet."""
    width = FIXED + 2 * (order - 1)

    def padded(vector: Vector) -> Float64[Tensor, "padded"]:
        rows = fit.problem.rows(vector)
        wide = torch.nn.functional.pad(rows, (0, width - rows.shape[-1]))
        return torch.cat([wide.flatten(), vector[-1:]])

    return OutlineFit(fit.problem, padded(fit.vector), padded(fit.mean))


def _outlined(fit: OutlineFit) -> Outlined:
    problem, background = fit.problem, float(fit.vector[-1].exp())
    drifted = problem.batch(fit.vector[None])
    groups = tuple(replace(group, inside=group.inside * background) for group in drifted.groups)
    phantom = PhantomBatch(groups, drifted.outside * background).phantom(0)
    rows, spread = problem.rows(fit.vector), problem.rows(fit.spread())
    order = 1 + (rows.shape[-1] - FIXED) // 2
    unexplained, spreads = problem.relative_misfit(fit.vector), tuple(spread[:, 2].tolist())
    return Outlined(phantom, problem.sign, phantom.outside, fit.misfit, unexplained, order, spreads)
