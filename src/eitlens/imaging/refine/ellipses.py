"""A union of ellipses that looks like an image: the start of the refinement.

Rows of parameters are those of `eitlens.phantom.Ellipse` with logarithms of the semi-axes, (cx, cy, log a, log b,
angle), which keeps them positive.
"""

import numpy as np
import torch
from jaxtyping import Float64
from scipy.cluster.vq import kmeans2
from scipy.ndimage import label
from torch import Tensor

from eitlens.domain import Domain
from eitlens.imaging.reconstruction import Image
from eitlens.phantom import Ellipse
from eitlens.phantom.samplers import EllipseRows as Rows

MOST = 8
"""Ellipses at most: twice as many as the paper's phantoms have."""
# Pieces of a smaller area (the box has 4) are specks and are left out; no semi-axis is taken to be shorter than a cell
# of the coarse grid.
_SMALLEST, _THINNEST = 0.01, 0.03
_FEWEST_NODES = 5  # as many as an ellipse has parameters
# A piece gets another ellipse until the overlap is good, if that gains enough, and three at most.
_GOOD, _GAIN, _PIECES = 0.95, 0.01, 3
# Adam: the width of the blurred edge (less than a cell of the coarse grid), and steps that together may move an
# ellipse by more than half a side.
_WIDTH, _STEPS, _RATE = 0.02, 120, 0.01


def natural(rows: Rows) -> Rows:
    """Replace the logarithms by the semi-axes themselves, as `Ellipse` has them."""
    return torch.cat([rows[..., :2], rows[..., 2:4].exp(), rows[..., 4:]], -1)


def depth(rows: Rows, points: Float64[Tensor, "points 2"]) -> Float64[Tensor, "*batch points"]:
    """Approximate the distance to the outline of the union, positive inside: (1 - √q) √(ab), q the quadratic form."""
    shapes = natural(rows)
    q = Ellipse.level_set(shapes, points) + 1
    size = (0.5 * (rows[..., 2] + rows[..., 3])).exp()[..., None]
    return ((1 - q.clamp(min=1e-12).sqrt()) * size).amax(-2)  # a root has no slope at 0


def find(image: Image, domain: Domain) -> Rows | None:
    """Find ellipses whose union looks like {image > ½}, with a smooth edge; None where there is nothing inside."""
    points = domain.nodes().flatten(0, 1)
    parts, count = label(image.numpy() > 0.5)
    found = [_piece(points, torch.from_numpy(parts.ravel() == k + 1)) for k in range(count)]
    rows = [row for piece in found for row in piece]
    rows.sort(key=lambda row: -float(row[2] + row[3]))
    if not rows:
        return None
    return _match(torch.stack(rows[:MOST]), points, image.flatten())


def _piece(points: Float64[Tensor, "points 2"], inside: Tensor) -> list[Float64[Tensor, "5"]]:
    """Describe one connected piece by one to three ellipses: as few as cover it well once they are adjusted to it."""
    where = points[inside]
    if len(where) * 4 / len(points) < _SMALLEST:
        return []
    best, quality = torch.stack([_moments(where)]), 0.0
    for pieces in range(1, _PIECES + 1):
        rows = _match(_clusters(where, pieces), points, inside.double())
        score = _overlap(rows, points, inside)
        if score > quality + _GAIN:
            best, quality = rows, score
        if quality > _GOOD:
            break
    return list(best)


def _clusters(where: Float64[Tensor, "inside 2"], pieces: int) -> Rows:
    if pieces == 1:
        return _moments(where)[None]
    _, labels = kmeans2(where.numpy(), pieces, minit="++", rng=np.random.default_rng(0))
    groups = [where[torch.from_numpy(labels == k)] for k in range(pieces)]
    return torch.stack([_moments(group) for group in groups if len(group) >= _FEWEST_NODES])


def _moments(where: Float64[Tensor, "inside 2"]) -> Float64[Tensor, "5"]:
    """The ellipse with the same centre and second moments: a filled one has variances a²/4 and b²/4."""
    center = where.mean(0)
    values, vectors = torch.linalg.eigh((where - center).T @ (where - center) / len(where))
    axes = 2 * values.clamp(min=(_THINNEST / 2) ** 2).sqrt()
    return torch.cat([center, axes.log(), torch.atan2(vectors[1, :1], vectors[0, :1])])


def _overlap(rows: Rows, points: Float64[Tensor, "points 2"], inside: Tensor) -> float:
    guess = depth(rows, points) > 0
    return float((guess & inside).sum() / (guess | inside).sum())


def _match(rows: Rows, points: Float64[Tensor, "points 2"], image: Float64[Tensor, "points"]) -> Rows:
    """Adjust the ellipses so that a blurred picture of their union is near the image, by Adam."""
    with torch.enable_grad():
        free = rows.clone().requires_grad_()
        optimiser = torch.optim.Adam([free], lr=_RATE)
        for _ in range(_STEPS):
            optimiser.zero_grad()
            loss = (torch.sigmoid(depth(free, points) / _WIDTH) - image).square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return free.detach()
