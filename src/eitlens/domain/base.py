"""The contract of a domain: a body Ω, a grid of nodes inside it and a closed loop of nodes on its boundary.

Everything above `domain/` sees the body through this class alone. A new body is one file beside this one.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import torch
from jaxtyping import Bool, Complex128, Float64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.memory import cached

CPU = torch.device("cpu")
Body = TypeVar("Body", bound="Domain")


class ConformalMap(NamedTuple):
    """The Riemann map ζ of a body onto the unit disk and its first two derivatives, at points z = x + iy."""

    value: Complex128[Tensor, "*points"]
    first: Complex128[Tensor, "*points"]
    second: Complex128[Tensor, "*points"]


class Extension(NamedTuple):
    """A harmonic function and its gradient on the grid."""

    value: Float64[Tensor, "*batch nx ny"]
    dx: Float64[Tensor, "*batch nx ny"]
    dy: Float64[Tensor, "*batch nx ny"]


class Domain(ABC):
    """A bounded, simply connected body in the plane.

    Boundary functions are given by their values at `boundary_size` nodes, equally spaced in arclength along
    the closed loop, counter-clockwise. Integrals over the boundary use the trapezoid rule on that loop, so
    every node has the same weight `boundary_weight`, the mean of a boundary function is the plain mean of its
    values, and a current g is the set of point sources of strength `boundary_weight * g[k]` at the nodes.

    >>> [round(body.perimeter, 2) for body in (eit.Square(200), eit.Disk(200))]
    [8.0, 6.28]
    """

    n: int
    """Cells a side of the grid, which lies over the box [-1, 1]² into which a body is scaled."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the body in files and messages, whatever its grid."""

    @property
    def scale(self) -> float:
        """Metres that one unit of the body's coordinates stands for."""
        return 1.0

    @property
    def origin(self) -> tuple[float, float]:
        """The origin of these coordinates, in metres, in the coordinates in which the body was measured."""
        return 0.0, 0.0

    def at(self: Body, n: int) -> Body:  # noqa: PYI019  beartype cannot check Self
        """The same body, a frozen dataclass, on a grid of n cells a side."""
        return cast(Body, replace(cast(Any, self), n=n))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of grid nodes along x and y."""
        return self.n + 1, self.n + 1

    def axes(self) -> dict[str, Float64[Tensor, "nodes"]]:
        """The coordinates x of the first index of the grid and y of the second, in metres, where the body was measured.

        >>> eit.Disk(2, scale=0.1).axes()["x"].tolist()
        [-0.1, 0.0, 0.1]
        """
        places = self.nodes() * self.scale + torch.tensor(self.origin, dtype=torch.float64)
        return {"x": places[:, 0, 0], "y": places[0, :, 1]}

    @property
    @abstractmethod
    def boundary_size(self) -> int:
        """Number of boundary nodes."""

    @property
    @abstractmethod
    def perimeter(self) -> float:
        """Length of the boundary."""

    def nodes(self, device: torch.device = CPU) -> Float64[Tensor, "nx ny 2"]:
        """Coordinates of all grid nodes, indexed [i, j] with x growing along i and y along j."""
        return box(self.n, device).clone()

    @abstractmethod
    def boundary(self, device: torch.device = CPU) -> Float64[Tensor, "boundary 2"]:
        """Coordinates of the boundary nodes."""

    def place(self, arclength: Float64[Tensor, "*points"]) -> Float64[Tensor, "*points 2"]:
        """Coordinates of the boundary points at some arclengths: by their Fourier series, for a smooth boundary."""
        z = torch.view_as_complex(self.boundary(arclength.device).contiguous())
        wave = torch.fft.fftfreq(len(z), 1 / len(z), dtype=torch.float64, device=z.device)
        turn = arclength[..., None] * wave * (2 * torch.pi / self.perimeter)
        waves = torch.polar(torch.ones_like(turn), turn)
        return torch.view_as_real(waves @ (torch.fft.fft(z) / len(z)))

    @abstractmethod
    def clearance(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Distance to the boundary, positive inside and negative outside."""

    def room(
        self, outline: Float64[Tensor, "*shapes points 2"], bounds: Float64[Tensor, "*shapes 4"]
    ) -> Float64[Tensor, "*shapes"]:
        """The smallest clearance of a shape, known by points on its outline and its box (xmin, ymin, xmax, ymax)."""
        return self.clearance(outline).amin(-1)

    @abstractmethod
    def locate(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Arclength, in [0, perimeter), of the boundary point next to each of some points near the boundary."""

    @abstractmethod
    def conformal_map(self, points: Float64[Tensor, "*points 2"]) -> ConformalMap:
        """The Riemann map onto the unit disk, differentiable in the points."""

    @abstractmethod
    def extend(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch nx ny"]:
        """Solve Δφ = 0, ∂φ/∂n = values, ∮φ = 0 on the grid; `values` less their mean, or there is none."""

    @abstractmethod
    def extend_with_gradient(self, values: Float64[Tensor, "*batch boundary"]) -> Extension:
        """The same φ together with ∇φ, accurate up to the boundary."""

    @abstractmethod
    def background(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch boundary"]:
        """The same φ at the boundary nodes: f0 = Λ g of the empty body of conductivity 1, for g = values."""

    @property
    def fills_grid(self) -> bool:
        """Whether the body is a union of cells of its grid, with boundary nodes among the grid's: the square is."""
        return False

    @property
    def corners(self) -> tuple[float, ...]:
        """Arclengths of the corners: right angles, boundary nodes, the first of them node 0; none if it is smooth."""
        return ()

    def describe_boundary(self) -> str:
        """The number of boundary values in words, for error messages."""
        return f"{self.boundary_size} boundary values"

    def explain_boundary(self, got: int) -> str:
        """A guess, in words, of how a wrong number of boundary values came about."""
        return ""

    @property
    def boundary_weight(self) -> float:
        """Length of boundary a node stands for: the weight of the trapezoid rule."""
        return self.perimeter / self.boundary_size

    def arclength(self, device: torch.device = CPU) -> Float64[Tensor, "boundary"]:
        """Arclength of each boundary node from the first."""
        return self.boundary_weight * torch.arange(self.boundary_size, dtype=torch.float64, device=device)

    def angle(self, device: torch.device = CPU) -> Float64[Tensor, "boundary"]:
        """Polar angle θ of each boundary node about the origin, in (-π, π]."""
        x, y = self.boundary(device).unbind(-1)
        return torch.atan2(y, x)

    def inside(self, device: torch.device = CPU) -> Bool[Tensor, "nx ny"]:
        """The nodes of the grid that lie in the body or on its boundary."""
        return self.clearance(self.nodes(device)) > -1e-9


@cached
def box(n: int, device: torch.device) -> Float64[Tensor, "nx ny 2"]:
    """The (n+1)² nodes of the grid over [-1, 1]²; not to be changed."""
    line = torch.arange(n + 1, dtype=torch.float64, device=device) * 2 / n - 1
    return torch.stack(torch.meshgrid(line, line, indexing="ij"), -1)


def check_boundary_values(domain: Domain, values: object, name: str) -> Float64[Tensor, "*batch boundary"]:
    """Boundary data as float64, refused when they are not finite or not on the boundary nodes."""
    data = checks.physics(values, name)
    if data.ndim == 0 or data.shape[-1] != domain.boundary_size:
        got = data.shape[-1] if data.ndim else 1
        raise InputError(
            f"{name}: expected {domain.describe_boundary()}, got {got}{domain.explain_boundary(got)}"
        )
    return checks.finite(data, name)
