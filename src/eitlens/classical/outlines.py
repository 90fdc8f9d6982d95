"""Outlines: objects in a tank as few stars, fitted to readings through the exact solver.

An image tells how many objects there are, where they are and which conduct: the connected pieces of its classes. Each
becomes a star of R(θ) = R (1 + Σ_k a_k cos kθ + b_k sin kθ), k = 2 … K, with a conductivity of its own. Centres, sizes,
waves, ratios and the background are fitted by Levenberg-Marquardt steps through boundary integrals and exact electrodes,
which need milliseconds for a tank; derivatives are differences. It begins with circles, and waves are added as long as
the misfit falls by more than they cost.

Priors keep what the readings do not tell: waves are the smaller the shorter they are, and the logarithm of a ratio is
about that of a good conductor or insulator, which hardly differ from perfect ones.

Caveats: the body must be smooth, objects must not touch each other, and each must be seen whole from its centre.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from scipy import ndimage
from torch import Tensor

from eitlens.classical.tank_frame import ReadingErrors, TankFrame
from eitlens.domain import Domain
from eitlens.electrodes import CompleteElectrodeSolver
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Phantom, Star
from eitlens.phantom.batch import PhantomBatch, ShapeGroup

Rows = Float64[Tensor, "*batch objects parameters"]
"""Of each object (cx, cy, log R, q, a_2, b_2, a_3, …), its ratio of conductivities being exp(± exp q)."""
Vector = Float64[Tensor, "*batch parameters"]
"""The rows one after the other, and the logarithm of the background's factor."""
Progress = Callable[[float, str], None]

_FIXED = 4  # numbers of an object before its waves
_NODES, _WAVES = 64, 48  # of outlines, and of waves between body and electrodes: 0.8 % on measured tanks, in 3 ms
_STEP = 1e-6  # of differences: the solver is exact to 1e-10
_NARROWEST = 0.1  # of R: an outline that comes nearer to the centre is refused
_ANGLES = 128  # at which it is looked for
_GAP = 0.01  # between an outline and the boundary, in the body's units
_SMALLEST = 0.004  # of the body's area: smaller pieces of an image are left out
_SHRINK, _SHRINKS = 0.85, 15  # of circles that touch at the beginning
_CALM, _WILD = 1e-3, 1e8  # damping of the first step, relative to the curvature, and where it gives up
_EASE, _HARDEN = 0.3, 4.0  # factors of the damping after a good step and a bad one
_ENOUGH = 1e-3  # of the objective: a smaller gain ends the steps


@dataclass(frozen=True)
class OutlinePrior:
    """What objects are expected to be, as means and standard deviations.

    Attributes:
        ratio: of q, the logarithm of the logarithm of the ratio of an object's conductivity and the background's.
        wave: of a_k and b_k: this over k.
        place, size: of the centre in the body's units and of log R, about the image's.
        background: of the logarithm of the background's factor.
        worth: how much of the misfit a round of more waves, or one more object, must take away to be kept.
    """

    ratio: tuple[float, float] = (1.25, 0.6)
    wave: float = 4.0
    power: float = 2.0
    place: float = 0.3
    size: float = 1.0
    background: float = 0.1
    worth: float = 0.02
    orders: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
    rough: ReadingErrors = ReadingErrors(relative=0.1, floor=0.2)


@dataclass(frozen=True, eq=False)
class Outlined:
    """Objects that explain a frame.

    Attributes:
        phantom: the objects, with σ in S/m.
        sign: 1 for each that conducts better than the background, -1 for the others.
        background: σ of the background in S/m.
        misfit: the mean square of errors over their standard deviations.
        order: K, of the shortest waves.
        deviation: standard deviations of R, relative, from the linearised posterior, an object each.
    """

    phantom: Phantom
    sign: tuple[int, ...]
    background: float
    misfit: float
    order: int
    deviation: tuple[float, ...]

    def classes(self, points: Float64[Tensor, "points 2"]) -> Int64[Tensor, "points"]:
        """-1, 0 or 1 at each point of the body: resistive, background, conductive."""
        found = torch.zeros(len(points), dtype=torch.int64)
        for shape, sign in zip(self.phantom.shapes, self.sign, strict=True):
            found[shape.level_set(shape.parameters(), points) < 0] = sign
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
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, _FIXED), tuple(sign for *_, sign in found)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The numbers that a frame should give, as a function of the rows of its objects and of the background."""

    frame: TankFrame
    sign: tuple[int, ...]
    prior: OutlinePrior
    solver: CompleteElectrodeSolver
    values: Float64[Tensor, "numbers"]

    @staticmethod
    def of(frame: TankFrame, prior: OutlinePrior) -> "_Problem":
        """The problem without objects; of a difference, the exact empty tank stands for that of the elements."""
        electrodes = frame.model.electrodes
        solver = CompleteElectrodeSolver(
            BoundaryIntegralSolver(electrodes.body, nodes=_NODES), electrodes, waves=_WAVES
        )
        empty = _Problem(frame, (), prior, solver, frame.reduced.values.cpu())
        if not frame.difference:
            return empty
        elements = frame.model.potentials(frame.model.uniform(frame.conductivity))
        shift = empty.numbers(torch.zeros(1, 1, dtype=torch.float64))[0] - empty._rows @ elements.cpu()
        return replace(empty, values=empty.values + shift)

    @property
    def _rows(self) -> Float64[Tensor, "numbers potentials"]:
        return self.frame.reduced.potentials.cpu()

    def numbers(self, vector: Float64[Tensor, "batch parameters"]) -> Float64[Tensor, "batch numbers"]:
        """The numbers for each row of parameters."""
        tank = self.solver.resistances(self.batch(vector))
        potentials = self.frame.model.currents.cpu() @ tank
        return (potentials.flatten(1) @ self._rows.mT) / vector[:, -1:].exp()

    def batch(self, vector: Float64[Tensor, "batch parameters"]) -> PhantomBatch:
        """The tanks without the drift of their background."""
        sigma = self.frame.conductivity
        outside = torch.full((len(vector),), sigma, dtype=torch.float64)
        rows = self.rows(vector)
        if not self.sign:
            return PhantomBatch((), outside)
        present = torch.ones(rows.shape[:2], dtype=torch.bool)
        rank = torch.arange(rows.shape[1]).expand(len(rows), -1)
        ratio = (torch.tensor(self.sign, dtype=torch.float64) * rows[..., 3].exp()).exp()
        group = ShapeGroup(Star, stars(rows), present, rank, sigma * ratio)
        return PhantomBatch((group,), outside)

    def rows(self, vector: Vector) -> Rows:
        """The parameters as a row an object."""
        count = len(self.sign)
        return vector[..., :-1].reshape(*vector.shape[:-1], count, (vector.shape[-1] - 1) // max(count, 1))

    def possible(self, vector: Float64[Tensor, "parameters"]) -> bool:
        """Whether every outline is a curve around its centre inside the body."""
        if not self.sign:
            return True
        star = stars(self.rows(vector))
        around = Star.curve(star, _ANGLES).point
        near = (around - star[:, None, :2]).norm(dim=-1).amin(-1)
        clear = self.frame.model.domain.clearance(around.flatten(0, 1)).min()
        return bool((near > _NARROWEST * star[:, 2]).all()) and float(clear) > _GAP

    def errors(self, vector: Float64[Tensor, "parameters"]) -> Float64[Tensor, "numbers"] | None:
        """What is left of the values; None where the outlines are none or touch."""
        if not self.possible(vector):
            return None
        try:
            return self.values - self.numbers(vector[None])[0]
        except InputError:
            return None

    def slope(self, vector: Float64[Tensor, "parameters"]) -> Float64[Tensor, "numbers parameters"]:
        """The derivatives of the numbers."""
        steps = torch.cat([torch.zeros(1, len(vector)).double(), _STEP * torch.eye(len(vector)).double()])
        found = self.numbers(vector + steps)
        return (found[1:] - found[0]).mT / _STEP

    def deviations(self, vector: Vector) -> Vector:
        """The prior standard deviations."""
        prior = self.prior
        rows = torch.empty_like(self.rows(vector))
        rows[..., :2], rows[..., 2], rows[..., 3] = prior.place, prior.size, prior.ratio[1]
        order = torch.arange(2, 2 + (rows.shape[-1] - _FIXED) // 2, dtype=torch.float64)
        rows[..., _FIXED:] = (prior.wave / order**prior.power).repeat_interleave(2)
        return torch.cat([rows.flatten(), torch.tensor([prior.background], dtype=torch.float64)])


def stars(rows: Rows) -> Float64[Tensor, "*batch objects star"]:
    """The parameters of `Star`, whose first wave only moves the centre."""
    radius = rows[..., 2:3].exp()
    first = torch.zeros_like(rows[..., :2])
    return torch.cat([rows[..., :2], radius, first, radius * rows[..., _FIXED:]], -1)


class _Fit:
    """Levenberg-Marquardt steps from a start that is also the mean of the prior."""

    def __init__(self, problem: _Problem, vector: Vector, mean: Vector) -> None:
        self.problem, self.vector, self.mean = problem, vector, mean
        self.deviation = problem.deviations(vector)
        self.errors = problem.errors(vector)

    @property
    def misfit(self) -> float:
        """The mean square of the errors."""
        return math.inf if self.errors is None else float(self.errors.square().mean())

    @property
    def objective(self) -> float:
        """Half the squares of the errors and of the deviations from the prior's mean."""
        return self._objective(self.vector, self.errors)

    def run(self, steps: int) -> "_Fit":
        """Step as long as the objective falls."""
        damping = _CALM
        for _ in range(steps if self.errors is not None else 0):
            before = self.objective
            damping = self._step(damping)
            if damping > _WILD or before - self.objective < _ENOUGH * before:
                break
        return self

    def _step(self, damping: float) -> float:
        assert self.errors is not None
        slope, weight = self.problem.slope(self.vector), self.deviation**-2
        curvature = slope.mT @ slope + weight.diag()
        downhill = slope.mT @ self.errors - weight * (self.vector - self.mean)
        before = self.objective
        while damping <= _WILD:
            change = torch.linalg.solve(curvature + damping * curvature.diagonal().diag(), downhill)
            errors = self.problem.errors(self.vector + change)
            if self._objective(self.vector + change, errors) < before:
                self.vector, self.errors = self.vector + change, errors
                return damping * _EASE
            damping *= _HARDEN
        return damping

    def _objective(self, vector: Vector, errors: Tensor | None) -> float:
        if errors is None:
            return math.inf
        away = (vector - self.mean) / self.deviation
        return 0.5 * float(errors.square().sum() + away.square().sum())

    def spread(self) -> Vector:
        """The standard deviations of the linearised posterior."""
        slope = self.problem.slope(self.vector)
        return torch.linalg.inv(slope.mT @ slope + (self.deviation**-2).diag()).diagonal().sqrt()


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
    rough = _circles(_Problem.of(frame.with_errors(own.rough), own), start, steps, report)
    problem = replace(_Problem.of(frame, own), sign=rough.problem.sign)
    fit = _Fit(problem, rough.vector, rough.mean).run(steps)
    for number, order in enumerate(own.orders[1:], 1):
        report(number / len(own.orders), f"outlines of {order} waves: misfit {fit.misfit:.3g} of the noise level")
        more = _with_waves(fit, order).run(steps)
        if more.misfit > (1 - own.worth) * fit.misfit and fit.misfit < math.inf:
            continue
        fit = more
    return _outlined(fit)


def _circles(
    problem: _Problem, start: tuple[Rows, tuple[int, ...]], steps: int, report: Progress
) -> _Fit:
    """Circles, those that the readings need."""
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
    return fit


def _begun(problem: _Problem, rows: Rows) -> _Fit:
    """The fit from circles, made smaller until they are apart and inside."""
    rows = rows.clone()
    rows[:, 3] = problem.prior.ratio[0]
    for _ in range(_SHRINKS):
        vector = torch.cat([rows.flatten(), torch.zeros(1, dtype=torch.float64)])
        fit = _Fit(problem, vector, vector)
        if fit.errors is not None:
            break
        rows[:, 2] += math.log(_SHRINK)
    return fit


def _without(fit: _Fit, number: int) -> _Fit:
    """The fit without one of its objects."""
    left = [k for k in range(len(fit.problem.sign)) if k != number]
    problem = replace(fit.problem, sign=tuple(fit.problem.sign[k] for k in left))
    parts = [
        torch.cat([fit.problem.rows(vector)[left].flatten(), vector[-1:]])
        for vector in (fit.vector, fit.mean)
    ]
    return _Fit(problem, parts[0], parts[1])


def _with_waves(fit: _Fit, order: int) -> _Fit:
    """The fit with more waves, of no height yet."""
    width = _FIXED + 2 * (order - 1)

    def padded(vector: Vector) -> Vector:
        rows = fit.problem.rows(vector)
        wide = torch.nn.functional.pad(rows, (0, width - rows.shape[-1]))
        return torch.cat([wide.flatten(), vector[-1:]])

    return _Fit(fit.problem, padded(fit.vector), padded(fit.mean))


def _outlined(fit: _Fit) -> Outlined:
    problem, background = fit.problem, float(fit.vector[-1].exp())
    drifted = problem.batch(fit.vector[None])
    groups = tuple(replace(group, inside=group.inside * background) for group in drifted.groups)
    phantom = PhantomBatch(groups, drifted.outside * background).phantom(0)
    rows, spread = problem.rows(fit.vector), problem.rows(fit.spread())
    order = 1 + (rows.shape[-1] - _FIXED) // 2
    return Outlined(
        phantom, problem.sign, phantom.outside, fit.misfit, order, tuple(spread[:, 2].tolist())
    )
