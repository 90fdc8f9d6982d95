"""Diagrams of networks, made from the code: what PyTorch records when it exports a module, not what somebody drew.

`trace` follows the data through a module. Each of the `parts` named is one box, and so is each operation outside of
them that `OPERATIONS` knows; everything else (reshaping, slicing, casts) is an arrow. `draw` places the boxes: to the
right of all that they read from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from torch import Tensor, nn
from torch.fx import Node

OPERATIONS = {
    "upsample_bilinear2d": "bilinear",
    "max_pool2d": "maximum",
    "matmul": "product",
    "softmax": "softmax",
    "scaled_dot_product_attention": "softmax attention",
    "add": "sum",
    "cat": "join",
    "sigmoid": "sigmoid",
}
"""Operations of PyTorch that are boxes of their own, and what they are called."""
WIDTH, HEIGHT = 0.82, 0.62
"""Of a box, in columns and rows."""
REACH = WIDTH / 2 + 0.03
"""From the middle of a box to where its arrows begin."""
LINE, LANE = "0.35", "lane"
"""The colour of arrows, and the kind of a box that is none: an arrow on its way."""


class Box(NamedTuple):
    """A step of a network: its name, what it is, the shape that it gives (without the batch), and whom it reads."""

    name: str
    kind: str
    shape: tuple[int, ...]
    reads: tuple[str, ...]


@dataclass
class _Tracer:
    """Sorts the nodes of an exported graph into boxes, in their order."""

    parts: dict[str, str]
    parameters: dict[str, str]
    boxes: dict[str, Box] = field(default_factory=dict)
    sources: dict[Node, tuple[str, ...]] = field(default_factory=dict)
    owners: dict[Node, str] = field(default_factory=dict)

    def add(self, node: Node) -> None:
        """Follow one node."""
        if node.name in self.parameters:
            self.sources[node], self.owners[node] = (), self.parameters[node.name]
            return
        read = _unique(source for one in node.all_input_nodes for source in self.sources[one])
        name, kind = self._box(node, read)
        if not name:
            self.sources[node] = read
            if not read and node.all_input_nodes:
                self.owners[node] = next(
                    (self.owners[n] for n in node.all_input_nodes if n in self.owners), ""
                )
            return
        known = self.boxes[name].reads if name in self.boxes else ()
        reads = _unique(source for source in (*known, *read) if source != name)
        shape = tuple(node.meta["val"].shape[1:]) if isinstance(node.meta.get("val"), Tensor) else ()
        self.boxes[name], self.sources[node] = Box(name, kind, shape, reads), (name,)

    def _box(self, node: Node, read: tuple[str, ...]) -> tuple[str, str]:
        """The name and the kind of the box that a node belongs to; none for an arrow."""
        if node.op == "placeholder":
            return node.name, "input"
        stack = list((node.meta.get("nn_module_stack") or {"": ("", "")}).values())
        # A layer may use the weights of another module: where these meet the data, it is that module.
        paths = [stack[-1][0], *(self.owners.get(one, "") for one in node.all_input_nodes)]
        part = next((part for part in self.parts for path in paths if f"{path}.".startswith(f"{part}.")), "")
        operation = str(node.target).removeprefix("aten.").partition(".")[0]
        if part and read:
            return part, self.parts[part]
        if not part and operation in OPERATIONS and len(read) > (operation == "add"):
            return node.name, OPERATIONS[operation]
        return "", ""


def trace(module: nn.Module, inputs: tuple[Tensor, ...], parts: Sequence[str]) -> list[Box]:
    """The boxes of a module in the order of their computation; `parts` are paths of modules in it.

    >>> from eitlens.figures.diagram import trace
    >>> module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> [box.name for box in trace(module, (torch.zeros(1, 2),), ["0", "1"])]
    ['input', '0', '1']
    """
    exported = torch.export.export(module.eval(), inputs, strict=False)
    signature = exported.graph_signature
    weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    tracer = _Tracer(
        {part: type(module.get_submodule(part)).__name__ for part in parts},
        {name: path.rpartition(".")[0] for name, path in weights.items()},
    )
    for node in exported.graph.nodes:
        if node.op != "output":
            tracer.add(node)
    return list(tracer.boxes.values())


def columns(boxes: Sequence[Box]) -> dict[str, int]:
    """The column of each box: one more than the last of those that it reads."""
    found: dict[str, int] = {}
    for box in boxes:
        found[box.name] = 1 + max((found[name] for name in box.reads), default=-1)
    return found


def with_lanes(boxes: Sequence[Box]) -> list[Box]:
    """The boxes, with a lane in every column that an arrow passes on its way."""
    column, found = columns(boxes), dict[str, Box]()
    for box in boxes:
        reads = []
        for name in box.reads:
            last = name
            for passed in range(column[name] + 1, column[box.name]):
                lane = f"{name} in {passed}"
                found.setdefault(lane, Box(lane, LANE, (), (last,)))
                last = lane
            reads.append(last)
        found[box.name] = box._replace(reads=tuple(reads))
    return list(found.values())


def rows(boxes: Sequence[Box]) -> dict[str, float]:
    """A row for each box: near those that it reads, a row away from the others of its column."""
    column, found = columns(boxes), dict[str, float]()
    for index in range(1 + max(column.values())):
        own = [box for box in boxes if column[box.name] == index]
        wish = {box.name: sum(found[name] for name in box.reads) / max(1, len(box.reads)) for box in own}
        middle = sum(wish.values()) / len(wish) + (len(own) - 1) / 2
        # Highest first; among equals in the order of the code.
        for place, name in enumerate(sorted(wish, key=lambda name: -wish[name])):
            found[name] = middle - place
    return found


def draw(axes: Axes, boxes: Sequence[Box], row: dict[str, float], label: Callable[[Box], str]) -> None:
    """Draw the boxes, each in its column and in its row, and arrows from those that it reads."""
    column = columns(boxes)
    places = {box.name: (float(column[box.name]), row[box.name]) for box in boxes}
    for box in boxes:
        x, y = places[box.name]
        for name in box.reads:
            _arrow(axes, places[name], (x, y), head=box.kind != LANE)
        if box.kind == LANE:
            axes.plot([x - REACH, x + REACH], [y, y], color=LINE, linewidth=0.7, zorder=1)
            continue
        style: dict[str, Any] = {"boxstyle": "round,pad=0.02", "edgecolor": "0.2", "linewidth": 0.8}
        corner = (x - WIDTH / 2, y - HEIGHT / 2)
        axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, facecolor=_shade(box), zorder=2, **style))
        axes.text(x, y, label(box), ha="center", va="center", fontsize=6, zorder=3)
    across, down = zip(*places.values(), strict=True)
    axes.set(xlim=(min(across) - 0.6, max(across) + 0.6), ylim=(min(down) - 0.6, max(down) + 0.6))
    axes.set_axis_off()


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], head: bool) -> None:
    """A line from the right side of a box to the left side of another."""
    begin, stop = (start[0] + REACH, start[1]), (end[0] - REACH, end[1])
    style: dict[str, Any] = {"color": LINE, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", stop, begin, arrowprops={"arrowstyle": "-|>" if head else "-", **style}, zorder=1)


def _shade(box: Box) -> str:
    """White for operations without weights, grey for modules, which have some."""
    return "white" if box.kind in ("input", *OPERATIONS.values()) else "0.88"


def _unique(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
