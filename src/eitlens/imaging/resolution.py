"""How fine a grid must be for the shapes of a phantom.

Measured against 1600 cells a side, for thin ellipses and needles of contrast 10: f - f0 by the grid solver is off by 7
to 30 % where a shape is about one cell thick, by 1 % at two and by 0.3 % at three; how near it is to the boundary does
not matter. To the boundary integral equation, which takes the current for point sources at the boundary nodes, only
that matters: a circle a sixth of a cell from a side is off by 6 %, at half a cell by 1e-4, at a whole one by less than
1e-5.
"""

import math

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.phantom import Phantom, Shape, as_batch
from eitlens.phantom.raster import room

CELLS_ACROSS = 3
"""So many cells of the grid solver are needed across a shape."""
COARSEST, FINEST = 100, 1000
"""Cells a side the grid solver needs for any shape, and those to which a grid is refined at most: for three currents
0.05 and 11 seconds."""
_POINTS = 256
# What rounding takes from a distance of exactly a cell is nothing.
_EXACT = 1 - 1e-9


def for_integral(phantom: Phantom, square: Square) -> Square | None:
    """The grid with boundary nodes close enough for the integral equation; None where the finest has not."""
    near = _clearance(phantom, square)
    fine = finer(square, near)
    return fine if near > fine.h / 2 * _EXACT else None


def for_grid(phantom: Phantom, square: Square, finest: int = FINEST) -> Square:
    """The grid that is fine enough for the grid solver; an error that names the shape for which none is."""
    thinnest = min(map(thickness, phantom.shapes), default=math.inf)
    fine = finer(square, min(thinnest / CELLS_ACROSS, 2 / COARSEST), finest)
    _check_thick(phantom, fine, finest)
    return fine


def finer(square: Square, size: float, finest: int = FINEST) -> Square:
    """The grid, or the coarsest multiple of it, of `finest` cells a side at most, with cells no larger than `size`."""
    times = math.ceil(min(square.h / size * _EXACT, finest // square.n))
    return square.at(square.n * max(1, times))


def thickness(shape: Shape) -> float:
    """2 area / perimeter: the width of a long strip, straight or bent, and the radius of a circle.

    A mean: the thin handle of a large shape does not count for much, and neither do sharp corners.
    """
    row = shape.parameters()
    outline = shape.outline(row, _POINTS)
    perimeter = (outline.roll(-1, 0) - outline).norm(dim=-1).sum()
    return float(2 * shape.area(row) / perimeter)


def _clearance(phantom: Phantom, square: Square) -> float:
    """How far the shapes stay from the boundary; ∞ if there are none."""
    return min((float(room(square, group).min()) for group in as_batch(phantom).groups), default=math.inf)


def _check_thick(phantom: Phantom, square: Square, finest: int) -> None:
    """Refuse a shape that the grid solver would hardly see."""
    least = CELLS_ACROSS * square.h
    for k, shape in enumerate(phantom.shapes):
        if thickness(shape) < least * _EXACT:
            raise InputError(
                f"shape {k} ({type(shape).__name__}) is {thickness(shape):.2g} thick (2 area / perimeter), less than "
                f"{CELLS_ACROSS} cells of the finest grid for it, of {square.n} cells a side: make it at least "
                f"{least:.2g} thick" + ("" if square.n >= finest else f", or take an n that divides {finest}")
            )
