"""Pixels inside outlines, against the shapes' own level sets and by hand."""

import torch

import eitlens as eit
from eitlens.phantom.scanline import inside_pixels


def test_scan_lines_see_what_the_shapes_say():
    place = (torch.arange(64, dtype=torch.float64) + 0.5) / 32 - 1
    points = torch.stack(torch.meshgrid(place, place, indexing="ij"), -1).reshape(-1, 2)
    for shape in (
        eit.cross((0.1, -0.2), 0.9, 0.3, 0.4),
        eit.Star((-0.2, 0.1), 0.4, (0.0, 0.1), (0.0, 0.0, 0.1)),
    ):
        rows = shape.parameters()
        expected = (type(shape).level_set(rows, points) < 0).view(64, 64)
        found = inside_pixels(type(shape).curve(rows, 128).point, 64)
        assert int((found != expected).sum()) <= 2


def test_a_polygon_that_is_not_convex():
    letter = [[-0.8, -0.8], [0.8, -0.8], [0.8, 0.1], [0.1, 0.1], [0.1, 0.8], [-0.8, 0.8]]
    found = inside_pixels(torch.tensor(letter, dtype=torch.float64), 20)
    expected = torch.zeros(20, 20, dtype=torch.bool)
    expected[2:18, 2:11] = True
    expected[2:11, 2:18] = True
    assert torch.equal(found, expected)
