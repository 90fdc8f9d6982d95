"""Many phantoms as a few tensors: what the solvers, the rasterisers and the samplers work on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.kinds import KINDS
from eitlens.phantom.medium import Medium
from eitlens.phantom.phantom import Phantom

Points = Float64[Tensor, "one_or_batch points 2"]


@dataclass(frozen=True)
class ShapeGroup:
    """The shapes of one kind in a batch. A sample with fewer shapes than another has absent slots."""

    kind: type[Shape]
    parameters: Float64[Tensor, "batch slots parameters"]
    present: Bool[Tensor, "batch slots"]
    rank: Int64[Tensor, "batch slots"]
    """Position of the shape in its phantom's list: a later shape covers an earlier one."""
    inside: Float64[Tensor, "batch slots"]

    def level_sets(self, points: Points) -> Float64[Tensor, "batch slots points"]:
        """The level set of each shape at the points; +∞ for an absent one."""
        values = self.kind.level_set(self.parameters, points[:, None])
        return torch.where(self.present[..., None], values, torch.inf)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, all fields but the kind."""
        names = ("parameters", "present", "rank", "inside")
        return {name: getattr(self, name) for name in names}

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "ShapeGroup":
        """The group with every tensor changed alike."""
        return ShapeGroup(self.kind, **{name: change(tensor) for name, tensor in self.tensors.items()})


@dataclass(frozen=True)
class PhantomBatch:
    """A batch of phantoms, as groups of shapes of one kind, the conductivity around them, and the medium if any.

    >>> batch = eit.EllipseSampler(seed=0).batch(0, 8)
    >>> len(batch), len(batch.phantom(3).shapes)
    (8, 4)
    """

    groups: tuple[ShapeGroup, ...]
    outside: Float64[Tensor, "batch"]
    medium: Medium | None = None
    """How the conductivity around the shapes departs from `outside`; None where it does not."""

    def __len__(self) -> int:
        return len(self.outside)

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.outside.device

    def __getitem__(self, index: slice | Tensor) -> "PhantomBatch":
        return self.mapped(lambda tensor: tensor[index])

    def __iter__(self) -> Iterator[Phantom]:
        return (self.phantom(k) for k in range(len(self)))

    def to(self, device: torch.device) -> "PhantomBatch":
        """The batch on another device."""
        return self.mapped(lambda tensor: tensor.to(device))

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "PhantomBatch":
        """The batch with every tensor changed alike."""
        groups = tuple(group.mapped(change) for group in self.groups)
        medium = None if self.medium is None else self.medium.mapped(change)
        return PhantomBatch(groups, change(self.outside), medium)

    @property
    def uneven(self) -> Bool[Tensor, "batch"]:
        """Whether the conductivity around the shapes of a sample is not uniform."""
        return torch.zeros_like(self.outside, dtype=torch.bool) if self.medium is None else self.medium.uneven

    def trimmed(self) -> "PhantomBatch":
        """The batch without slots that no phantom uses, and without a medium that is uniform.

        Slots in use come first, and only as many as the most need.
        """
        groups = []
        for group in self.groups:
            most = int(group.present.sum(1).max())
            order = torch.argsort(~group.present, dim=1, stable=True)[:, :most]
            if most and not bool(group.present.all()):
                rows = order[..., None].expand(-1, -1, group.parameters.shape[-1])
                tensors = {
                    name: part.gather(1, order) for name, part in group.tensors.items() if part.ndim == 2
                }
                groups.append(ShapeGroup(group.kind, group.parameters.gather(1, rows), **tensors))
            elif most:
                groups.append(group)
        return PhantomBatch(tuple(groups), self.outside, self.medium if bool(self.uneven.any()) else None)

    def outlined(self) -> "PhantomBatch":
        """The same conductivity by shapes whose level sets are quick; their parameters are others."""
        kinds = [group.kind.outlined(group.parameters) for group in self.groups]
        groups = (
            replace(g, kind=kind, parameters=rows) for g, (kind, rows) in zip(self.groups, kinds, strict=True)
        )
        return PhantomBatch(tuple(groups), self.outside, self.medium)

    def with_conductivity(self, inside: float, outside: float) -> "PhantomBatch":
        """The same shapes with other conductivities."""
        checks.positive_number(inside, "inside conductivity")
        checks.positive_number(outside, "outside conductivity")
        groups = tuple(replace(g, inside=torch.full_like(g.inside, inside)) for g in self.groups)
        return PhantomBatch(groups, torch.full_like(self.outside, outside), self.medium)

    def phantom(self, k: int) -> Phantom:
        """Sample k as a Phantom in plain numbers; a medium that is not uniform has none."""
        if bool(self.uneven[k]):
            raise InputError(
                f"phantom {k}: its medium is not uniform, so it is no list of shapes: use batch[{k} : {k + 1}]"
            )
        found: list[tuple[int, Shape, float]] = []
        for group in self.groups:
            for slot in torch.nonzero(group.present[k]).flatten().tolist():
                shape = group.kind.unpack(group.parameters[k, slot].detach().cpu())
                found.append((int(group.rank[k, slot]), shape, float(group.inside[k, slot])))
        found.sort(key=lambda item: item[0])
        return Phantom([s for _, s, _ in found], [v for _, _, v in found], float(self.outside[k]))

    def level_set(self, points: Points) -> Float64[Tensor, "batch points"]:
        """A function that is negative exactly inside the union of the shapes; +∞ where there are none."""
        empty = self.outside.new_full((len(self), 1, points.shape[-2]), torch.inf)
        return torch.cat([empty, *(g.level_sets(points) for g in self.groups)], 1).amin(1)

    def conductivity(self, points: Points) -> Float64[Tensor, "batch points"]:
        """σ at the points: of the last shape in the list that contains the point, or of the medium."""
        sigma = self.materials(points)
        return sigma if self.medium is None else sigma * self.medium.factor(points)

    def materials(self, points: Points) -> Float64[Tensor, "batch points"]:
        """σ at the points without its smooth factor: it jumps where σ does, and is constant in between."""
        sigma = self.outside[:, None].expand(-1, points.shape[-2])
        sigma = sigma if self.medium is None else sigma * self.medium.phase(points)
        best = torch.full_like(sigma, -1, dtype=torch.int64)
        for group in self.groups:
            rank = torch.where(group.level_sets(points) < 0, group.rank[..., None], -1)
            top, slot = rank.max(1)
            wins = top > best
            sigma = torch.where(wins, torch.gather(group.inside, 1, slot), sigma)
            best = torch.maximum(best, top)
        return sigma


def stack(phantoms: Sequence[Phantom], device: torch.device | None = None) -> PhantomBatch:
    """A batch from phantoms in plain numbers.

    >>> len(eit.stack([eit.Phantom([eit.circle((0.0, 0.0), r)]) for r in (0.3, 0.4)]))
    2
    """
    if not isinstance(phantoms, Sequence) or not all(isinstance(one, Phantom) for one in phantoms):
        hint = ": put it in a phantom, Phantom([shape])" if isinstance(phantoms, Shape) else ""
        raise InputError(f"expected a Phantom or a list of them, got {checks.shown(phantoms)}{hint}")
    if not phantoms:
        raise InputError("expected at least one phantom, got an empty list")
    groups = tuple(g for kind in _kinds(phantoms) if (g := _group(kind, phantoms)) is not None)
    batch = PhantomBatch(groups, torch.tensor([p.outside for p in phantoms], dtype=torch.float64))
    return batch if device is None else batch.to(device)


def of_rows(
    kind: type[Shape], rows: Float64[Tensor, "batch slots parameters"], inside: float, outside: float
) -> PhantomBatch:
    """A batch of phantoms of one kind of shape, all as many and of the same conductivities."""
    count, slots = rows.shape[:2]
    present = torch.ones(count, slots, dtype=torch.bool, device=rows.device)
    rank = torch.arange(slots, device=rows.device).expand(count, -1)
    group = ShapeGroup(kind, rows, present, rank, torch.full_like(rows[..., 0], inside))
    return PhantomBatch((group,), rows.new_full((count,), outside))


def as_batch(
    phantoms: Phantom | Sequence[Phantom] | PhantomBatch, device: torch.device | None = None
) -> PhantomBatch:
    """One phantom, a list of them or a batch, as a batch."""
    if isinstance(phantoms, PhantomBatch):
        if not len(phantoms):
            raise InputError("expected at least one phantom, got an empty batch")
        return phantoms if device is None else phantoms.to(device)
    return stack([phantoms] if isinstance(phantoms, Phantom) else phantoms, device)


def _kinds(phantoms: Sequence[Phantom]) -> list[type[Shape]]:
    """The registered kinds of shapes, and those of shapes that were just passed."""
    known = tuple(KINDS.values())
    others = [type(s) for phantom in phantoms for s in phantom.shapes if not isinstance(s, known)]
    return [*known, *dict.fromkeys(others)]


def _group(kind: type[Shape], phantoms: Sequence[Phantom]) -> ShapeGroup | None:
    found = [
        [(k, s, v) for k, (s, v) in enumerate(zip(p.shapes, p.inside, strict=True)) if isinstance(s, kind)]
        for p in phantoms
    ]
    slots = max(len(row) for row in found)
    if slots == 0:
        return None
    width = max(len(s.parameters()) for row in found for _, s, _ in row)
    # An absent slot holds a harmless unit disk (or point): its values are computed and then masked.
    parameters = torch.ones(len(phantoms), slots, width, dtype=torch.float64)
    present = torch.zeros(len(phantoms), slots, dtype=torch.bool)
    rank = torch.zeros(len(phantoms), slots, dtype=torch.int64)
    inside = torch.ones(len(phantoms), slots, dtype=torch.float64)
    for b, row in enumerate(found):
        for slot, (k, shape, value) in enumerate(row):
            parameters[b, slot] = kind.padded(shape.parameters(), width)
            present[b, slot], rank[b, slot], inside[b, slot] = True, k, value
    return ShapeGroup(kind, parameters, present, rank, inside)
