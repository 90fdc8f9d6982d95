"""Quadratic elements with curved sides: their matrices, and those of contacts on the boundary.

Positions x and potentials u are the same quadratic functions of the reference triangle (ξ, η). With the metric

    C = |J| J⁻¹ J⁻ᵀ = (x_η·x_η, -x_ξ·x_η, x_ξ·x_ξ) / |J|

the matrix of an element is Σ_q σ_q (C_q : R_q) over the points of a rule that is exact to degree 4, R_q = w_q ∇N ∇Nᵀ
being the same for all elements: one matrix product for all of them and all bodies.

A contact of impedance z under an edge adds (1/z) ∫ (u - U)² ds: with n = (N_0, N_1, N_middle, -1) the matrix
(1/z) ∫ n nᵀ ds on the three nodes of the edge and the potential U of the metal.
"""

from functools import lru_cache

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

Positions = Float64[Tensor, "batch nodes 2"]
Pair = tuple[Float64[Tensor, "batch triangles points"], Float64[Tensor, "batch triangles points"]]

# Strang, Fix (1973), exact to degree 4: two orbits of three points each.
_NEAR, _FAR = (0.445948490915965, 0.223381589678011), (0.091576213509771, 0.109951743655322)
# Gauss, exact to degree 7.
_GAUSS = ((0.861136311594053, 0.347854845137454), (0.339981043584856, 0.652145154862546))


def points() -> tuple[Float64[Tensor, "points 3"], Float64[Tensor, "points"]]:
    """Barycentric coordinates and weights (their sum is the area ½) of the rule on the reference triangle."""
    places, weights = [], []
    for a, w in (_NEAR, _FAR):
        for k in range(3):
            places.append([a if j != k else 1 - 2 * a for j in range(3)])
            weights.append(w / 2)
    return torch.tensor(places, dtype=torch.float64), torch.tensor(weights, dtype=torch.float64)


def shapes(barycentric: Float64[Tensor, "points 3"]) -> Float64[Tensor, "points 6"]:
    """The six functions at points of the reference triangle."""
    a, b, c = barycentric.unbind(-1)
    corners = [x * (2 * x - 1) for x in (a, b, c)]
    return torch.stack([*corners, 4 * a * b, 4 * b * c, 4 * c * a], -1)


def slopes(barycentric: Float64[Tensor, "points 3"]) -> Float64[Tensor, "2 points 6"]:
    """The derivatives of the shape functions in ξ = λ₁ and η = λ₂."""
    a, b, c = barycentric.unbind(-1)
    zero = torch.zeros_like(a)
    xi = [1 - 4 * a, 4 * b - 1, zero, 4 * (a - b), 4 * c, -4 * c]
    eta = [1 - 4 * a, zero, 4 * c - 1, -4 * b, 4 * b, 4 * (a - c)]
    return torch.stack([torch.stack(xi, -1), torch.stack(eta, -1)])


def metric(
    positions: Positions, triangles: Int64[Tensor, "triangles 6"]
) -> Float64[Tensor, "batch triangles points 3"]:
    """The metric C at the points of the rule."""
    (a, b), (c, d) = tangents(positions, triangles)
    parts = torch.stack([c * c + d * d, -(a * c + b * d), a * a + b * b], -1)
    return parts / (a * d - b * c)[..., None]


def tangents(positions: Positions, triangles: Int64[Tensor, "triangles 6"]) -> tuple[Pair, Pair]:
    """The derivatives x_ξ and x_η at the points of the rule, by components."""
    found = positions.mT[:, :, triangles] @ _table(positions.device).slopes.flatten(0, 1).mT
    (a, c), (b, d) = (part.chunk(2, -1) for part in found.unbind(1))
    return (a, b), (c, d)


def at_points(
    values: Positions, triangles: Int64[Tensor, "triangles 6"]
) -> Float64[Tensor, "batch triangles points 2"]:
    """Positions of the points of the rule."""
    found = values.mT[:, :, triangles] @ _table(values.device).shapes.mT
    return torch.stack(found.unbind(1), -1)


def stiffness(metrics: Float64[Tensor, "batch triangles points 3"]) -> Float64[Tensor, "batch entries"]:
    """The entries of all elements' matrices for metrics times conductivities."""
    rule = _table(metrics.device).products
    return (metrics.flatten(2) @ rule).flatten(1)


def contact(
    positions: Positions, edges: Int64[Tensor, "edges 3"], admittance: Float64[Tensor, "_ edges"]
) -> Float64[Tensor, "batch entries"]:
    """The entries of all contacts' matrices on (first, last, middle, metal), admittance 1/z each."""
    n, speed = _contact_points(positions, edges)
    products = n[:, :, None] * n[:, None, :]
    return ((speed * admittance[..., None]) @ products.flatten(1)).flatten(1)


def jumps(
    positions: Positions,
    contacts: Int64[Tensor, "contacts 4"],
    fields: Float64[Tensor, "unknowns fields"],
) -> Float64[Tensor, "contacts points fields"]:
    """Jumps u - U at the points of each contact times the roots of their weights: products of two are integrals."""
    n, speed = _contact_points(positions, contacts[:, :3])
    return (n @ fields[contacts]) * speed[0, ..., None].sqrt()


def _contact_points(positions: Positions, edges: Int64[Tensor, "edges 3"]) -> tuple[Tensor, Tensor]:
    """The four functions of a contact at its points, and the lengths that these stand for."""
    place, weight = _gauss(positions.device)
    corners = positions[:, edges]
    speed = (_line_slopes(place) @ corners).square().sum(-1).clamp(min=1e-300).sqrt()
    return torch.cat([line(place), -torch.ones_like(place)[:, None]], 1), speed * weight


def line(t: Float64[Tensor, "points"]) -> Float64[Tensor, "points 3"]:
    """The quadratic functions of first, last and middle node of an edge, t from -1 at the first to 1 at the last."""
    return torch.stack([t * (t - 1) / 2, t * (t + 1) / 2, 1 - t * t], -1)


def _line_slopes(t: Float64[Tensor, "points"]) -> Float64[Tensor, "points 3"]:
    return torch.stack([t - 0.5, t + 0.5, -2 * t], -1)


class _Table:
    """The values that are the same for all elements."""

    def __init__(self, device: torch.device) -> None:
        places, weights = points()
        self.shapes = shapes(places).to(device)
        self.slopes = slopes(places).to(device)
        xi, eta = self.slopes
        self.weights = weights.to(device)
        w = self.weights[:, None, None]
        both = xi[:, :, None] * eta[:, None, :]
        products = [xi[:, :, None] * xi[:, None, :], both + both.mT, eta[:, :, None] * eta[:, None, :]]
        self.products = (w[:, None] * torch.stack(products, 1)).flatten(2).flatten(0, 1)


@lru_cache(maxsize=4)
def _table(device: torch.device) -> _Table:
    with torch.inference_mode(False), torch.no_grad():
        return _Table(device)


def _gauss(device: torch.device) -> tuple[Tensor, Tensor]:
    both = [(-t, w) for t, w in _GAUSS] + [(t, w) for t, w in reversed(_GAUSS)]
    place, weight = torch.tensor(both, dtype=torch.float64, device=device).unbind(-1)
    return place, weight


def gradients(
    positions: Float64[Tensor, "one nodes 2"],
    triangles: Int64[Tensor, "triangles 6"],
    fields: Float64[Tensor, "unknowns fields"],
) -> Float64[Tensor, "triangles points 2 fields"]:
    """∇u at the points of the rule times the roots of their weights: products of two are integrals."""
    ((a, b), (c, d)), table = tangents(positions, triangles), _table(positions.device)
    xi, eta = (slope @ fields[triangles] for slope in table.slopes)
    a, b, c, d = (part[0, ..., None] for part in (a, b, c, d))
    area = a * d - b * c
    return (
        torch.stack([d * xi - b * eta, a * eta - c * xi], 2)
        * (table.weights[:, None] / area).sqrt()[:, :, None]
    )
