"""A mesh that follows the interfaces: the nearest vertices move onto them, the middles of edges between follow.

An edge is cut where the conductivities at its ends differ. On every cut edge one end moves to the crossing: vertices
that are nearer to one than all their neighbours go first, and edges with an end that has moved are no longer cut. An
edge between moved vertices with two conductivities beside it lies on the interface: its middle moves there along the
normal, so that the quadratic side follows the curve. What would make a triangle too flat stays where it was; there,
at the boundary, and where interfaces meet, σ at the points of the quadrature rule decides.

Differentiable in the parameters of the shapes: a node on an interface φ = 0 moves along its line by -φ / (d·∇φ).
"""

from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.forward.elements.quadratic import tangents
from eitlens.phantom import PhantomBatch

Positions = Float64[Tensor, "batch nodes 2"]
Choice = Bool[Tensor, "batch edges"]

_ROUNDS = 12  # of choosing vertices: what is cut after them is one edge in ten thousand
_ATTEMPTS = 6  # at a choice without flat triangles
_RELAXATIONS = 3  # of the vertices beside moved ones, so that triangles keep their shape
_HALVINGS = 40  # of an edge: the crossing is known to 1e-12 of it
_REACH = 0.4  # of an edge: so far the middle may move; a circle of the edge's length needs 0.13
_FLATTEST = 0.05  # of the quality 4√3 area / Σ sides², 1 for an equilateral triangle
_THINNEST = 0.1  # of the straight triangle's area: what |J| of a curved one may fall to


class MeshFrame(NamedTuple):
    """The mesh that moves: its vertices, and how all nodes hang together."""

    vertices: Float64[Tensor, "vertices 2"]
    bulge: Float64[Tensor, "edges 2"]
    """Where the middle of an edge lies beside the straight line: not at zero on a curved boundary."""
    share: Float64[Tensor, "edges"]
    """Where it lies along the line, from the first vertex to the second: at ½, or at a quarter from a sharp end."""
    edges: Int64[Tensor, "edges 2"]
    triangles: Int64[Tensor, "triangles 6"]
    beside: Int64[Tensor, "edges 2"]
    """The two triangles of each edge, twice the same at the boundary."""
    fixed: Bool[Tensor, "vertices"]
    around: Int64[Tensor, "vertices neighbours"]
    """The neighbours of each vertex, itself where there are no more."""

    def positions(self, vertices: Float64[Tensor, "batch vertices 2"]) -> Positions:
        """The positions of all nodes for those of the vertices."""
        first, last = vertices[:, self.edges].unbind(2)
        return torch.cat([vertices, first + self.share[:, None] * (last - first) + self.bulge], 1)

    def to(self, device: torch.device) -> "MeshFrame":
        """The frame on a device."""
        return MeshFrame(*(part.to(device) for part in self))


def fit(frame: MeshFrame, batch: PhantomBatch) -> Positions:
    """The positions of all nodes for each phantom."""
    start = frame.vertices.expand(len(batch), -1, -1)
    with torch.no_grad():
        sigma = batch.conductivity(start)
        number, used = _packed(sigma[:, frame.edges[:, 0]] != sigma[:, frame.edges[:, 1]])
        a, b = frame.edges[number].unbind(-1)
        share = _halve(batch, _take(start, a), _take(start, b), sigma.gather(1, a))
    along = _take(start, b) - _take(start, a)
    target = _take(start, a) + share[..., None] * along
    with torch.no_grad():
        moved, which = _selected(frame, _Cuts(number, a, b, share, used), start, target)
    at = _on_interface(batch, _take(target, which), _take(along, which).detach())
    return _bent(frame, batch, _relaxed(frame, torch.where(moved[..., None], at, start), moved), moved)


class _Cuts(NamedTuple):
    """The cut edges of each body: their ends, and the share of the way from the first at which they are cut."""

    number: Int64[Tensor, "batch slots"]
    a: Int64[Tensor, "batch slots"]
    b: Int64[Tensor, "batch slots"]
    share: Float64[Tensor, "batch slots"]
    used: Bool[Tensor, "batch slots"]


def _take(field: Tensor, index: Int64[Tensor, "batch slots"]) -> Tensor:
    return field.gather(1, index[..., None].expand(-1, -1, field.shape[-1]))


def _packed(chosen: Choice) -> tuple[Int64[Tensor, "batch slots"], Bool[Tensor, "batch slots"]]:
    """The numbers of the chosen of each body, as many slots as the most need, and which slots are used."""
    count = max(1, int(chosen.sum(1).max()))
    number = torch.argsort(~chosen, dim=1, stable=True)[:, :count]
    return number, chosen.gather(1, number)


def _halve(batch: PhantomBatch, start: Tensor, end: Tensor, here: Tensor) -> Float64[Tensor, "batch slots"]:
    """The share of the way at which σ ceases to be that of the start."""
    low = torch.zeros_like(here)
    for k in range(1, _HALVINGS + 1):
        trial = low + 0.5**k
        same = batch.conductivity(start + trial[..., None] * (end - start)) == here
        low = torch.where(same, trial, low)
    return low + 0.5 ** (_HALVINGS + 1)


def _selected(frame: MeshFrame, cuts: _Cuts, start: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The vertices that move and the slots of their crossings, none of which makes a triangle too flat."""
    banned, corners = frame.fixed.expand(len(start), -1), frame.triangles[:, :3]
    for _ in range(_ATTEMPTS):
        moved, which = _chosen(frame, cuts, banned)
        vertices = _relaxed(frame, torch.where(moved[..., None], _take(target, which), start), moved)
        flat = _quality(vertices, frame.triangles) < _FLATTEST
        steps = torch.where(moved, (vertices - start).square().sum(-1), -1.0)
        worst = corners.expand(len(start), -1, -1).gather(2, steps[:, corners].argmax(2, keepdim=True))
        back = torch.zeros_like(steps).scatter_add(1, worst.squeeze(2), flat.double()) > 0
        moved = moved & ~back
        if back.device.type == "cpu" and not bool(back.any()):
            break
        banned = _stuck(frame, cuts, banned | back)
    return moved, which


def _stuck(frame: MeshFrame, cuts: _Cuts, banned: Tensor) -> Tensor:
    """Ban the vertices across a cut edge instead, where both of its ends are banned: they made it too flat."""
    ends = torch.stack([cuts.a, cuts.b], 2)
    both = cuts.used & banned.gather(1, cuts.a) & banned.gather(1, cuts.b)
    corners = frame.triangles[frame.beside[cuts.number], :3].sum(3)
    across = corners - ends.sum(2, keepdim=True)
    marks = torch.zeros_like(banned, dtype=torch.float64)
    hit = both[..., None].double().expand(-1, -1, 2).flatten(1)
    released = marks.scatter_add(1, ends.flatten(1), hit) > 0
    added = marks.scatter_add(1, across.flatten(1), hit) > 0
    return (banned & ~released) | added | frame.fixed


def _chosen(frame: MeshFrame, cuts: _Cuts, banned: Tensor) -> tuple[Tensor, Tensor]:
    """Vertices that cover the cut edges, nearest crossings first, and the slot of the crossing of each."""
    ends = torch.cat([cuts.a, cuts.b], 1)
    cost = torch.cat([cuts.share, 1 - cuts.share], 1)
    cost = torch.where(banned.gather(1, ends) | ~cuts.used.repeat(1, 2), torch.inf, cost)
    slot = torch.arange(cuts.a.shape[1], device=cost.device).repeat(2).expand_as(ends)
    moved, which = torch.zeros_like(banned), torch.zeros(banned.shape, dtype=torch.int64, device=cost.device)
    # Equal costs go by number.
    number = 1e-9 * torch.arange(banned.shape[1], device=cost.device) / banned.shape[1]
    for _ in range(_ROUNDS):
        if cost.device.type == "cpu" and not bool(torch.isfinite(cost).any()):
            break
        best = cost.new_full(moved.shape, torch.inf).scatter_reduce(1, ends, cost, "amin")
        rank = best + number
        now = torch.isfinite(best) & (rank <= _least_around(frame, rank))
        hit = now.gather(1, ends) & (cost == best.gather(1, ends)) & torch.isfinite(cost)
        latest = torch.zeros_like(which).scatter_reduce(1, ends, torch.where(hit, slot, 0), "amax")
        which, moved = torch.where(now, latest, which), moved | now
        done = moved.gather(1, cuts.a) | moved.gather(1, cuts.b)
        cost = torch.where(done.repeat(1, 2), torch.inf, cost)
    return moved, which


def _relaxed(frame: MeshFrame, vertices: Tensor, moved: Tensor) -> Tensor:
    """Vertices inside that did not move, but have a neighbour that did, go towards the mean of their neighbours."""
    own = torch.arange(len(frame.around), device=vertices.device)[:, None]
    degree = (frame.around != own).sum(1, keepdim=True)
    spare = frame.around.shape[1] - degree
    near = _least_around(frame, (~moved).double()) == 0
    free = near & ~moved & ~frame.fixed
    for _ in range(_RELAXATIONS):
        total = sum((vertices[:, k] for k in frame.around.T), -spare * vertices)
        vertices = torch.where(free[..., None], (vertices + total / degree) / 2, vertices)
    return vertices


def _least_around(
    frame: MeshFrame, values: Float64[Tensor, "batch vertices"]
) -> Float64[Tensor, "batch vertices"]:
    """The least value of each vertex and its neighbours."""
    return reduce(torch.minimum, (values[:, k] for k in frame.around.T), values)


def _quality(vertices: Tensor, triangles: Int64[Tensor, "triangles 6"]) -> Float64[Tensor, "batch triangles"]:
    area, sides = _areas(vertices, triangles)
    return 2 * 3**0.5 * area / sides


def _areas(vertices: Tensor, triangles: Int64[Tensor, "triangles 6"]) -> tuple[Tensor, Tensor]:
    """Twice the area of each triangle and the sum of its squared sides."""
    x, y = (part[:, triangles[:, :3]].unbind(2) for part in vertices.unbind(2))
    u, v, p, q = x[1] - x[0], y[1] - y[0], x[2] - x[0], y[2] - y[0]
    return u * q - v * p, 2 * (u * u + v * v + p * p + q * q - u * p - v * q)


def _bent(frame: MeshFrame, batch: PhantomBatch, vertices: Tensor, moved: Tensor) -> Positions:
    """All nodes: the middles between their vertices as before, those on an interface moved to it."""
    middles = frame.positions(vertices)[:, len(frame.fixed) :]
    with torch.no_grad():
        sigma = batch.conductivity(_samples(frame, vertices, moved))
        on = moved[:, frame.edges].all(2) & (sigma[:, frame.beside[:, 0]] != sigma[:, frame.beside[:, 1]])
        number, used = _packed(on)
    across, middle = _normals(_take(vertices[:, frame.edges].flatten(2), number)), _take(middles, number)
    low, high = middle - _REACH * across, middle + _REACH * across
    with torch.no_grad():
        here = batch.conductivity(low)
        used &= here != batch.conductivity(high)
        share = _halve(batch, low, high, here)[..., None]
    at = _on_interface(batch, low + share * (high - low), across)
    bent = middles.scatter(1, number[..., None].expand(-1, -1, 2), torch.where(used[..., None], at, middle))
    return _unfolded(frame, vertices, middles, bent)


def _samples(frame: MeshFrame, vertices: Tensor, moved: Tensor) -> Float64[Tensor, "batch triangles 2"]:
    """A point that tells the side of each triangle: a vertex that is not on an interface, or its centre."""
    corners, still = vertices[:, frame.triangles[:, :3]], ~moved[:, frame.triangles[:, :3]]
    first = still.double().argmax(2)[..., None, None].expand(-1, -1, 1, 2)
    return torch.where(still.any(2, keepdim=True), corners.gather(2, first).squeeze(2), corners.mean(2))


def _normals(ends: Float64[Tensor, "batch slots 4"]) -> Float64[Tensor, "batch slots 2"]:
    """The edges turned by a right angle."""
    x, y = (ends[..., 2:] - ends[..., :2]).unbind(-1)
    return torch.stack([-y, x], -1)


def _unfolded(frame: MeshFrame, vertices: Tensor, straight: Tensor, bent: Tensor) -> Positions:
    """Bent middles, straight ones again in triangles that would fold."""
    with torch.no_grad():
        (a, b), (c, d) = tangents(torch.cat([vertices, bent], 1), frame.triangles)
        area, _ = _areas(vertices, frame.triangles)
        fold = (a * d - b * c).amin(2) < _THINNEST * area.abs()
        back = (fold[:, frame.beside[:, 0]] | fold[:, frame.beside[:, 1]])[..., None]
    return torch.cat([vertices, torch.where(back, straight, bent)], 1)


def _on_interface(batch: PhantomBatch, at: Tensor, along: Tensor) -> Tensor:
    """The same points, which move along their lines with the level set of the shape whose outline they are on."""
    if not any(group.parameters.requires_grad for group in batch.groups):
        return at
    step = 1e-6 * along

    def levels(points: Tensor) -> Tensor:
        return torch.cat([group.level_sets(points) for group in batch.groups], 1)

    values = levels(at)
    with torch.no_grad():
        nearest = values.abs().argmin(1, keepdim=True)
        slope = (levels(at + step) - levels(at - step)).gather(1, nearest)[:, 0] / 2e-6
        slope = torch.where(slope.abs() > 1e-12, slope, torch.inf)
    phi = values.gather(1, nearest)[:, 0]
    return at - ((phi - phi.detach()) / slope)[..., None] * along
