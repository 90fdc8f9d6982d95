"""Conductivities that finite elements can be given, as their values at the points of each triangle's rule.

A phantom comes with a mesh of its own, fitted to its interfaces. Values on triangles, vertices or nodes of the mesh, or
on the grid of the body (an image), are interpolated: linear maps from the given numbers to σ at the points, which the
Jacobian uses the other way round.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.elements.body import ElementBody
from eitlens.forward.elements.interfaces import MeshFrame, fit
from eitlens.forward.elements.quadratic import at_points, points, shapes
from eitlens.forward.grid import Field
from eitlens.phantom import Phantom, PhantomBatch, Phantoms, as_batch, check_inside


@dataclass(frozen=True)
class MeshField:
    """A conductivity by its values on the triangles, vertices or nodes of a solver's mesh, in a body of `outside`.

    What the values are on is known by their number; those of several bodies have a dimension more in front. A tensor
    alone means the same with 1 outside.

    >>> solver = eit.ElementSolver(eit.Disk(8))
    >>> uniform = torch.ones(len(solver.body.mesh.triangles), dtype=torch.float64)
    >>> currents = eit.currents.cosine(solver.domain, 1)
    >>> float(solver.difference(eit.MeshField(uniform), currents).abs().max())
    0.0
    """

    values: Float64[Tensor, "*values"]
    outside: float | Float64[Tensor, "batch"] = 1.0


ElementConductivity = Phantoms | Float64[Tensor, "*values"] | Field | MeshField


@dataclass(frozen=True)
class Interpolation:
    """σ at the points as a weighted sum of given numbers."""

    index: Int64[Tensor, "triangles points terms"]
    weight: Float64[Tensor, "triangles points terms"]
    count: int

    def __call__(self, values: Float64[Tensor, "batch count"]) -> Float64[Tensor, "batch triangles points"]:
        """σ at the points."""
        return (values[:, self.index] * self.weight).sum(-1)

    def to(self, device: torch.device) -> "Interpolation":
        """The same on a device."""
        return Interpolation(self.index.to(device), self.weight.to(device), self.count)

    def transposed(
        self, values: Float64[Tensor, "*batch triangles points"]
    ) -> Float64[Tensor, "*batch count"]:
        """The sums of products with the weights: derivatives in σ at the points as those in the numbers."""
        parts = (values[..., None] * self.weight).flatten(-3)
        return parts.new_zeros(*parts.shape[:-1], self.count).index_add(-1, self.index.flatten(), parts)


class Conductivities(NamedTuple):
    """A batch of conductivities: phantoms, or numbers with their interpolation; and the shape of the batch."""

    phantoms: PhantomBatch | None
    values: Float64[Tensor, "batch count"]
    interpolation: Interpolation | None
    outside: Float64[Tensor, "batch"]
    shape: tuple[int, ...]

    def part(self, rows: slice) -> "Conductivities":
        """Some of the batch."""
        some = self.phantoms[rows] if self.phantoms else None
        return self._replace(phantoms=some, values=self.values[rows], outside=self.outside[rows])

    def at_points(self, frame: MeshFrame) -> tuple[Tensor, Float64[Tensor, "batch triangles points"]]:
        """The positions of all nodes, for all bodies or for each, and σ at the points of the rule."""
        if self.interpolation is not None:
            return frame.positions(frame.vertices[None]), self.interpolation(self.values)
        assert self.phantoms is not None
        positions = fit(frame, self.phantoms)
        places = at_points(positions.detach(), frame.triangles)
        sigma = self.phantoms.conductivity(places.flatten(1, 2))
        return positions, sigma.view(places.shape[:3])


def read(
    domain: Domain, body: ElementBody, given: ElementConductivity, device: torch.device
) -> Conductivities:
    """Check a conductivity and put it on the device."""
    if isinstance(given, Tensor) or hasattr(given, "__array__"):
        given = MeshField(checks.physics(given, "conductivity"))
    if isinstance(given, Field | MeshField):
        values = checks.physics(given.values, "conductivity").to(device)
        checks.positive(values.detach(), "conductivity")
        found, rank = interpolation(domain, body, tuple(values.shape))
        shape = tuple(values.shape[: values.ndim - rank])
        outside = torch.as_tensor(given.outside, dtype=torch.float64, device=device)
        checks.positive(outside.detach(), "outside")
        if tuple(outside.shape) not in ((), shape):
            raise InputError(
                f"outside: expected one number, or {shape} for a batch, got {tuple(outside.shape)}"
            )
        rows = values.reshape(-1, found.count)
        return Conductivities(None, rows, found.to(device), outside.expand(shape).reshape(-1), shape)
    batch = as_batch(given, device)
    check_inside(domain, batch)
    none = batch.outside.new_zeros(len(batch), 0)
    return Conductivities(
        batch, none, None, batch.outside, () if isinstance(given, Phantom) else (len(batch),)
    )


def interpolation(domain: Domain, body: ElementBody, shape: tuple[int, ...]) -> tuple[Interpolation, int]:
    """The meaning of values of this shape, by their number, and how many of their dimensions one body has."""
    triangles, n = body.frame.triangles, domain.shape[0] - 1
    counts = {len(triangles): "triangles", len(body.frame.fixed): "vertices", body.mesh.nodes: "nodes"}
    if len(shape) > 1 and shape[-2:] in ((n, n), (n + 1, n + 1)):
        return _on_grid(domain, body, shape[-1] == n), 2
    if not shape or shape[-1] not in counts:
        known = ", ".join(f"{count} {name}" for count, name in counts.items())
        raise InputError(
            f"conductivity: expected values on {known}, {n} × {n} cells or {n + 1} × {n + 1} grid nodes of the body, "
            f"got shape {shape}"
        )
    places, _ = points()
    if shape[-1] == len(triangles):
        index = torch.arange(len(triangles))[:, None, None].expand(-1, len(places), 1)
        return Interpolation(index, torch.ones(index.shape, dtype=torch.float64), shape[-1]), 1
    weight = places if shape[-1] == len(body.frame.fixed) else shapes(places)
    index = triangles[:, None, : weight.shape[1]].expand(-1, len(places), -1)
    return Interpolation(index, weight.expand(len(triangles), -1, -1), shape[-1]), 1


def _on_grid(domain: Domain, body: ElementBody, cells: bool) -> Interpolation:
    """From an image: the cell a point lies in, or bilinear between four grid nodes."""
    positions = body.frame.positions(body.frame.vertices[None])
    grid, n = domain.nodes(), domain.shape[0] - 1
    at = (at_points(positions, body.frame.triangles)[0] - grid[0, 0]) / (grid[1, 1] - grid[0, 0])
    low = at.floor().clamp(0, n - 1)
    i, j = low.long().unbind(-1)
    if cells:
        return Interpolation((i * n + j)[..., None], torch.ones_like(at[..., :1]), n * n)
    (x, y), size = (at - low).unbind(-1), n + 1
    index = torch.stack([i * size + j, (i + 1) * size + j, i * size + j + 1, (i + 1) * size + j + 1], -1)
    return Interpolation(
        index, torch.stack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], -1), size**2
    )
