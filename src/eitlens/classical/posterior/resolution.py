"""How many nodes the outlines of ellipses need, quickly: the rule of `eitlens.forward.outlines.needed_nodes`.

That one looks at every outline from 64 or 256 nodes and refuses what overlaps. Here the ellipses are known to be
apart, so 32 nodes will do: between two of them, a distance Δ apart on the other outline, the outline comes nearer
than the nearest node at d, but not nearer than √(d² - (Δ/2)²) where it is straight.
"""

import math

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.phantom import Ellipse

_SEEN, _STEP, _FEWEST, _MOST = 32, 16, 32, 112
_WALL = 0.85


def node_counts(
    domain: Domain, rows: Float64[Tensor, "batch ellipses 5"], tolerance: float
) -> Int64[Tensor, "batch"]:
    """Nodes an outline for a relative error of about `tolerance`: a multiple of 16 from 32 to 112."""
    curve = Ellipse.curve(rows, _SEEN)
    speed = curve.first.square().sum(-1).sqrt()
    wall = (_WALL * domain.clearance(curve.point) / speed).amin((1, 2))
    focus = 2 * (speed.amin(-1) / speed.amax(-1)).amin(-1)
    reach = torch.minimum(torch.minimum(wall, focus), _reach_to_others(curve.point, speed))
    count = math.log(1 / tolerance) / reach.clamp(min=1e-3)
    return (_STEP * torch.ceil(count / _STEP)).clamp(_FEWEST, _MOST).to(torch.int64)


def _reach_to_others(
    point: Float64[Tensor, "batch ellipses nodes 2"], speed: Float64[Tensor, "batch ellipses nodes"]
) -> Float64[Tensor, "batch"]:
    """The smallest distance / |z'| over all pairs of ellipses, seen from both."""
    slots = point.shape[1]
    if slots == 1:
        return torch.full_like(point[:, 0, 0, 0], torch.inf)
    first, second = torch.triu_indices(slots, slots, 1, device=point.device)
    gap = (point[:, first, :, None] - point[:, second, None, :]).square().sum(-1)
    u, v = speed[:, first, :, None], speed[:, second, None, :]
    half = torch.pi / _SEEN
    # The square of distance / |z'| from the first outline, and from the second; the larger speed counts.
    fast, slow = torch.maximum(u, v), torch.minimum(u, v)
    return ((gap - (half * slow).square()).clamp(min=0) / fast.square()).amin((1, 2, 3)).sqrt()
