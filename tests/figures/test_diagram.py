"""Diagrams of networks, from the code: every weight is in a box, and arrows are where data flow."""

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from eitlens import models
from eitlens.figures.diagram import LANE, Box, columns, draw, rows, trace, with_lanes
from eitlens.paper.figures.diagrams import COARSE, CROSS


class Small(nn.Module):
    """A sum past a layer, and weights that are used without calling their module."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        y = y + self.second(y.relu())
        return (self.last.weight * y[:, None]).sum(-1) + self.last.bias


def test_the_boxes_of_a_small_module() -> None:
    found = trace(Small(), (torch.zeros(1, 4),), ["first", "second", "last"])
    assert [(box.kind, box.reads) for box in found] == [
        ("input", ()),
        ("Linear", ("x",)),
        ("Linear", ("first",)),
        ("sum", ("first", "second")),
        ("Linear", (found[3].name,)),
    ]
    assert found[-1].shape == (2,)
    assert columns(found)["last"] == 4


def test_no_two_boxes_of_a_column_meet_and_long_arrows_have_lanes() -> None:
    found = with_lanes(trace(Small(), (torch.zeros(1, 4),), ["first", "second", "last"]))
    assert [box.kind for box in found].count(LANE) == 1
    column, row = columns(found), rows(found)
    places = {(column[box.name], row[box.name]) for box in found}
    assert len(places) == len(found)
    for x, y in places:
        assert all(abs(y - other) >= 1 for z, other in places if z == x and other != y)
    axes = Figure().subplots()
    draw(axes, found, row, lambda box: box.kind)
    assert len(axes.patches) == len(found) - 1
    assert len(axes.texts) == len(found) - 1 + sum(len(box.reads) for box in found)


@pytest.mark.parametrize(("part", "parts"), [("coarse", COARSE), ("cross.0", CROSS)])
def test_every_weight_of_an_attention_block_is_in_a_box(part: str, parts: tuple[str, ...]) -> None:
    block = models.create("uit", width=16, evaluation="explicit").get_submodule(part)
    inputs = (torch.zeros(1, 128, 16, 16),)
    inputs = (torch.zeros(1, 64, 32, 32), *inputs) if part == "cross.0" else inputs
    found = {box.name: box for box in trace(block, inputs, parts)}
    covered = [name for name, _ in block.named_parameters() if any(name.startswith(f"{p}.") for p in found)]
    assert covered == [name for name, _ in block.named_parameters()]
    products = [box for box in found.values() if box.kind == "product"]
    assert products[0].reads == ("norm_q", "norm_k")
    assert products[0].shape == (4, 256, 256)
    assert isinstance(found["norm"], Box)
