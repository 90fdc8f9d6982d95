"""Batches of phantoms as named tensors and back: the shape parameters of a data set."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.phantom import PhantomBatch, Shape
from eitlens.phantom.batch import ShapeGroup
from eitlens.phantom.kinds import KINDS, name_of

_OUTSIDE = "phantom.outside"


def to_tensors(batch: PhantomBatch) -> dict[str, Tensor]:
    """`phantom.outside` and, for each kind of shape, `phantom.<kind>.{parameters, present, rank, inside}`."""
    tensors = {_OUTSIDE: batch.outside}
    for group in batch.groups:
        tensors |= {_prefix(group.kind) + name: part for name, part in group.tensors.items()}
    return tensors


def from_tensors(tensors: Mapping[str, Tensor]) -> PhantomBatch | None:
    """The batch, or None where there are no phantoms among the tensors."""
    if _OUTSIDE not in tensors:
        return None
    groups = []
    for kind in KINDS.values():
        prefix = _prefix(kind)
        parts = {name.removeprefix(prefix): part for name, part in tensors.items() if name.startswith(prefix)}
        if parts:
            groups.append(ShapeGroup(kind, **parts))
    return PhantomBatch(tuple(groups), tensors[_OUTSIDE])


def join(batches: Sequence[PhantomBatch]) -> PhantomBatch:
    """Batches of the same kinds and numbers of shapes, one after the other."""
    kinds = [tuple((g.kind, g.parameters.shape[1:]) for g in batch.groups) for batch in batches]
    if any(k != kinds[0] for k in kinds):
        raise InputError(f"phantoms of different make cannot be joined: {kinds[0]} and others")
    groups = [
        ShapeGroup(
            first.kind,
            **{name: torch.cat([g.tensors[name] for g in (first, *others)]) for name in first.tensors},
        )
        for first, *others in zip(*(batch.groups for batch in batches), strict=True)
    ]
    return PhantomBatch(tuple(groups), torch.cat([batch.outside for batch in batches]))


def _prefix(kind: type[Shape]) -> str:
    return f"phantom.{name_of(kind)}."
