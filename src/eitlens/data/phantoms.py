"""Batches of phantoms as named tensors and back: the shape parameters of a data set."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.phantom import PhantomBatch
from eitlens.phantom.batch import ShapeGroup
from eitlens.phantom.kinds import KINDS

_OUTSIDE = "phantom.outside"


def to_tensors(batch: PhantomBatch) -> dict[str, Tensor]:
    """`phantom.outside` and, for each kind of shape, `phantom.<kind>.{parameters, present, rank, inside}`."""
    tensors = {_OUTSIDE: batch.outside}
    for group in batch.groups:
        parts = {
            "parameters": group.parameters,
            "present": group.present,
            "rank": group.rank,
            "inside": group.inside,
        }
        tensors |= {f"phantom.{group.kind.__name__.lower()}.{name}": part for name, part in parts.items()}
    return tensors


def from_tensors(tensors: Mapping[str, Tensor]) -> PhantomBatch | None:
    """The batch, or None where there are no phantoms among the tensors."""
    if _OUTSIDE not in tensors:
        return None
    groups = []
    for kind in KINDS:
        prefix = f"phantom.{kind.__name__.lower()}."
        if f"{prefix}parameters" in tensors:
            names = ("parameters", "present", "rank", "inside")
            groups.append(ShapeGroup(kind, *(tensors[prefix + name] for name in names)))
    return PhantomBatch(tuple(groups), tensors[_OUTSIDE])


def join(batches: Sequence[PhantomBatch]) -> PhantomBatch:
    """Batches of the same kinds and numbers of shapes, one after the other."""
    kinds = [tuple((g.kind, g.parameters.shape[1:]) for g in batch.groups) for batch in batches]
    if any(k != kinds[0] for k in kinds):
        raise InputError(f"phantoms of different make cannot be joined: {kinds[0]} and others")
    groups = [
        ShapeGroup(
            parts[0].kind,
            torch.cat([p.parameters for p in parts]),
            torch.cat([p.present for p in parts]),
            torch.cat([p.rank for p in parts]),
            torch.cat([p.inside for p in parts]),
        )
        for parts in zip(*(batch.groups for batch in batches), strict=True)
    ]
    return PhantomBatch(tuple(groups), torch.cat([batch.outside for batch in batches]))
