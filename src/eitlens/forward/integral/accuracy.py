"""A quick count of the nodes that outlines of ellipses need, by the rule of `outlines.needed_nodes`.

That function looks at every outline from 64 or 256 nodes and refuses what overlaps. Here the ellipses are known to be
apart, so 32 nodes will do: between two of them, a distance Δ apart on the other outline, the outline comes nearer
than the nearest node at d, but not nearer than √(d² - (Δ/2)²) where it is straight.
"""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.forward.integral.outlines import node_count, own_reach
from eitlens.phantom import Ellipse

_SEEN = 32  # see above
MOST_NODES = 112
"""Outlines that need more nearly touch, which is rare: their error is accepted, and the cost bounded."""
_AT_ONCE = 4096  # phantoms: with four ellipses an array of all distances then takes 200 MB
_SHORTEST_REACH = 1e-3  # of outlines that touch: far beyond MOST_NODES, but not a division by zero


def node_counts(
    domain: Domain, rows: Float64[Tensor, "batch ellipses 5"], tolerance: float
) -> Int64[Tensor, "batch"]:
    """Nodes an outline for a relative error of about `tolerance`: a multiple of 16 from 32 to 112."""
    return torch.cat([_counts(domain, part, tolerance) for part in torch.split(rows, _AT_ONCE)])


def _counts(domain: Domain, rows: Tensor, tolerance: float) -> Int64[Tensor, "batch"]:
    curve = Ellipse.curve(rows, _SEEN)
    speed = curve.first.square().sum(-1).sqrt()
    alone = own_reach(domain, curve, speed, Ellipse.reach(rows)).amin(-1)
    reach = torch.minimum(alone, _reach_to_others(curve.point, speed))
    return node_count(reach.clamp(min=_SHORTEST_REACH), tolerance).clamp(max=MOST_NODES)


def _reach_to_others(
    point: Float64[Tensor, "batch ellipses nodes 2"], speed: Float64[Tensor, "batch ellipses nodes"]
) -> Float64[Tensor, "batch"]:
    """The smallest distance / |z'| over all pairs of ellipses, seen from both."""
    slots = point.shape[1]
    if slots == 1:
        return torch.full_like(point[:, 0, 0, 0], torch.inf)
    first, second = torch.triu_indices(slots, slots, 1, device=point.device)
    x, y = (part[:, first, :, None] - part[:, second, None, :] for part in point.unbind(-1))
    gap = x.mul_(x).addcmul_(y, y)
    u, v = speed[:, first, :, None], speed[:, second, None, :]
    # Half a step along the slower outline; the reach is shorter seen from the faster one.
    slow, fast = torch.minimum(u, v).mul_(torch.pi / _SEEN), torch.maximum(u, v)
    return gap.addcmul_(slow, slow, value=-1).clamp_(min=0).sqrt_().div_(fast).amin((1, 2, 3))
