"""Conductivities that the grid solver can be given, and their elements on the grid."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any
from warnings import warn

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.cancellation import check_wanted
from eitlens.domain import Square
from eitlens.errors import InputError, InputWarning
from eitlens.forward.grid.cells import Cell, Cells, uniform_cells
from eitlens.forward.grid.interfaces import Crossing, EdgeIndex, EdgeValue, Kinks, Nodal, fit, no_kinks
from eitlens.phantom import Phantom, PhantomBatch, Phantoms, as_batch, check_inside
from eitlens.phantom.batch import ShapeGroup
from eitlens.phantom.raster import factor as nodal_factor
from eitlens.phantom.raster import materials as nodal_materials

_BISECTIONS = 44  # a crossing is then known to 3e-14 of an edge, which is rounding

Value = float | Float64[Tensor, "*batch"]


class GridConductivity(ABC):
    """A conductivity of a body; as the solver takes it, a batch of them."""

    outside: Value
    """The conductivity of the body without inclusions."""

    @abstractmethod
    def elements(self, square: Square) -> tuple[Cells, Kinks]:
        """The elements of a batch on the grid, relative to the conductivity outside."""


@dataclass(frozen=True)
class Field(GridConductivity):
    """A conductivity given at the (n+1)² nodes or in the n² cells, of a body that is `outside` for f0.

    Each cell has one conductivity, the given one or the mean of its four corners: second order for smooth σ.
    A sharp inclusion drawn on the grid loses an order; that is what Phantom and LevelSet are for.
    Differentiable in both.

    >>> square = eit.Square(32)
    >>> smooth = eit.Field(3 - square.nodes().square().sum(-1))
    >>> eit.GridSolver(square).difference(smooth, eit.currents.cosine(square, 1)).shape
    torch.Size([1, 128])
    """

    values: Float64[Tensor, "*batch nx ny"]
    outside: Value = 1.0

    def elements(self, square: Square) -> tuple[Cells, Kinks]:
        """Cells of one conductivity each, and no kinks."""
        sigma = self.values / torch.as_tensor(self.outside)[:, None, None]
        if sigma.shape[-1] == square.n + 1:
            sigma = corner_mean(sigma)
        return uniform_cells(sigma, everywhere=sigma.requires_grad), no_kinks(len(sigma), sigma.device)


@dataclass(frozen=True)
class LevelSet(GridConductivity):
    """A conductivity: `inside` where the level set, given at the nodes, is negative, and `outside` elsewhere.

    The interface crosses an edge where the linear interpolant vanishes. Differentiable in all three.

    >>> square = eit.Square(32)
    >>> disk = eit.LevelSet(square.nodes().norm(dim=-1) - 0.5)
    >>> eit.GridSolver(square).difference(disk, eit.currents.cosine(square, 1)).shape
    torch.Size([1, 128])
    """

    values: Float64[Tensor, "*batch nx ny"]
    inside: Value = 10.0
    outside: Value = 1.0

    def elements(self, square: Square) -> tuple[Cells, Kinks]:
        """Elements fitted to where the level set is zero."""
        within, ratio = self.values < 0, torch.as_tensor(self.inside) / torch.as_tensor(self.outside)
        sigma = torch.where(within, ratio[:, None, None], 1.0)
        return fit(within.to(torch.float64) + 1, sigma, self._interpolation)

    def _interpolation(self, u: EdgeIndex, v: EdgeIndex) -> EdgeValue:
        values = self.values.flatten(1)
        at_u, at_v = values.gather(1, u), values.gather(1, v)
        return at_u / torch.where(u == v, 1.0, at_u - at_v)


Conductivity = Phantoms | Float64[Tensor, "*batch nx ny"] | Field | LevelSet


@dataclass(frozen=True)
class _PhantomConductivity(GridConductivity):
    batch: PhantomBatch
    outside: Float64[Tensor, "batch"]

    def elements(self, square: Square) -> tuple[Cells, Kinks]:
        sigma = nodal_materials(square, self.batch)
        relative = sigma / self.outside[:, None, None]
        crossing = bisection(square, self.batch, sigma.flatten(1))
        medium = self.batch.medium
        if medium is None or not bool(medium.textured.any()):
            return fit(relative.detach(), relative, crossing)
        factor = nodal_factor(square, medium)
        cells, kinks = fit(relative.detach(), relative * factor, crossing)
        return _varied(cells, relative, relative * factor), kinks


def _varied(cells: Cells, label: Nodal, sigma: Nodal) -> Cells:
    """Cells that no interface cuts with the mean conductivity of their corners: second order where σ is smooth."""
    mean, first = corner_mean(sigma), label[:, :-1, :-1]
    whole = (label[:, 1:, :-1] == first) & (label[:, :-1, 1:] == first) & (label[:, 1:, 1:] == first)
    lower, upper, saddle = (torch.where(whole, mean - 1, part) for part in cells[:3])
    return Cells(lower, upper, saddle, cells.active | (mean != 1))


def corner_mean(values: Nodal) -> Cell:
    """The mean of the four corners of each cell."""
    return (values[:, :-1, :-1] + values[:, 1:, :-1] + values[:, :-1, 1:] + values[:, 1:, 1:]) / 4


def bisection(square: Square, phantoms: PhantomBatch, sigma: Float64[Tensor, "batch nodes"]) -> Crossing:
    """Halve an edge until the point where σ ceases to be that of node u is known to rounding."""
    points = square.nodes(sigma.device).flatten(0, 1)

    @torch.no_grad()
    def crossing(u: EdgeIndex, v: EdgeIndex) -> EdgeValue:
        start, here = points[u], sigma.gather(1, u)
        edge, low = points[v] - start, torch.zeros_like(here)
        for k in range(1, _BISECTIONS + 1):
            check_wanted()
            trial = low + 0.5**k
            same = phantoms.materials(start + trial[..., None] * edge) == here
            low = torch.where(same, trial, low)
        return low + 0.5 ** (_BISECTIONS + 1)

    return crossing


def as_grid_conductivity(
    square: Square, conductivity: Conductivity, device: torch.device
) -> tuple[GridConductivity, tuple[int, ...]]:
    """Check a conductivity and put it on the device: a batch, and the shape of the batch, () for one."""
    if isinstance(conductivity, Tensor) or hasattr(conductivity, "__array__"):
        conductivity = Field(checks.real(conductivity, "conductivity"))
    if isinstance(conductivity, Field | LevelSet):
        values = _grid_values(square, conductivity).to(device)
        shape = tuple(values.shape[:-2])
        names = [part.name for part in fields(conductivity) if part.name != "values"]
        numbers: dict[str, Any] = {
            name: _one_each(getattr(conductivity, name), shape, device, name) for name in names
        }
        return replace(conductivity, values=values.reshape(-1, *values.shape[-2:]), **numbers), shape
    batch = as_batch(conductivity, device)
    check_inside(square, batch)
    for group in batch.groups:
        if bool((group.present & ((group.inside == 0) | torch.isinf(group.inside))).any()):
            raise InputError("GridSolver needs conductivities between 0 and ∞: use BoundaryIntegralSolver")
        _warn_of_thin(square, group)
    return _PhantomConductivity(batch, batch.outside), () if isinstance(conductivity, Phantom) else (
        len(batch),
    )


def _warn_of_thin(square: Square, group: ShapeGroup) -> None:
    """Warn of shapes that lie between the nodes, or nearly: area over the longer side of the box is below a cell."""
    rows = group.parameters.detach()
    low, high = torch.split(group.kind.bounds(rows), 2, -1)
    width = torch.where(group.present, group.kind.area(rows).abs() / (high - low).amax(-1), torch.inf)
    if bool((width < square.h).any()):
        warn(
            f"GridSolver: {int((width < square.h).sum())} shapes are thinner than a cell, {float(width.min()):.2g} of "
            f"{square.h:.2g}, and hardly seen or lost: use a finer Square or BoundaryIntegralSolver",
            InputWarning,
            stacklevel=2,
        )


def _grid_values(square: Square, given: Field | LevelSet) -> Float64[Tensor, "*batch nx ny"]:
    n, cells = square.n, isinstance(given, Field)
    name, expected = ("conductivity", f" or ({n}, {n}) cells") if cells else ("level set", "")
    values = checks.physics(given.values, name)
    if tuple(values.shape[-2:]) not in [(n + 1, n + 1), (n, n)][: 1 + cells]:
        expected = f"({n + 1}, {n + 1}) nodes{expected}"
        raise InputError(
            f"{name}: expected values on {expected}, got {tuple(values.shape)}: is it for another grid?"
        )
    (checks.positive if cells else checks.finite)(values.detach(), name)
    return values


def _one_each(
    value: Value, shape: tuple[int, ...], device: torch.device, name: str
) -> Float64[Tensor, "batch"]:
    """A positive number for every sample."""
    tensor = torch.as_tensor(value, dtype=torch.float64, device=device)
    checks.positive(tensor.detach(), name)
    if tuple(tensor.shape) not in ((), shape):
        raise InputError(f"{name}: expected one number, or {shape} for a batch, got {tuple(tensor.shape)}")
    return tensor.expand(shape).reshape(-1)
