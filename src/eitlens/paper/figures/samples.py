"""The paper's Fig. 2: four random conductivities, and the elements at an interface."""

from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.domain import Square
from eitlens.domain.base import CPU
from eitlens.figures.style import picture, show_field
from eitlens.forward.grid.conductivity import as_grid_conductivity, bisection
from eitlens.paper.figures.studio import Studio
from eitlens.phantom import PhantomBatch

CELLS, SPAN = 40, 12
"""Cells a side of the grid whose elements are drawn, and of the part that is shown: few enough to tell apart."""


def draw(studio: Studio, path: Path) -> str:
    """Draw four test samples, and a part of the grid solver's elements about the first."""
    square, found = studio.square, studio.scene.phantoms
    assert found is not None
    with picture(path, 1, 5, 2.4) as axes:
        for k, panel in enumerate(axes[0, :4]):
            show_field(panel, phantoms.conductivity(square, found.phantom(k)), f"σ, test sample {k}")
        _mesh(axes[0, 4], found[:1])
    return ""


def _mesh(axes: Axes, phantom: PhantomBatch) -> None:
    """Draw cells in one material whole, cut ones as two triangles, each split along a chord of the interface."""
    square = Square(CELLS)
    nodes, level = square.nodes(), phantoms.level_set(square, phantom)[0]
    cells, _ = as_grid_conductivity(square, phantom, CPU)[0].elements(square)
    cut = cells.saddle[0] == -1
    diagonals = torch.stack([nodes[:-1, :-1][cut], nodes[1:, 1:][cut]], 1)
    for lines in (nodes, nodes.transpose(0, 1), diagonals):
        axes.add_collection(LineCollection([*lines.numpy()], colors="0.7", linewidths=0.6))
    axes.add_collection(LineCollection([*chords(square, phantom).numpy()], colors="black", linewidths=1.2))
    i, j = (min(max(int(k) - SPAN // 2, 0), CELLS - SPAN) for k in divmod(int(level.argmin()), CELLS + 1))
    (left, low), (right, high) = nodes[i, j].tolist(), nodes[i + SPAN, j + SPAN].tolist()
    axes.set(title=f"elements, n = {CELLS}", aspect="equal", xlim=(left, right), ylim=(low, high))


def chords(square: Square, phantom: PhantomBatch) -> Tensor:
    """The chords (chords, 2, 2) of the interface along which the grid solver splits its triangles."""
    _, kinks = as_grid_conductivity(square, phantom, CPU)[0].elements(square)
    u, v = kinks.vertices[:, 0], kinks.vertices[:, 1]
    points = square.nodes().flatten(0, 1)
    start, end = points[u[0]], points[v[0]]
    sigma = phantoms.conductivity(square, phantom).flatten(1)
    crossing = start + bisection(square, phantom, sigma)(u, v)[0, :, None] * (end - start)
    return torch.stack([crossing, crossing[kinks.follower[0]]], 1)[kinks.present[0]]
