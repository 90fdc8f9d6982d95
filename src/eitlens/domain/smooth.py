"""A body with a smooth outline, whatever it looks like: everything goes through its Riemann map, found numerically."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Complex128, Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain.base import CPU, ConformalMap, Domain, Extension, box
from eitlens.domain.curve import ClosedCurve, check_simple, closed_curve
from eitlens.domain.riemann import RiemannMap, cauchy, finer, riemann_map
from eitlens.errors import InputError
from eitlens.memory import cached

_CROSSINGS = 512
"""Points of the outline between which it is taken for straight when crossings are looked for."""
_MOST = 4097
"""Coefficients of an outline."""
_OFFSET = 0.3
"""Part of a step from t = 0 to the first of them: a symmetric outline crosses itself where few would put a point."""
_ROOM = 0.5
"""The centroid is the centre of the map if it has this part of the largest clearance."""
_BOX = 1e-6
"""The outline may leave the box by rounding."""


@dataclass(frozen=True)
class SmoothBody(Domain):
    """A body whose outline is the closed curve z(t) = Σ_k c_k exp(ikt), k = -K … K, on a grid of n cells a side.

    The outline fills the box [-1, 1]² in its longer direction; the grid covers that box, and fields are 0 at the nodes
    outside the body. One unit of these coordinates is `scale` metres, and their origin is at `origin` (metres) in the
    coordinates of whoever measured the outline. The functions of `eitlens.bodies` make such bodies from lengths in
    metres. The boundary nodes are equally spaced in arclength from the point z(0), counter-clockwise.

    A boundary function is the trigonometric polynomial through its values. The harmonic function with flux g is Re F, F
    analytic: on the boundary by the body's Neumann function, which the Riemann map gives, inside by Cauchy's integral.

    Reference for the map: `eitlens.domain.riemann`. It has about twelve digits; nine where corners are sharp.

    >>> body = eit.bodies.ellipse(0.15, 0.1)
    >>> body.scale, round(body.scale * body.perimeter, 4), body.boundary().shape
    (0.15, 0.7933, torch.Size([256, 2]))
    """

    coefficients: tuple[complex, ...]
    name: str = "body"
    scale: float = 1.0
    origin: tuple[float, float] = (0.0, 0.0)
    n: int = 200
    boundary_nodes: int = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checks.size(self.n, f"{self.name}: cells a side"))
        nodes = checks.size(self.boundary_nodes, f"{self.name}: boundary nodes", checks.MOST_NODES)
        object.__setattr__(self, "boundary_nodes", nodes)
        checks.positive_number(self.scale, f"{self.name}: scale")
        if self.n < 2 or self.boundary_nodes < 3:
            given = f"n={self.n}, boundary_nodes={self.boundary_nodes}"
            raise InputError(
                f"{self.name}: expected at least 2 cells a side and 3 boundary nodes, got {given}"
            )
        _check_outline(self.coefficients, self.name)

    def __repr__(self) -> str:
        return f"SmoothBody({self.name!r}, scale={self.scale:g}, n={self.n})"

    @property
    def boundary_size(self) -> int:
        """Number of boundary nodes."""
        return self.boundary_nodes

    @property
    def perimeter(self) -> float:
        """Length of the boundary."""
        return self._curve(CPU).perimeter

    def boundary(self, device: torch.device = CPU) -> Float64[Tensor, "boundary 2"]:
        """Coordinates of the boundary nodes."""
        return self.place(self.arclength(device))

    def place(self, arclength: Float64[Tensor, "*points"]) -> Float64[Tensor, "*points 2"]:
        """Coordinates of the boundary points at some arclengths."""
        curve = self._curve(arclength.device)
        return torch.view_as_real(curve.place(arclength * (2 * torch.pi / curve.perimeter)))

    def inside(self, device: torch.device = CPU) -> Bool[Tensor, "nx ny"]:
        """The nodes of the grid that lie in the body or on its boundary."""
        return _inside(self.coefficients, self.n, device).clone()

    def clearance(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Distance to the boundary, positive inside and negative outside."""
        return self._curve(points.device).clearance(points)

    def locate(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Arclength of the nearest boundary point."""
        s = self._curve(points.device).nearest(points) * (self.perimeter / (2 * torch.pi))
        return torch.where(s < self.perimeter, s, 0.0)

    def conformal_map(self, points: Float64[Tensor, "*points 2"]) -> ConformalMap:
        """The Riemann map onto the unit disk that takes a point in the middle to 0."""
        return _map(self.coefficients, points.device)(points)

    def extend(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch nx ny"]:
        """The harmonic function with Neumann data `values`."""
        known = self._harmonic(values.device)
        return self._on_grid(known, _times(values, known.value)).real

    def extend_with_gradient(self, values: Float64[Tensor, "*batch boundary"]) -> Extension:
        """The same function with its gradient."""
        known = self._harmonic(values.device)
        both = torch.stack([_times(values, known.value), _times(values, known.slope)])
        value, slope = self._on_grid(known, both)
        return Extension(value.real, slope.real, -slope.imag)

    def background(self, values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch boundary"]:
        """The same function at the boundary nodes."""
        known = self._harmonic(values.device)
        return values @ known.value[:, :: len(known.nodes) // self.boundary_nodes].real

    def _curve(self, device: torch.device) -> ClosedCurve:
        return closed_curve(self.coefficients, device)

    def _harmonic(self, device: torch.device) -> "_Harmonic":
        return _harmonic(self.coefficients, self.boundary_nodes, device)

    def _on_grid(
        self, known: "_Harmonic", values: Complex128[Tensor, "*batch nodes"]
    ) -> Complex128[Tensor, "*batch nx ny"]:
        """Values of analytic functions on the grid from those on the boundary, 0 outside."""
        inside = _inside(self.coefficients, self.n, values.device)
        points = torch.view_as_complex(box(self.n, values.device)[inside])
        found = cauchy(known.nodes, known.weights, values.reshape(-1, values.shape[-1]).mT, points)
        field = values.new_zeros(*values.shape[:-1], *self.shape)
        field[..., inside] = found.mT.reshape(*values.shape[:-1], len(points))
        return field


@cached
def _check_outline(coefficients: tuple[complex, ...], name: str) -> None:
    """Refuse an outline that is no closed curve around a body, or does not fill the box."""
    c = torch.tensor(coefficients, dtype=torch.complex128)
    if not 3 <= len(c) <= _MOST or len(c) % 2 == 0 or not bool(torch.isfinite(c.abs()).all()):
        raise InputError(
            f"{name}: expected finite Fourier coefficients c_-K … c_K, K ≥ 1, got {len(c)} of them"
        )
    order = torch.arange(len(c), dtype=torch.float64) - len(c) // 2
    t = (torch.arange(_CROSSINGS, dtype=torch.float64) + _OFFSET) * (2 * torch.pi / _CROSSINGS)
    points = torch.polar(torch.ones(1, dtype=torch.float64), t[:, None] * order) @ c
    check_simple(points, name)
    if float((c.abs().square() * order).sum()) <= 0:  # the area over π
        raise InputError(f"{name}: the outline must run counter-clockwise: reverse its points")
    largest = float(torch.view_as_real(points).abs().amax())
    if largest > 1 + _BOX:
        raise InputError(
            f"{name}: the outline must lie in the box [-1, 1]², got coordinates up to {largest:.6g}: "
            "eitlens.bodies makes bodies from lengths in metres"
        )


@cached
def centre(coefficients: tuple[complex, ...]) -> complex:
    """A point well inside: the centroid, or the point of a coarse grid farthest from the boundary."""
    curve, size = closed_curve(coefficients), _CROSSINGS
    t = torch.arange(size, dtype=torch.float64) * (2 * torch.pi / size)
    z, slope = curve.place(t), curve.place(t, 1)
    area = float((z.conj() * slope).imag.mean()) / 2
    centroid = complex((z * (z.conj() * slope).imag).mean()) / (3 * area)
    some = box(40, CPU).flatten(0, 1)  # 40 cells a side find the widest place well enough
    room = curve.clearance(some)
    own = curve.clearance(torch.tensor([centroid.real, centroid.imag], dtype=torch.float64))
    return centroid if float(own) > _ROOM * float(room.max()) else complex(*some[room.argmax()].tolist())


def _map(coefficients: tuple[complex, ...], device: torch.device) -> RiemannMap:
    return riemann_map(coefficients, centre(coefficients), device)


@cached
def _inside(coefficients: tuple[complex, ...], n: int, device: torch.device) -> Bool[Tensor, "nx ny"]:
    return closed_curve(coefficients, device).clearance(box(n, device)) > -1e-9


@dataclass(frozen=True, eq=False)
class _Harmonic:
    """From a flux at the boundary nodes to the analytic function F = φ + iψ at the nodes of a finer boundary."""

    nodes: Complex128[Tensor, "nodes"]
    weights: Complex128[Tensor, "nodes"]
    """z'(t) at the nodes."""
    value: Complex128[Tensor, "boundary nodes"]
    """F, φ of zero mean over the boundary nodes."""
    slope: Complex128[Tensor, "boundary nodes"]
    """F' = φ_x - i φ_y."""


@cached
def _harmonic(coefficients: tuple[complex, ...], boundary: int, device: torch.device) -> _Harmonic:
    """By the Neumann function of the disk, φ(s) = -(1/π) ∮ log |ζ(s) - ζ(s')| g(s') ds'.

    The kernel is log |2 sin ((t - t')/2)|, whose waves cos mt have the eigenvalues -π/m, and a smooth rest, integrated
    by the trapezoid rule. ψ is the integral of g along the boundary.
    """
    curve, angles = closed_curve(coefficients, device), _map(coefficients, device)
    size = boundary * math.ceil(max(2.0, len(angles.nodes) / boundary))
    t = torch.arange(size, dtype=torch.float64, device=device) * (2 * torch.pi / size)
    g = finer(torch.eye(boundary, dtype=torch.float64, device=device) - 1 / boundary, size)
    wave = torch.fft.fftfreq(size, 1 / size, dtype=torch.float64, device=device)
    spectrum = torch.fft.fft(g)
    unit = curve.perimeter / (2 * torch.pi)
    over = torch.where(wave == 0, 0.0, unit / torch.where(wave == 0, 1.0, wave))
    rest = torch.log(_half_sine(angles.angle(t)) / _half_sine(t))
    rest.diagonal().copy_(angles.slope(t).log())
    phi = torch.fft.ifft(spectrum * over.abs()).real - (2 * unit / size) * (g @ rest)
    psi = torch.fft.ifft(-1j * spectrum * over).real
    phi = phi - phi[:, :: size // boundary].mean(-1, keepdim=True)
    along = torch.fft.ifft(1j * wave * torch.fft.fft(phi)).real
    weights = curve.place(t, 1)
    return _Harmonic(
        curve.place(t), weights, torch.complex(phi, psi), torch.complex(along, unit * g) / weights
    )


def _half_sine(angle: Float64[Tensor, "nodes"]) -> Float64[Tensor, "nodes nodes"]:
    """|sin| of half the differences; 1 on the diagonal."""
    found: Tensor = torch.sin((angle[:, None] - angle) / 2).abs()
    found.diagonal().fill_(1.0)
    return found


def _times(
    real: Float64[Tensor, "*batch rows"], matrix: Complex128[Tensor, "rows columns"]
) -> Complex128[Tensor, "*batch columns"]:
    """The product of real values and a complex matrix."""
    return torch.complex(real @ matrix.real, real @ matrix.imag)
