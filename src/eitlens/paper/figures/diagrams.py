"""The paper's diagrams, Figs. 7 and 8, of UIT as the code has it: the attention blocks, and the network."""

import math
from pathlib import Path

import torch

from eitlens import models
from eitlens.figures.diagram import Box, columns, draw, rows, trace, with_lanes
from eitlens.figures.style import picture
from eitlens.paper.figures.studio import Studio

COARSE = ("position", "qkv", "norm_q", "norm_k", "norm_o", "out", "norm")
CROSS = (
    *("position_fine", "position_coarse", "query", "key", "value.mix", "value"),
    *("norm_q", "norm_k", "out", "shortcut", "norm"),
)
"""The modules of the two attention blocks that are boxes."""
LEVELS = 4
INCHES = 1.05
"""Of a column."""


def attention(studio: Studio, path: Path) -> str:
    """Draw Fig. 7: the attention on the coarsest grid, and the first from the coarse to a finer one."""
    network = models.create("uit", evaluation="explicit")
    width, size = 8 * network.config.width, network.config.sizes[-1]
    coarse, fine = torch.zeros(1, width, size, size), torch.zeros(1, width // 2, 2 * size, 2 * size)
    found = {
        "CoarseAttention": with_lanes(trace(network.get_submodule("coarse"), (coarse,), COARSE)),
        "CrossAttention": with_lanes(trace(network.get_submodule("cross.0"), (fine, coarse), CROSS)),
    }
    with picture(path, len(found), 1) as axes:
        for panel, (title, boxes) in zip(axes[:, 0], found.items(), strict=True):
            draw(panel, boxes, rows(boxes), _label)
            panel.set_title(
                f"{title} of UIT, coarsest grid {size} × {size}, kernel of {size**2} × {size**2} nodes"
            )
        axes[0, 0].figure.set_size_inches(INCHES * (1 + max(columns(boxes).values())), 5.2)
    return "kernels are formed here as in the paper; by default the product is taken in the other order"


def network(studio: Studio, path: Path) -> str:
    """Draw Fig. 8: UIT from its input to its output, one row a grid."""
    uit = models.create("uit")
    steps = range(LEVELS - 1)
    parts = [
        *(f"down.{k}" for k in range(LEVELS)),
        "coarse",
        *(f"{name}.{k}" for k in steps for name in ("cross", "up")),
    ]
    boxes = trace(uit, (uit.random_input(1, studio.square.n + 1),), [*parts, "head"])
    with picture(path, 1, 1) as axes:
        draw(axes[0, 0], boxes, {box.name: math.log2(min(box.shape[-1], 128)) for box in boxes}, _label)
        axes[0, 0].figure.set_size_inches(INCHES * (1 + max(columns(boxes).values())), 4.2)
    return f"{sum(p.numel() for p in uit.parameters()):,} parameters in the grey boxes"


def _label(box: Box) -> str:
    """What a box is, its name in the code where it is a module, and the shape of what it gives."""
    words = [box.name] if box.kind == "input" else [box.kind] if box.kind.islower() else [box.kind, box.name]
    return "\n".join([*words, " × ".join(map(str, box.shape))])
