"""Stars in a tank as numbers to be fitted: what it reads, the priors of the numbers, and the steps of the fit.

The readings of stars come from boundary integrals and exact electrodes, in milliseconds for a tank; derivatives are
differences, a batch of tanks. The steps are those of Levenberg and Marquardt.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical.tank_frame import ReadingErrors, TankFrame
from eitlens.electrodes import CompleteElectrodeSolver
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Star
from eitlens.phantom.batch import PhantomBatch, ShapeGroup

Rows = Float64[Tensor, "*batch objects parameters"]
"""Of each object (cx, cy, log R, q, a_2, b_2, a_3, …), its ratio of conductivities being exp(± exp q)."""
Vector = Float64[Tensor, "*batch all"]
"""The rows one after the other, and the logarithm of the background's factor."""

FIXED = 4
"""Numbers of an object before its waves."""
_NODES, _WAVES = (
    64,
    48,
)  # of outlines, and of waves between body and electrodes: 0.8 % on measured tanks, in 3 ms
_STEP = 1e-6  # of differences: the solver is exact to 1e-10
_NARROWEST = 0.1  # of R: an outline that comes nearer to the centre is refused
_ANGLES = 128  # at which it is looked for
_GAP = 0.01  # between an outline and the boundary, in the body's units
_REPAIRS = 12  # rounds of moving an object off the wall
_BEYOND, _SPARE = 1.1, 1e-4  # a little farther than it is over
_CALM, _WILD = 1e-3, 1e8  # damping of the first step, relative to the curvature, and where it gives up
_EASE, _HARDEN = 0.3, 4.0  # factors of the damping after a good step and a bad one
_ENOUGH = 1e-3  # of the objective: a smaller gain ends the steps


ROUGH = ReadingErrors(relative=0.1, floor=0.2)
"""Errors while the objects are circles: what these do not explain counts little, and the largest readings lead."""


@dataclass(frozen=True)
class OutlinePrior:
    """What objects are expected to be, as means and standard deviations.

    Attributes:
        ratio: of q, the logarithm of the logarithm of the ratio of an object's conductivity and the background's.
        wave: of a_k and b_k: this over k².
        place, size: of the centre in the body's units and of log R, about the image's.
        background: of the logarithm of the background's factor.
        worth: how much of the misfit a round of more waves, or one more object, must take away to be kept.
        orders: the shortest waves of each round.
        rough: errors of the readings for the first round.
    """

    ratio: tuple[float, float] = (1.25, 0.6)
    wave: float = 1.5
    place: float = 0.3
    size: float = 1.0
    background: float = 0.1
    worth: float = 0.15
    orders: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
    rough: ReadingErrors = ROUGH


@dataclass(frozen=True, eq=False)
class OutlineProblem:
    """The numbers that a frame should give, as a function of the rows of its objects and of the background."""

    frame: TankFrame
    sign: tuple[int, ...]
    prior: OutlinePrior
    solver: CompleteElectrodeSolver
    readings: Float64[Tensor, "readings"]
    slides: bool = False
    """Whether an object that runs into the wall is moved back, so that a fit can slide along it."""

    @staticmethod
    def of(frame: TankFrame, prior: OutlinePrior) -> "OutlineProblem":
        """The problem without objects; of a difference, the exact empty tank stands for that of the elements."""
        electrodes = frame.model.electrodes
        solver = CompleteElectrodeSolver(
            BoundaryIntegralSolver(electrodes.body, nodes=_NODES), electrodes, waves=_WAVES
        )
        empty = OutlineProblem(frame, (), prior, solver, frame.readings)
        if not frame.difference:
            return empty
        nothing = frame.readings.new_zeros(1, 1)
        exact = frame.model.reading @ empty.potentials(nothing)[0]
        return replace(empty, readings=frame.measured + exact)

    @cached_property
    def values(self) -> Float64[Tensor, "numbers"]:
        """The numbers that the readings are reduced to."""
        return replace(self.frame, readings=self.readings).reduced.values

    def potentials(self, vector: Float64[Tensor, "batch all"]) -> Float64[Tensor, "batch potentials"]:
        """The potentials of the electrodes for each row of parameters."""
        tank = self.solver.resistances(self.batch(vector))
        return (self.frame.model.currents @ tank).flatten(1) / vector[:, -1:].exp()

    def numbers(self, vector: Float64[Tensor, "batch all"]) -> Float64[Tensor, "batch numbers"]:
        """The numbers for each row of parameters."""
        return self.potentials(vector) @ self.frame.reduced.potentials.mT

    def relative_misfit(self, vector: Float64[Tensor, "all"]) -> float:
        """|modelled - measured| / |measured|, of the changes where there is a reference."""
        modelled = self.frame.model.reading @ self.potentials(vector[None])[0]
        return float((self.readings - modelled).norm() / self.frame.measured.norm())

    def batch(self, vector: Float64[Tensor, "batch all"]) -> PhantomBatch:
        """The tanks without the drift of their background."""
        sigma = self.frame.conductivity
        outside = vector.new_full((len(vector),), sigma)
        if not self.sign:
            return PhantomBatch((), outside)
        rows = self.rows(vector)
        present = torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
        rank = torch.arange(rows.shape[1], device=rows.device).expand(len(rows), -1)
        ratio = (torch.tensor(self.sign).to(rows) * rows[..., 3].exp()).exp()
        group = ShapeGroup(Star, stars(rows), present, rank, sigma * ratio)
        return PhantomBatch((group,), outside)

    def rows(self, vector: Vector) -> Rows:
        """The parameters as a row an object."""
        count = len(self.sign)
        return vector[..., :-1].reshape(*vector.shape[:-1], count, (vector.shape[-1] - 1) // max(count, 1))

    def possible(self, vector: Float64[Tensor, "all"]) -> bool:
        """Whether every outline is a curve around its centre inside the body."""
        if not self.sign:
            return True
        star = stars(self.rows(vector))
        around = Star.curve(star, _ANGLES).point
        near = (around - star[:, None, :2]).norm(dim=-1).amin(-1)
        clear = self.frame.model.domain.clearance(around.flatten(0, 1)).min()
        return bool((near > _NARROWEST * star[:, 2]).all()) and float(clear) > _GAP

    def repaired(self, vector: Float64[Tensor, "all"]) -> Float64[Tensor, "all"]:
        """The parameters with objects that have run into the wall moved back."""
        if not self.sign or not self.slides:
            return vector
        rows, domain = self.rows(vector).clone(), self.frame.model.domain
        for _ in range(_REPAIRS):
            around = Star.curve(stars(rows), _ANGLES).point
            clear, nearest = domain.clearance(around.flatten(0, 1)).view(around.shape[:2]).min(-1)
            over = (_GAP - clear).clamp(min=0)
            if not bool((over > 0).any()):
                break
            away = rows[:, :2] - around[torch.arange(len(rows)), nearest]
            length = away.norm(dim=-1, keepdim=True).clamp(min=1e-12)
            rows[:, :2] += torch.where(over > 0, _BEYOND * over + _SPARE, 0.0)[:, None] * away / length
        return torch.cat([rows.flatten(), vector[-1:]])

    def errors(self, vector: Float64[Tensor, "all"]) -> Float64[Tensor, "numbers"] | None:
        """What is left of the values; None where the outlines are none or touch."""
        if not self.possible(vector):
            return None
        try:
            return self.values - self.numbers(vector[None])[0]
        except InputError:
            return None

    def slope(self, vector: Float64[Tensor, "all"]) -> Float64[Tensor, "numbers all"]:
        """The derivatives of the numbers; where a step would let outlines touch, they are of a step back."""
        steps = _STEP * torch.eye(len(vector)).to(vector)
        try:
            found = self.numbers(vector + torch.nn.functional.pad(steps, (0, 0, 1, 0)))
            return (found[1:] - found[0]).mT / _STEP
        except InputError:
            here = self.numbers(vector[None])[0]
            return torch.stack([self._one_sided(vector, step, here) for step in steps], 1)

    def _one_sided(self, vector: Tensor, step: Tensor, here: Tensor) -> Float64[Tensor, "numbers"]:
        """The derivative along one parameter; 0 where it cannot move at all."""
        for sign in (1, -1):
            try:
                return sign * (self.numbers((vector + sign * step)[None])[0] - here) / _STEP
            except InputError:
                continue
        return torch.zeros_like(here)

    def deviations(self, vector: Vector) -> Vector:
        """The prior standard deviations."""
        prior = self.prior
        rows = torch.empty_like(self.rows(vector))
        rows[..., :2], rows[..., 2], rows[..., 3] = prior.place, prior.size, prior.ratio[1]
        order = torch.arange(2, 2 + (rows.shape[-1] - FIXED) // 2).to(vector)
        rows[..., FIXED:] = (prior.wave / order**2).repeat_interleave(2)
        return torch.cat([rows.flatten(), vector.new_tensor([prior.background])])


def stars(rows: Rows) -> Float64[Tensor, "*batch objects star"]:
    """The parameters of `Star`, whose first wave only moves the centre."""
    radius = rows[..., 2:3].exp()
    first = torch.zeros_like(rows[..., :2])
    return torch.cat([rows[..., :2], radius, first, radius * rows[..., FIXED:]], -1)


class OutlineFit:
    """Levenberg-Marquardt steps from a start that is also the mean of the prior."""

    def __init__(self, problem: OutlineProblem, vector: Vector, mean: Vector) -> None:
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

    def run(self, steps: int) -> "OutlineFit":
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
            trial = self.problem.repaired(self.vector + change)
            errors = self.problem.errors(trial)
            if self._objective(trial, errors) < before:
                self.vector, self.errors = trial, errors
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
        variance: Tensor = torch.linalg.inv(slope.mT @ slope + (self.deviation**-2).diag()).diagonal()
        return variance.sqrt()
