"""Outlines of smooth inclusions as curves in the unit disk, and how many nodes they need."""

import math
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

import torch
from jaxtyping import Bool, Complex128, Float64, Int64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.memory import chunk_size
from eitlens.phantom import Curve, PhantomBatch, check_inside

# Nodes an outline from which distances are seen: the fine ones where 64 cannot tell near from touching.
_COARSE, _FINE = 64, 256
_STEP = 16  # node counts are multiples of this: phantoms of equal counts are solved in one batch
# The boundary's sources disturb as if they were at this part of their distance: measured for the roughest currents.
_WALL = 0.85


class Outlines(NamedTuple):
    """Outlines of each phantom, end to end, as image curves Z(t) = ζ(z(t)) in the unit disk."""

    point: Complex128[Tensor, "batch unknowns"]
    first: Complex128[Tensor, "batch unknowns"]
    second: Complex128[Tensor, "batch unknowns"]
    present: Bool[Tensor, "batch unknowns"]
    contrast: Float64[Tensor, "batch unknowns"]
    """2 (σ_in - σ_out) / (σ_in + σ_out), between -2 and 2; 0 in an absent slot."""
    outside: Float64[Tensor, "batch"]
    nodes: int
    """Nodes of each outline."""


def outlines(domain: Domain, batch: PhantomBatch, count: int) -> Outlines:
    """Map `count` nodes of each outline to the disk: Z' = ζ' z', Z'' = ζ'' z'² + ζ' z''."""
    curve, present, inside = smooth_curves(batch, count)
    used = present[..., None, None]
    # An absent slot holds whatever is finite.
    image = domain.conformal_map(torch.where(used, curve.point, 0.0))
    dz = torch.view_as_complex(torch.where(used, curve.first, 1.0))
    ddz = torch.view_as_complex(torch.where(used, curve.second, 0.0))
    return Outlines(
        image.value.flatten(1),
        (image.first * dz).flatten(1),
        (image.second * dz**2 + image.first * ddz).flatten(1),
        present.repeat_interleave(count, 1),
        _contrast(inside, batch.outside[:, None], present).repeat_interleave(count, 1),
        batch.outside,
        count,
    )


def gathered(curves: Outlines) -> Outlines:
    """The same with the outlines that are present in front, and only as many as the phantom with the most has."""
    present = curves.present[:, :: curves.nodes]
    if bool(present.all()):
        return curves
    most = max(1, int(present.sum(1).max()))
    slot = _order(present)[:, :most, None] * curves.nodes
    index = (slot + torch.arange(curves.nodes, device=slot.device)).flatten(1)
    point, first, second, there, contrast = (part.gather(1, index) for part in curves[:5])
    return Outlines(point, first, second, there, contrast, curves.outside, curves.nodes)


def _order(present: Bool[Tensor, "batch slots"]) -> Int64[Tensor, "batch slots"]:
    """The slots, those in use first; as they are where all are."""
    return torch.argsort(~present, dim=1, stable=True)


def _contrast(inside: Tensor, outside: Tensor, present: Tensor) -> Float64[Tensor, "batch slots"]:
    """2 (σ_in - σ_out) / (σ_in + σ_out), which is 2 for a perfect conductor, σ_in = ∞; 0 in an absent slot."""
    perfect = torch.isinf(inside)
    finite = torch.where(perfect, 1.0, inside)
    contrast = torch.where(perfect, 2.0, 2 * (finite - outside) / (finite + outside))
    return torch.where(present, contrast, 0.0)


@torch.no_grad()
def needed_nodes(domain: Domain, batch: PhantomBatch, tolerance: float) -> Int64[Tensor, "batch"]:
    """Count the nodes an outline for a relative error of about `tolerance`, as a multiple of 16.

    The trapezoid rule on a curve errs by exp(-count · reach) with reach = distance / |z'| for a singularity
    at that distance: another outline, the sources on the boundary (measured: 0.85 of the distance, for the
    roughest currents), or the curve's own focus. The reach is seen from nodes 2π/64 apart in the curve's
    parameter, and from finer ones where it is shorter than that. Outlines that overlap, touch or nearly touch
    are an error, as the integral equation does not hold for them or would need too many nodes.
    """
    _check_apart(batch)
    reach = _reach(domain, batch, _COARSE)
    unclear = torch.nonzero((reach < 2 * torch.pi / _COARSE).any(-1)).flatten()
    if len(unclear):
        reach[unclear] = _reach(domain, batch[unclear], _FINE)
    _check_reach(batch, reach)
    return node_count(reach.amin(-1), tolerance)


def node_count(reach: Float64[Tensor, "batch"], tolerance: float) -> Int64[Tensor, "batch"]:
    """The multiple of 16, at least 32, with exp(-count · reach) below the tolerance."""
    count = math.log(1 / tolerance) / reach
    return (_STEP * torch.ceil(count / _STEP)).to(torch.int64).clamp(min=2 * _STEP)


def own_reach(
    domain: Domain,
    curve: Curve,
    speed: Float64[Tensor, "batch slots nodes"],
    alone: Float64[Tensor, "batch slots"],
) -> Float64[Tensor, "batch slots"]:
    """The smallest distance / |z'| from each outline to the boundary, or the reach that it has `alone`."""
    return torch.minimum((_WALL * domain.clearance(curve.point) / speed).amin(-1), alone)


def smooth_curves(
    batch: PhantomBatch, count: int
) -> tuple[Curve, Bool[Tensor, "batch slots"], Float64[Tensor, "batch slots"]]:
    """The outlines, which slots are in use, and the conductivity inside each."""
    parts = [group.kind.curve(group.parameters, count) for group in batch.groups]
    curve = Curve(*(torch.cat(part, 1) for part in zip(*parts, strict=True)))
    return curve, _all(batch, "present"), _all(batch, "inside")


def _reach(domain: Domain, batch: PhantomBatch, count: int) -> Float64[Tensor, "batch slots"]:
    """The smallest distance / |z'| from each outline to what disturbs it; ∞ in an absent slot."""
    slots = _slots(batch)
    size = chunk_size(32 * slots * count**2, batch.device)
    return torch.cat([_reach_of_part(domain, part, count) for _, part in _parts(batch, size)])


def _reach_of_part(domain: Domain, batch: PhantomBatch, count: int) -> Float64[Tensor, "batch slots"]:
    curve, present, _ = smooth_curves(batch, count)
    speed = curve.first.square().sum(-1).sqrt()
    alone = torch.cat([group.kind.reach(group.parameters) for group in batch.groups], 1)
    own = own_reach(domain, curve, speed, alone)
    reach = torch.minimum(own, _reach_to_others(curve, speed, present))
    return torch.where(present, reach, torch.inf)


def _reach_to_others(
    curve: Curve, speed: Float64[Tensor, "batch slots nodes"], present: Bool[Tensor, "batch slots"]
) -> Float64[Tensor, "batch slots"]:
    point, slots = curve.point, curve.point.shape[1]
    rows = []
    for i in range(slots):
        distance = torch.cdist(point[:, i, None].expand(-1, slots, -1, -1), point)
        other = present & (torch.arange(slots, device=present.device) != i)
        distance = torch.where(other[:, :, None, None], distance, torch.inf).amin((1, 3))
        rows.append((distance / speed[:, i]).amin(-1))
    return torch.stack(rows, 1)


def _check_reach(batch: PhantomBatch, reach: Float64[Tensor, "batch slots"]) -> None:
    """Refuse what the fine nodes cannot tell from touching: a crossing has a reach of √2 π/256 at most."""
    for k, slot in torch.nonzero(reach < 2 * torch.pi / _FINE)[:1].tolist():
        raise InputError(
            f"phantom {k}: {_shape(batch, k, slot)} is too thin, or almost touches another outline "
            "or the boundary: use GridSolver instead"
        )


def _check_apart(batch: PhantomBatch) -> None:
    """Refuse shapes with a node of one in another, naming the pair."""
    slots = _slots(batch)
    for start, part in _parts(batch, chunk_size(64 * slots**2 * _FINE, batch.device)):
        for k, i, j in torch.nonzero(_overlaps(part))[:1].tolist():
            _refuse(part, start, k, i, j)


def _refuse(batch: PhantomBatch, start: int, k: int, i: int, j: int) -> NoReturn:
    """Name the pair of shapes in slots i and j of phantom k, which is start + k for the user."""
    pairs = sorted((int(_all(batch, "rank")[k, slot]), _shape(batch, k, slot)) for slot in (i, j))
    (first, one), (second, other) = pairs
    raise InputError(
        f"phantom {start + k}: shapes {first} and {second} overlap or touch ({one} and {other}): "
        "use GridSolver instead"
    )


@torch.no_grad()
def check_nodes(domain: Domain, batch: PhantomBatch, curves: Outlines) -> None:
    """Refuse nodes outside the body or in another outline: quick, and blind to what is between the nodes.

    The curves may be gathered.

    By Gauss's law the mean over an outline of Im [Z' / (Z - z)] is 1 for z inside it and 0 outside. Every other
    node is asked.
    """
    if not bool((curves.point.abs() < 1).all()):
        check_inside(domain, batch)
    inner = curves.point[:, None, ::2]
    gap, dz = curves.point[..., None] - inner, curves.first[..., None]
    squared = gap.real.square() + gap.imag.square()
    flux = (dz.imag * gap.real - dz.real * gap.imag) / torch.where(squared > 0, squared, 1.0)
    slots = curves.point.shape[1] // curves.nodes
    around = torch.unflatten(flux, 1, (slots, -1)).mean(2)
    inside = torch.unflatten(around, 2, (slots, -1)).amax(-1) > 0.5
    used = curves.present[:, :: curves.nodes]
    other = ~torch.eye(slots, dtype=torch.bool, device=used.device)
    for k, i, j in torch.nonzero(inside & other & used[:, :, None] & used[:, None, :])[:1].tolist():
        order = _order(_all(batch, "present")[k : k + 1])[0].tolist()
        _refuse(batch, 0, k, order[i], order[j])


def _overlaps(batch: PhantomBatch) -> Bool[Tensor, "batch slots slots"]:
    """Tell whether some node of outline i lies in shape j."""
    curve, present, _ = smooth_curves(batch, _FINE)
    columns = []
    for group in batch.groups:
        for slot in range(group.present.shape[1]):
            row = group.parameters[:, slot, None]
            columns.append(group.kind.within(row, curve.point, 0.0).any(-1))
    inside = torch.stack(columns, 2)
    different = ~torch.eye(inside.shape[1], dtype=torch.bool, device=inside.device)
    return inside & different & present[:, :, None] & present[:, None, :]


def _slots(batch: PhantomBatch) -> int:
    return sum(group.present.shape[1] for group in batch.groups)


def _all(batch: PhantomBatch, name: str) -> Tensor:
    """The values of all groups for their slots, side by side."""
    return torch.cat([group.tensors[name] for group in batch.groups], 1)


def _parts(batch: PhantomBatch, size: int) -> Iterator[tuple[int, PhantomBatch]]:
    return ((k, batch[k : k + size]) for k in range(0, len(batch), size))


def _shape(batch: PhantomBatch, k: int, slot: int) -> str:
    for group in batch.groups:
        if slot < group.present.shape[1]:
            return str(group.kind.unpack(group.parameters[k, slot].detach().cpu()))
        slot -= group.present.shape[1]
    raise IndexError(slot)
