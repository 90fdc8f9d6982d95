"""The square (-1, 1)²: the body of the paper."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.domain.base import CPU, ConformalMap, Domain, Extension, box
from eitlens.domain.square_extension import extend, extend_with_gradient
from eitlens.domain.square_map import conformal_map
from eitlens.errors import InputError
from eitlens.memory import cached


@dataclass(frozen=True)
class Square(Domain):
    """The square (-1, 1)² with n cells a side: (n+1)² nodes, h = 2/n, and a boundary loop of 4n nodes.

    Node [i, j] is at x = -1 + i h, y = -1 + j h. Boundary node k is at arclength k h, counter-clockwise from
    (-1, -1): bottom, right, top (leftwards), left (downwards). The corners are the nodes 0, n, 2n, 3n, each
    once.

    >>> eit.Square(200).boundary().shape
    torch.Size([800, 2])
    """

    n: int
    name: ClassVar[str] = "square"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checks.size(self.n, "Square: cells a side"))
        if self.n < 2:
            raise InputError(f"Square needs at least 2 cells a side, got {self.n}")

    @property
    def h(self) -> float:
        """Mesh size."""
        return 2.0 / self.n

    @property
    def boundary_size(self) -> int:
        """Number of boundary nodes, 4n."""
        return 4 * self.n

    @property
    def perimeter(self) -> float:
        """Length of the boundary."""
        return 8.0

    @property
    def fills_grid(self) -> bool:
        """The cells of the grid are the body."""
        return True

    @property
    def corners(self) -> tuple[float, ...]:
        """Arclengths of the corners."""
        return 0.0, 2.0, 4.0, 6.0

    def describe_boundary(self) -> str:
        """The number of boundary values in words."""
        return f"{4 * self.n} boundary values (4 × {self.n} cells)"

    def explain_boundary(self, got: int) -> str:
        """The usual slips: corners dropped or counted twice, another grid."""
        if got == 4 * self.n - 4:
            return ": were the corners dropped?"
        if got == 4 * self.n + 4:
            return ": were the corners counted twice?"
        if got == 4 * self.n + 1:
            return ": is the first node repeated at the end?"
        return f": is it Square({got // 4})?" if got % 4 == 0 and got >= 8 else ""

    def boundary(self, device: torch.device = CPU) -> Float64[Tensor, "boundary 2"]:
        """Coordinates of the boundary nodes."""
        return box(self.n, device).flatten(0, 1)[_loop(self.n, device)]

    def place(self, arclength: Float64[Tensor, "*points"]) -> Float64[Tensor, "*points 2"]:
        """Coordinates of the boundary points at some arclengths."""
        s = arclength % self.perimeter
        x = torch.where(s < 4, s - 1, 5 - s).clamp(-1, 1)
        y = torch.where(s < 6, s - 3, 7 - s).clamp(-1, 1)
        return torch.stack([x, y], -1)

    def loop(self, device: torch.device = CPU) -> Int64[Tensor, "boundary"]:
        """Flat grid index i (n+1) + j of each boundary node."""
        return _loop(self.n, device).clone()

    def trace(self, field: Float64[Tensor, "*batch nx ny"]) -> Float64[Tensor, "*batch boundary"]:
        """Values of a nodal field at the boundary nodes."""
        return field.flatten(-2)[..., _loop(self.n, field.device)]

    def clearance(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Distance to the boundary, positive inside (outside: minus that to the nearest side's line)."""
        return 1.0 - points.abs().amax(-1)

    def room(
        self, outline: Float64[Tensor, "*shapes points 2"], bounds: Float64[Tensor, "*shapes 4"]
    ) -> Float64[Tensor, "*shapes"]:
        """The clearance of the bounding box, which is exact: its sides are along those of the square."""
        return 1.0 - bounds.abs().amax(-1)

    def locate(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Arclength along the side next to each point."""
        x, y = points.clamp(-1, 1).unbind(-1)
        upright, level = torch.where(x > 0, 3 + y, 7 - y), torch.where(y > 0, 5 - x, 1 + x)
        return torch.where(x.abs() >= y.abs(), upright, level) % self.perimeter

    def conformal_map(self, points: Float64[Tensor, "*points 2"]) -> ConformalMap:
        """The Riemann map onto the unit disk."""
        return conformal_map(points)

    def extend(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch nx ny"]:
        """The harmonic function with Neumann data `values`, by cosine series on the four sides."""
        return extend(values, self.n)

    def background(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch boundary"]:
        """The potential at the boundary nodes, which are nodes of the grid."""
        return self.trace(self.extend(values))

    def extend_with_gradient(self, values: Float64[Tensor, "*batch boundary"]) -> Extension:
        """The same function with its gradient in closed form."""
        return extend_with_gradient(values, self.n)


@cached
def _loop(n: int, device: torch.device) -> Int64[Tensor, "boundary"]:
    up, down = torch.arange(n, device=device), torch.arange(n, 0, -1, device=device)
    low, high = torch.zeros_like(up), torch.full_like(up, n)
    i = torch.cat([up, high, down, low])
    j = torch.cat([low, up, high, down])
    return i * (n + 1) + j
