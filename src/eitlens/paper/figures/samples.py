"""The paper's Fig. 2: four random conductivities, and the elements at an interface."""

from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.domain import Square
from eitlens.figures.style import picture, show_field
from eitlens.paper.figures.studio import Studio
from eitlens.phantom import PhantomBatch

CELLS = 40
SPAN = 12
_BISECTIONS = 30


def draw(studio: Studio, path: Path) -> str:
    """Four test samples, and a part of the grid solver's mesh about the first, at 40 cells a side."""
    square, found = studio.square, studio.scene.phantoms
    assert found is not None
    with picture(path, 1, 5, 2.4) as axes:
        for k, panel in enumerate(axes[0, :4]):
            show_field(panel, phantoms.conductivity(square, found.phantom(k)), f"σ, test sample {k}")
        _mesh(axes[0, 4], found[:1])
    return ""


def _mesh(axes: Axes, phantom: PhantomBatch) -> None:
    """Cells in one material whole, cut ones as two triangles, each split along a chord of the interface."""
    square = Square(CELLS)
    level = phantoms.level_set(square, phantom)[0]
    corner = [min(max(int(k) - SPAN // 2, 0), CELLS - SPAN) for k in divmod(int(level.argmin()), CELLS + 1)]
    nodes = square.nodes()[corner[0] : corner[0] + SPAN + 1, corner[1] : corner[1] + SPAN + 1]
    triangles = _triangles(nodes)
    inside = _inside(phantom, triangles)
    cut = (inside.sum(1) % 3) > 0
    axes.add_collection(
        LineCollection([*nodes.numpy(), *nodes.transpose(0, 1).numpy()], colors="0.7", linewidths=0.6)
    )
    axes.add_collection(LineCollection([*triangles[cut][:, [0, 2]].numpy()], colors="0.7", linewidths=0.6))
    chords = _chords(phantom, triangles[cut], inside[cut])
    axes.add_collection(LineCollection([*chords.numpy()], colors="black", linewidths=1.2))
    axes.set(title=f"elements, n = {CELLS}", aspect="equal")
    (left, low), (right, high) = nodes[0, 0].tolist(), nodes[-1, -1].tolist()
    axes.set(xlim=(left, right), ylim=(low, high))


def _triangles(nodes: Tensor) -> Tensor:
    """The two triangles (triangles, 3, 2) of each cell, cut along (i, j), (i+1, j+1)."""
    a, b, c, d = nodes[:-1, :-1], nodes[1:, :-1], nodes[1:, 1:], nodes[:-1, 1:]
    pairs = torch.stack([torch.stack([a, b, c], 2), torch.stack([a, d, c], 2)], 2)
    return pairs.reshape(-1, 3, 2)


def _inside(phantom: PhantomBatch, points: Tensor) -> Tensor:
    """Whether points (…, 2) lie in the inclusion."""
    return (phantom.level_set(points.reshape(1, -1, 2))[0] < 0).view(points.shape[:-1])


def _chords(phantom: PhantomBatch, triangles: Tensor, inside: Tensor) -> Tensor:
    """Where the interface crosses the two edges from the vertex that is alone on its side, by bisection."""
    alone = (inside == (inside.sum(1) == 1)[:, None]).double().argmax(1)
    rows = torch.arange(len(triangles))
    start = triangles[rows, alone][:, None]
    ends = torch.stack([triangles[rows, (alone + k) % 3] for k in (1, 2)], 1)
    low = torch.zeros(len(triangles), 2, 1, dtype=torch.float64)
    for k in range(1, _BISECTIONS + 1):
        trial = low + 0.5**k
        same = _inside(phantom, start + trial * (ends - start)) == inside[rows, alone][:, None]
        low = torch.where(same[..., None], trial, low)
    return start + low * (ends - start)
