"""Back onto the surface {(z, d(z))} along its normals: what makes long steps along a thin curved posterior possible.

The posterior is thin because the data are known well, and curved because they are not linear in z. So a particle
moves on the graph of the data, in the space of pairs (z, d) with the metric P/ε² ⊕ W: P the precision of the prior, W
that of the measurement, ε how far a step goes where the data say nothing. A velocity v at z leads along the tangent to
(z + v, d + J v); the point z' of the surface from where a normal at z leads there solves

    P/ε² (z' - z - v) + Jᵀ W (d(z') - d(z) - J v) = 0,

as many equations as parameters (Zappa, Holmes-Cerfon, Goodman, Comm. Pure Appl. Math. 71, 2018; on graphs over a
posterior: Au, Graham, Thiery, J. R. Stat. Soc. B 85, 2023). With G = P/ε² + Jᵀ W J = R Rᵀ the derivative in
x = Rᵀ (z' - z - v) at v = 0 is the identity: Broyden's method starts from it and needs no derivative elsewhere.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.memory import select
from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import LocalModel, Particles, Target, weighted

TOLERANCE = 1e-3
"""The accuracy of a place on the surface, in standard deviations of a step: it moves log r by 0.0005."""
# Particles that have not come that close in so many iterations are given up: those that do take 3 to 6.
_MOST = 7
_GROWTH = 2  # from the third iteration on: a value more than twice the last does not converge
Places = Float64[Tensor, "m c parameters"]
Chosen = Bool[Tensor, "m c"]


class Frame(NamedTuple):
    """G = R Rᵀ at each particle: R = P^½ A diag(1 / width)."""

    axes: Float64[Tensor, "*batch parameters parameters"]
    width: Float64[Tensor, "*batch parameters"]
    scale: Float64[Tensor, "*batch parameters"]
    """P^-½."""
    stiffness: Float64[Tensor, "*batch parameters"]
    """P/ε²."""

    @staticmethod
    def build(target: Target, local: LocalModel, reach: Float64[Tensor, "m c 1"]) -> "Frame":
        """Build the frame for steps of size ε = `reach` where the data say nothing."""
        precision = target.coordinates.precision(reach.device)
        width = (reach.square().reciprocal() + local.information).rsqrt()
        return Frame(local.axes, width, precision.rsqrt().expand_as(width), precision / reach.square())

    def out(self, x: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch parameters"]:
        """R^-ᵀ x: a velocity from its components."""
        return self.scale * (self.axes @ (self.width * x)[..., None])[..., 0]

    def into(self, velocity: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch parameters"]:
        """Rᵀ velocity: its components."""
        return ((velocity / self.scale)[..., None, :] @ self.axes)[..., 0, :] / self.width

    def pulled(self, force: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch parameters"]:
        """R⁻¹ force: the components of the velocity G⁻¹ force."""
        return self.width * ((self.scale * force)[..., None, :] @ self.axes)[..., 0, :]

    def log_stretch(self) -> Float64[Tensor, "*batch"]:
        """½ log det G, up to a constant: how much larger the surface is than what is below it."""
        return -self.width.log().sum(-1)


class _Projection(NamedTuple):
    """Equations of a projection onto the surface, for some particles in a row."""

    start: Float64[Tensor, "n parameters"]
    """z + v."""
    aim: Float64[Tensor, "n currents boundary"]
    """d + J v."""
    jacobian: Float64[Tensor, "n parameters currents boundary"]
    weight: Float64[Tensor, "n currents boundary"]
    frame: Frame


class _BroydenState(NamedTuple):
    """Broyden's method: where it is, the value there, the step that led there, the inverse of the derivative."""

    x: Float64[Tensor, "n parameters"]
    value: Float64[Tensor, "n parameters"]
    step: Float64[Tensor, "n parameters"]
    inverse: Float64[Tensor, "n parameters parameters"]


def project(
    target: Target, particles: Particles, frame: Frame, components: Places, level: Level, chosen: Chosen
) -> tuple[Places, Chosen]:
    """Project the chosen particles, moved by the velocities Rᵀ v = `components`; also tell which of them land."""
    landed, arrived = particles.z.clone().flatten(0, 1), torch.zeros_like(chosen).flatten()
    index = torch.nonzero(chosen.flatten()).flatten()
    problem = select(_problem(target, particles, frame, components, level), index)
    zero = torch.zeros_like(problem.start)
    state = _BroydenState(zero, zero, zero, torch.zeros_like(problem.frame.axes))
    for turn in range(_MOST):
        place = problem.start + problem.frame.out(state.x)
        on = torch.nonzero(target.coordinates.allowed(place)).flatten()
        if not len(on):
            break
        index, problem, state, place = index[on], select(problem, on), select(state, on), place[on]
        value = _value(target, problem, place)
        size = value.norm(dim=-1)
        here = size < TOLERANCE
        landed[index[here]], arrived[index[here]] = place[here], True
        # Who goes astray is given up: a value that grows cannot be believed to converge still.
        most = _GROWTH * state.value.norm(dim=-1) if turn > 1 else torch.inf
        on = torch.nonzero(~here & (size < most)).flatten()
        index, problem, state = index[on], select(problem, on), _next(select(state, on), value[on], turn)
    return landed.reshape(particles.z.shape), arrived.reshape(chosen.shape)


def components_to(target: Target, here: Particles, frame: Frame, there: Particles, level: Level) -> Places:
    """Rᵀ v of the velocity at `here` that lands `there`: G v = P/ε² (z' - z) + Jᵀ W (d' - d)."""
    pull = weighted(there.sketch - here.sketch, target.likelihood.weight(level)[:, None])
    force = (here.jacobian.flatten(3) @ pull.flatten(2)[..., None])[..., 0]
    return frame.pulled(force + frame.stiffness * (there.z - here.z))


def _problem(
    target: Target, particles: Particles, frame: Frame, components: Tensor, level: Level
) -> _Projection:
    velocity = frame.out(components)
    along = (velocity[..., None, :] @ particles.jacobian.flatten(3))[..., 0, :]
    aim = particles.sketch + along.reshape(particles.sketch.shape)
    weight = target.likelihood.weight(level)[:, None].expand_as(aim)
    parts = (part.flatten(0, 1) for part in (particles.z + velocity, aim, particles.jacobian, weight))
    start, aim, jacobian, weight = parts
    return _Projection(start, aim, jacobian, weight, Frame(*(part.flatten(0, 1) for part in frame)))


def _value(target: Target, problem: _Projection, place: Tensor) -> Float64[Tensor, "n parameters"]:
    """The left side of the equations, in components."""
    pull = weighted(target.sketch(place) - problem.aim, problem.weight)
    force = (problem.jacobian.flatten(2) @ pull.flatten(1)[..., None])[..., 0]
    return problem.frame.pulled(force + problem.frame.stiffness * (place - problem.start))


def _next(state: _BroydenState, value: Tensor, turn: int) -> _BroydenState:
    """Make one step of Broyden's (good) method."""
    if turn == 0:
        identity = torch.eye(value.shape[-1], dtype=value.dtype, device=value.device).expand_as(state.inverse)
        return _BroydenState(-value, value, -value, identity)
    change = (state.inverse @ (value - state.value)[..., None])[..., 0]
    row = (state.step[..., None, :] @ state.inverse)[..., 0, :]
    scale = (state.step * change).sum(-1, keepdim=True)
    inverse = state.inverse + ((state.step - change) / scale)[..., None] * row[..., None, :]
    step = -(inverse @ value[..., None])[..., 0]
    return _BroydenState(state.x + step, value, step, inverse)
