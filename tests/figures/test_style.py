"""The style that all figures share."""

import os

import pytest
import torch
from matplotlib.figure import Figure

from eitlens.errors import InputError
from eitlens.figures.style import picture, shared_bar, show_field


def test_a_node_is_the_middle_of_its_pixel():
    axes = Figure().subplots()
    show_field(axes, torch.zeros(5, 9), "", bar=False)
    left, right, bottom, top = axes.images[0].get_extent()
    for low, high, size in ((left, right, 5), (bottom, top, 9)):
        pixel = (high - low) / size
        assert low + pixel / 2 == pytest.approx(-1)
        assert high - pixel / 2 == pytest.approx(1)
    assert axes.get_xlim() == axes.get_ylim() == (-1, 1)


def test_panels_of_one_scale_share_a_bar():
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 2)
    for panel in axes:
        show_field(panel, torch.zeros(5, 5), "", bar=False, limits=(0, 1))
    shared_bar(axes, "probability")
    (bar,) = set(figure.axes) - set(axes)
    assert bar.get_ylabel() == "probability"
    assert bar.get_ylim() == (0, 1)


def test_a_full_disk_leaves_the_picture_that_was_there(tmp_path, monkeypatch):
    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "old.png"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"old\.png.*No space"), picture(path, 1, 1):
        pass
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_curves_in_grey_are_smaller(tmp_path):
    for grey in (False, True):
        with picture(tmp_path / f"{grey}.png", 1, 2, grey=grey) as axes:
            axes[0, 0].plot([0, 1], [0, 1], color="0.4")
    assert (tmp_path / "True.png").stat().st_size < (tmp_path / "False.png").stat().st_size / 2
