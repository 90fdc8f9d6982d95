"""Ellipses, and circles as ellipses with equal semi-axes."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.phantom.base import Curve, Shape


@dataclass(frozen=True)
class Ellipse(Shape):
    """An ellipse by its centre, two semi-axes, and the angle (radians, counter-clockwise) of the first of them.

    Parameters in a row: (cx, cy, a, b, angle). Level set: the quadratic form |R(-angle)(x - c) / (a, b)|² -
    1.

    >>> eit.Ellipse((0.2, -0.1), (0.15, 0.3), angle=0.4).parameters().tolist()
    [0.2, -0.1, 0.15, 0.3, 0.4]
    """

    center: tuple[float, float]
    semi_axes: tuple[float, float]
    angle: float = 0.0
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_pair(self.center, "center")
        _check_pair(self.semi_axes, "semi_axes")
        checks.number(self.angle, "Ellipse: angle")
        row = checks.finite(self.parameters(), "Ellipse")
        checks.positive(row[2:4], "Ellipse: semi_axes")

    def parameters(self) -> Float64[Tensor, "parameters"]:
        """(cx, cy, a, b, angle)."""
        return torch.tensor([*self.center, *self.semi_axes, self.angle], dtype=torch.float64)

    @staticmethod
    def unpack(row: Float64[Tensor, "parameters"]) -> "Ellipse":
        """The ellipse from (cx, cy, a, b, angle)."""
        cx, cy, a, b, angle = (float(v) for v in row)
        return Ellipse((cx, cy), (a, b), angle)

    @staticmethod
    def level_set(
        parameters: Float64[Tensor, "*#batch parameters"], points: Float64[Tensor, "*#batch points 2"]
    ) -> Float64[Tensor, "*#batch points"]:
        """|R(-angle)(x - c) / (a, b)|² - 1."""
        cx, cy, a, b, angle = parameters[..., None, :].unbind(-1)
        dx, dy = points[..., 0] - cx, points[..., 1] - cy
        cos, sin = torch.cos(angle), torch.sin(angle)
        return ((cos * dx + sin * dy) / a).square() + ((cos * dy - sin * dx) / b).square() - 1

    @staticmethod
    def within(
        parameters: Float64[Tensor, "*#batch parameters"],
        points: Float64[Tensor, "*#batch points 2"],
        gap: float,
    ) -> Bool[Tensor, "*#batch points"]:
        """Whether a point is in the ellipse with both semi-axes longer by `gap`."""
        grown = parameters + parameters.new_tensor([0, 0, gap, gap, 0])
        return Ellipse.level_set(grown, points) <= 0

    @classmethod
    def curve(cls, parameters: Float64[Tensor, "*batch parameters"], count: int) -> Curve:
        """The points c + R(angle)(a cos t, b sin t) at `count` equally spaced t, with two derivatives."""
        t = torch.arange(count, dtype=torch.float64, device=parameters.device) * (2 * torch.pi / count)
        a, b, angle = parameters[..., None, 2:].unbind(-1)
        cos, sin = torch.cos(angle), torch.sin(angle)

        def rotate(u: Tensor, v: Tensor) -> Tensor:
            return torch.stack([cos * u - sin * v, sin * u + cos * v], -1)

        spoke = rotate(a * torch.cos(t), b * torch.sin(t))
        first = rotate(-a * torch.sin(t), b * torch.cos(t))
        return Curve(parameters[..., None, :2] + spoke, first, -spoke)

    @classmethod
    def reach(cls, parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch"]:
        """2 b / a with b the shorter: the kernel of the equation falls like ((a - b) / (a + b))^n."""
        axes = parameters[..., 2:4]
        return 2 * axes.amin(-1) / axes.amax(-1)

    @staticmethod
    def outline(
        parameters: Float64[Tensor, "*batch parameters"], count: int
    ) -> Float64[Tensor, "*batch nodes 2"]:
        """`count` points equally spaced in t."""
        return Ellipse.curve(parameters, count).point

    @staticmethod
    def bounds(parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch 4"]:
        """The centre less and plus the half-widths."""
        half = Ellipse.half_widths(*parameters[..., 2:].unbind(-1))
        return torch.cat([parameters[..., :2] - half, parameters[..., :2] + half], -1)

    @staticmethod
    def half_widths(a: Tensor, b: Tensor, angle: Tensor) -> Float64[Tensor, "*batch 2"]:
        """√(a² cos² + b² sin²) along x, √(a² sin² + b² cos²) along y."""
        cos, sin = torch.cos(angle), torch.sin(angle)
        return torch.stack([torch.hypot(a * cos, b * sin), torch.hypot(a * sin, b * cos)], -1)

    @staticmethod
    def area(parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch"]:
        """π a b."""
        return torch.pi * parameters[..., 2] * parameters[..., 3]


def circle(center: tuple[float, float], radius: float) -> Ellipse:
    """A circle: an ellipse with equal semi-axes.

    >>> eit.circle((0.3, 0.2), 0.1).semi_axes
    (0.1, 0.1)
    """
    return Ellipse(center, (radius, radius))


def _check_pair(values: object, name: str) -> None:
    if tuple(checks.physics(values, f"Ellipse: {name}").shape) != (2,):
        raise InputError(f"Ellipse: {name}: expected two numbers, got {checks.shown(values)}")
