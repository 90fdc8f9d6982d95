"""The unit disk, where everything is a Fourier series."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens import checks
from eitlens.domain.base import CPU, ConformalMap, Domain, Extension, box
from eitlens.errors import InputError

_POINTS = 8192  # at a time: their powers of 1024 waves fill 128 MB


@dataclass(frozen=True)
class Disk(Domain):
    """The disk |z| < 1 on a grid of n cells a side over the square around it, with `boundary_nodes` on the circle.

    Node [i, j] is at x = -1 + i h, y = -1 + j h, h = 2/n; fields are 0 at the nodes outside. Boundary node k is
    at the angle 2πk / boundary_nodes. A boundary function is the trigonometric polynomial through its values,

        g(θ) = Re Σ_k c_k exp(ikθ),  k = 0 … ⌊N/2⌋,

    and the harmonic function with this flux is φ(z) = Re Σ_{k>0} (c_k / k) z^k. The radius is `scale` metres.

    >>> eit.Disk(32).boundary().shape
    torch.Size([256, 2])
    """

    n: int
    boundary_nodes: int = 256
    scale: float = 1.0
    name: ClassVar[str] = "disk"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checks.size(self.n, "Disk: cells a side"))
        nodes = checks.size(self.boundary_nodes, "Disk: boundary nodes", checks.MOST_NODES)
        object.__setattr__(self, "boundary_nodes", nodes)
        checks.positive_number(self.scale, "Disk: scale")
        if self.n < 2 or self.boundary_nodes < 3:
            given = f"n={self.n}, boundary_nodes={self.boundary_nodes}"
            raise InputError(f"Disk needs at least 2 cells a side and 3 boundary nodes, got {given}")

    @property
    def boundary_size(self) -> int:
        """Number of boundary nodes."""
        return self.boundary_nodes

    @property
    def perimeter(self) -> float:
        """Length of the boundary."""
        return 2 * torch.pi

    def boundary(self, device: torch.device = CPU) -> Float64[Tensor, "boundary 2"]:
        """Coordinates of the boundary nodes."""
        return self.place(self.arclength(device))

    def place(self, arclength: Float64[Tensor, "*points"]) -> Float64[Tensor, "*points 2"]:
        """Coordinates of the boundary points at some arclengths, which are their angles."""
        return torch.stack([torch.cos(arclength), torch.sin(arclength)], -1)

    def clearance(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Distance to the boundary, positive inside and negative outside."""
        distance: Tensor = torch.linalg.vector_norm(points, dim=-1)
        return 1.0 - distance

    def locate(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """The polar angle."""
        x, y = points.unbind(-1)
        turn = torch.atan2(y, x) % self.perimeter
        return torch.where(turn < self.perimeter, turn, 0.0)  # the remainder of -1e-17 is rounded up to 2π

    def conformal_map(self, points: Float64[Tensor, "*points 2"]) -> ConformalMap:
        """The identity."""
        z = torch.complex(*points.unbind(-1))
        return ConformalMap(z, torch.ones_like(z), torch.zeros_like(z))

    def extend(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch nx ny"]:
        """The harmonic function with Neumann data `values`."""
        c, z = _coefficients(values), self._points(values.device)
        return self._on_grid((z * _polynomial(c / _orders(c), z)).real)

    def extend_with_gradient(self, values: Float64[Tensor, "*batch boundary"]) -> Extension:
        """The same function with its gradient: φ = Re F has φ_x - i φ_y = F'."""
        c, z = _coefficients(values), self._points(values.device)
        value, slope = _polynomial(torch.stack([c / _orders(c), c]), z)
        return Extension(*(self._on_grid(part) for part in ((z * value).real, slope.real, -slope.imag)))

    def background(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch boundary"]:
        """The same function on the circle: c_k / k."""
        spectrum = torch.fft.rfft(values)[..., 1:]
        trace: Tensor = torch.fft.irfft(fn.pad(spectrum / _orders(spectrum), (1, 0)), self.boundary_nodes)
        return trace

    def _points(self, device: torch.device) -> Complex128[Tensor, "inside"]:
        """The grid nodes in the closed disk."""
        x, y = box(self.n, device)[self.inside(device)].unbind(-1)
        return torch.complex(x, y)

    def _on_grid(self, values: Float64[Tensor, "*batch inside"]) -> Float64[Tensor, "*batch nx ny"]:
        field = values.new_zeros(*values.shape[:-1], *self.shape)
        field[..., self.inside(values.device)] = values
        return field


def _coefficients(values: Float64[Tensor, "*batch boundary"]) -> Complex128[Tensor, "*batch orders"]:
    """c_1, c_2, …: twice those of the transform, but for the last of an even number, which stands alone."""
    size = values.shape[-1]
    spectrum = torch.fft.rfft(values)[..., 1:]
    weight = torch.full((size // 2,), 2 / size, dtype=values.dtype, device=values.device)
    if size % 2 == 0:
        weight[-1] = 1 / size
    return torch.mul(spectrum, weight)


def _orders(spectrum: Complex128[Tensor, "*batch orders"]) -> Float64[Tensor, "orders"]:
    return torch.arange(1, spectrum.shape[-1] + 1, dtype=torch.float64, device=spectrum.device)


def _polynomial(
    c: Complex128[Tensor, "*batch orders"], z: Complex128[Tensor, "inside"]
) -> Complex128[Tensor, "*batch inside"]:
    """Σ_k c_k z^(k-1), a product with the powers of some points at a time."""
    return torch.cat([c @ _powers(part, c.shape[-1]) for part in torch.split(z, _POINTS)], -1)


def _powers(z: Complex128[Tensor, "points"], count: int) -> Complex128[Tensor, "count points"]:
    """1, z, z², …, twice as many each time: for |z| ≤ 1 to a few units in the last place."""
    found = torch.ones_like(z)[None]
    while len(found) < count:
        found = torch.cat([found, found * (found[-1] * z)])
    return found[:count]
