"""Batches of phantoms as named tensors and back: the shape parameters of a data set."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.phantom import PhantomBatch, Shape
from eitlens.phantom.batch import ShapeGroup
from eitlens.phantom.kinds import KINDS, name_of
from eitlens.phantom.medium import Medium

_OUTSIDE, _MEDIUM = "phantom.outside", "phantom.medium."


def to_tensors(batch: PhantomBatch) -> dict[str, Tensor]:
    """`phantom.outside`, for each kind of shape `phantom.<kind>.{parameters, present, rank, inside}`; the medium."""
    tensors = {_OUTSIDE: batch.outside}
    if batch.medium is not None:
        tensors |= {_MEDIUM + name: part for name, part in batch.medium.tensors.items()}
    for group in batch.groups:
        tensors |= {_prefix(group.kind) + name: part for name, part in group.tensors.items()}
    return tensors


def from_tensors(tensors: Mapping[str, Tensor]) -> PhantomBatch | None:
    """The batch, or None where there are no phantoms among the tensors."""
    if _OUTSIDE not in tensors:
        return None
    groups = []
    for kind in KINDS.values():
        parts = _below(_prefix(kind), tensors)
        if parts:
            groups.append(ShapeGroup(kind, **parts))
    medium = _below(_MEDIUM, tensors)
    return PhantomBatch(tuple(groups), tensors[_OUTSIDE], Medium(**medium) if medium else None)


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): part for name, part in tensors.items() if name.startswith(prefix)}


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
    media = [batch.medium for batch in batches if batch.medium is not None]
    if 0 < len(media) < len(batches):
        raise InputError("phantoms of different make cannot be joined: some have a medium and others none")
    medium = (
        {name: torch.cat([one.tensors[name] for one in media]) for name in media[0].tensors}
        if media
        else None
    )
    outside = torch.cat([batch.outside for batch in batches])
    return PhantomBatch(tuple(groups), outside, None if medium is None else Medium(**medium))


def _prefix(kind: type[Shape]) -> str:
    return f"phantom.{name_of(kind)}."
