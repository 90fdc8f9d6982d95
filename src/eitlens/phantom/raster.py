"""Phantoms on the grid of a domain: indicator, level set, conductivity and area fractions."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.memory import chunk_size
from eitlens.phantom.base import Shape
from eitlens.phantom.batch import PhantomBatch, ShapeGroup, as_batch
from eitlens.phantom.medium import WAVES, Medium, field
from eitlens.phantom.phantom import Phantom

Phantoms = Phantom | Sequence[Phantom] | PhantomBatch
_OUTLINE = 64  # points: those of an ellipse miss its extremes by 0.1 % of an axis, which its bounds make good
_AT_ONCE = 64  # shapes whose nodes are looked at together: about what a CPU's cache holds
CLASS_BOUND = math.log(2) / 2
"""Of |log σ/σ0|, beyond which a node is resistive or conductive: half of that of the weakest inclusions, 2 and ½."""
_TOUCHING = 1e-9  # of the half side: what rounding leaves between a shape and the boundary it touches


def level_set(domain: Domain, phantoms: Phantoms) -> Float64[Tensor, "*batch nx ny"]:
    """The level set of the union at the nodes: negative inside."""
    return _on_nodes(domain, phantoms, PhantomBatch.level_set)


def conductivity(domain: Domain, phantoms: Phantoms) -> Float64[Tensor, "*batch nx ny"]:
    """σ at the nodes."""
    return _on_nodes(domain, phantoms, PhantomBatch.conductivity)


def materials(domain: Domain, phantoms: Phantoms) -> Float64[Tensor, "*batch nx ny"]:
    """σ at the nodes without its smooth factor."""
    return _on_nodes(domain, phantoms, PhantomBatch.materials)


def factor(domain: Domain, medium: Medium) -> Float64[Tensor, "batch nx ny"]:
    """The smooth factor of σ at the nodes."""
    points = domain.nodes(medium.texture.device).flatten(0, 1)[None]
    values = torch.cat([field(part, points) for part in torch.split(medium.texture, _AT_ONCE)]).exp()
    return torch.unflatten(values, -1, domain.shape)


def classes(log_sigma: Float[Tensor, "*any"]) -> Int64[Tensor, "*any"]:
    """The class of a node by its log σ/σ0: 0 background, 1 resistive, 2 conductive.

    >>> classes(torch.tensor([0.5, 1.0, 1.2, 2.0]).log()).tolist()
    [1, 0, 0, 2]
    """
    return (log_sigma < -CLASS_BOUND) + 2 * (log_sigma > CLASS_BOUND)


def indicator(domain: Domain, phantoms: Phantoms) -> Bool[Tensor, "*batch nx ny"]:
    """The target of the paper: whether each node lies in the inclusion D.

    >>> int(eit.indicator(eit.Square(20), eit.Phantom([eit.circle((0.0, 0.0), 0.15)])).sum())
    9
    """
    batch = as_batch(phantoms)
    found = torch.zeros(len(batch), *domain.shape, dtype=torch.bool, device=batch.device)
    for group in batch.groups:
        number, slot = torch.nonzero(group.present).unbind(1)
        rows = group.parameters[number, slot]
        # Of no shapes there would be one empty part.
        for part in torch.split(torch.arange(len(rows), device=rows.device), _AT_ONCE) if len(rows) else ():
            _mark(found, domain.nodes(batch.device), group.kind, number[part], rows[part])
    return found[0] if isinstance(phantoms, Phantom) else found


def _mark(
    found: Bool[Tensor, "batch nx ny"],
    nodes: Float64[Tensor, "nx ny 2"],
    kind: type[Shape],
    number: Int64[Tensor, "shapes"],
    rows: Float64[Tensor, "shapes parameters"],
) -> None:
    """Mark the nodes inside some shapes, each of the phantom with its number; only those in its box are looked at."""
    box, step, most = (
        kind.bounds(rows.detach()),
        nodes[1, 1] - nodes[0, 0],
        nodes.new_tensor(nodes.shape[:2]) - 1,
    )
    low, high = ((side - nodes[0, 0]) / step for side in (box[:, :2], box[:, 2:]))
    first = torch.minimum((low.floor() - 1).clamp(min=0), most).long()
    last = torch.minimum((high.ceil() + 1).clamp(min=0), most).long()
    i, j = (
        torch.minimum(first[:, a, None] + torch.arange(size, device=rows.device), last[:, a, None])
        for a, size in enumerate(((last - first).amax(0) + 1).tolist())
    )
    points = nodes[i[:, :, None], j[:, None, :]].flatten(1, 2)
    inside = kind.level_set(rows, points) < 0
    place = (number[:, None, None] * found.shape[1] + i[:, :, None]) * found.shape[2] + j[:, None, :]
    found.view(-1)[place.flatten(1)[inside]] = True


def area_fraction(
    domain: Domain, phantoms: Phantoms, subsamples: int = 16
) -> Float64[Tensor, "*batch cx cy"]:
    """The part of each cell that the inclusion covers, by midpoints of `subsamples`² parts of each cut cell.

    A cell counts as cut when it or a neighbour has corners on both sides. The total area is that of a grid of
    mesh size h / `subsamples` and converges like its power 3/2: to about 1e-5 of the area at 200 cells and the
    default.

    >>> covered = eit.area_fraction(eit.Square(32), eit.Phantom([eit.circle((0.0, 0.0), 0.5)]))
    >>> round(float(covered.mean()), 3)  # π/16 of the body
    0.196
    """
    batch = as_batch(phantoms)
    fractions = torch.stack([_fractions(domain, batch[k : k + 1], subsamples) for k in range(len(batch))])
    return fractions[0] if isinstance(phantoms, Phantom) else fractions


def check_inside(domain: Domain, batch: PhantomBatch) -> None:
    """Refuse a phantom that is not wholly inside the body."""
    for group in batch.groups:
        clearance = room(domain, group)
        for k, slot in torch.nonzero(clearance <= 0)[:1].tolist():
            shape = group.kind.unpack(group.parameters[k, slot].detach().cpu())
            raise InputError(f"phantom {k}: {shape} {_excess(-float(clearance[k, slot]))}: move or shrink it")


def room(domain: Domain, group: ShapeGroup) -> Float64[Tensor, "batch slots"]:
    """The distance of each shape from the boundary of the body: negative beyond it, +∞ for an absent shape."""
    outline, bounds = group.kind.outline(group.parameters, _OUTLINE), group.kind.bounds(group.parameters)
    return torch.where(group.present, domain.room(outline, bounds), torch.inf)


def _excess(beyond: float) -> str:
    """The words for a shape that is not inside; what rounding may have added is no excess."""
    return f"reaches {beyond:.3g} beyond the boundary" if beyond > _TOUCHING else "touches the boundary"


def _on_nodes(
    domain: Domain, phantoms: Phantoms, function: Callable[[PhantomBatch, Tensor], Tensor]
) -> Tensor:
    batch = as_batch(phantoms)
    points = domain.nodes(batch.device).flatten(0, 1)[None]
    values = torch.cat([function(part, points) for part in _chunks(batch, points.shape[1])])
    field = torch.unflatten(values, -1, domain.shape)
    return field[0] if isinstance(phantoms, Phantom) else field


def _chunks(batch: PhantomBatch, points: int) -> Iterator[PhantomBatch]:
    """Parts of the batch whose level sets at the points fit the cache of a CPU (8 MB) or the memory of a GPU."""
    values = points * (1 + sum(g.present.shape[1] for g in batch.groups) + WAVES * (batch.medium is not None))
    size = max(1, 2**20 // values) if batch.device.type == "cpu" else chunk_size(64 * values, batch.device)
    return (batch[k : k + size] for k in range(0, len(batch), size))


def _fractions(domain: Domain, one: PhantomBatch, subsamples: int) -> Float64[Tensor, "cx cy"]:
    nodes = domain.nodes(one.device)
    inside = torch.unflatten(one.level_set(nodes.flatten(0, 1)[None])[0] < 0, -1, domain.shape).double()
    corners = torch.stack([inside[:-1, :-1], inside[1:, :-1], inside[:-1, 1:], inside[1:, 1:]])
    fraction = corners.mean(0)
    mixed = (corners.amin(0) != corners.amax(0)).double()
    near = torch.nn.functional.max_pool2d(mixed[None], 3, stride=1, padding=1)[0] > 0
    low, size = nodes[:-1, :-1][near], nodes[1, 1] - nodes[0, 0]
    part = (torch.arange(subsamples, dtype=torch.float64, device=one.device) + 0.5) / subsamples
    offsets = torch.stack(torch.meshgrid(part, part, indexing="ij"), -1).flatten(0, 1) * size
    points = (low[:, None] + offsets).flatten(0, 1)[None]
    covered = torch.unflatten(one.level_set(points)[0] < 0, 0, (-1, subsamples**2))
    fraction[near] = covered.double().mean(-1)
    return fraction
