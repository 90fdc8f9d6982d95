"""The choice of solver and grid: the solvers by name, and the boundary data of any phantom by the one that suits it.

Measured against 1600 cells a side, for thin ellipses and needles of contrast 10: f - f0 by the grid solver is off by 7
to 30 % where a shape is about one cell thick, by 1 % at two and by 0.3 % at three; how near it is to the boundary does
not matter. To the boundary integral equation, which takes the current for point sources at the boundary nodes, only
that matters: a circle a sixth of a cell from a side is off by 6 %, at half a cell by 1e-4, at a whole one by less than
1e-5.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from eitlens.domain import Domain, boundary
from eitlens.errors import InputError
from eitlens.forward.base import Currents, Data, Solver, check_currents
from eitlens.forward.currents import project
from eitlens.forward.elements import ElementSolver
from eitlens.forward.elements.outline import DEFAULT
from eitlens.forward.grid import GridSolver
from eitlens.forward.integral.outlines import needed_nodes
from eitlens.forward.integral.solver import BoundaryIntegralSolver
from eitlens.phantom import Phantom, Shape, as_batch, check_inside
from eitlens.phantom.raster import room
from eitlens.registry import Registry

CELLS_ACROSS = 3
"""So many cells of the grid solver are needed across a shape."""
COARSEST, FINEST = 100, 1000
"""Cells a side the grid solver needs for any shape, and those to which a grid is refined at most: for three currents
0.05 and 11 seconds."""
EDGES_ACROSS = 2
"""So many elements across a shape leave one percent, or two to three where thin ones of opposite contrast cross."""
MOST_EDGES = 360
"""Edges of finite elements around a body, at most: four times their default, 20,000 triangles."""
_POINTS = 256  # of an outline, for its perimeter to a thousandth
_EXACT = 1 - 1e-9  # what rounding takes from a distance of exactly a cell is nothing


def _accepted(name: str, thing: object) -> Callable[..., Solver]:
    if not (isinstance(thing, type) and issubclass(thing, Solver)):
        raise InputError(f"solver {name!r}: expected a class that derives from Solver, got {thing!r}")
    return thing


SOLVERS: Registry[Callable[..., Solver]] = Registry(
    "solver",
    {"boundary-integral": BoundaryIntegralSolver, "elements": ElementSolver, "grid": GridSolver},
    _accepted,
)
"""The solvers by name: those of the package, and those that a user registers."""


@dataclass(frozen=True)
class Effort:
    """The accuracy wanted of the data, and the work it may take."""

    tolerance: float = 1e-9
    """Relative error of the boundary integral equation."""
    unknowns: int | None = None
    """Most unknowns of that equation; where it needs more, the grid solver is quicker."""
    grid_tolerance: float = 1e-6
    """Relative residual at which the grid solver stops."""
    cells: int | None = None
    """Cells a side of the grid for thick shapes; those of the body where None."""
    finest: int = FINEST
    """Most cells a side for thin shapes, or for shapes near the boundary."""


EXACT = Effort()
"""For files and data that others compute with."""
QUICK = Effort(tolerance=1e-6, unknowns=600, grid_tolerance=1e-5, cells=COARSEST, finest=400)
"""For a picture that follows the hand: milliseconds by the integral equation, a twentieth of a second on the coarsest
grid and a second or two on the finest, within 0.3 % of the truth for ellipses and 3 % for needles."""


def simulate(phantom: Phantom, body: Domain, currents: Currents, effort: Effort = EXACT) -> tuple[Data, str]:
    """The data f - f0 of a phantom, to nine digits for ellipses apart; and the name of the solver.

    All else is solved on the grid in the square, and by finite elements in other bodies. Where the grid is too coarse
    for a shape (`for_grid`), a finer one is solved on and read at the nodes of the given one; a shape too
    thin for the finest is an error. The currents are interpolated then, by splines of fourth order in the size of the
    cells: the data are off by 4e-5 for it at cos 3θ and by 0.2 % at cos 8θ on 16 cells a side.
    """
    g = check_currents(body, currents)
    check_inside(body, as_batch(phantom))
    close = for_integral(phantom, body, effort.finest)
    if close is not None:
        there = _moved(g, body, close)
        exact = by_integral(phantom, close, there, effort.tolerance, effort.unknowns)
        if exact is not None:
            return _moved(exact, close, body), "boundary-integral"
    if not GridSolver.takes(body):
        return SOLVERS["elements"](body, size=for_elements(phantom, body)).difference(phantom, g), "elements"
    fine = for_grid(phantom, body.at(effort.cells) if effort.cells else body, effort.finest)
    found = SOLVERS["grid"](fine, tolerance=effort.grid_tolerance)
    return _moved(found.difference(phantom, _moved(g, body, fine)), fine, body), "grid"


def _moved(values: Tensor, given: Domain, wanted: Domain) -> Tensor:
    """Boundary values at the nodes of another grid of the body: untouched, picked out, or interpolated."""
    if wanted == given:
        return values
    times, rest = divmod(given.boundary_size, wanted.boundary_size)
    at_nodes = boundary.from_nodes(values, wanted.arclength(), given) if rest else values[:, ::times]
    return project(at_nodes)


def by_integral(
    phantom: Phantom, domain: Domain, currents: Currents, tolerance: float = 1e-9, most: int | None = None
) -> Data | None:
    """The data by the boundary integral equation; None where it does not hold or has more than `most` unknowns.

    Which shapes it holds for, ellipses apart from each other and from the boundary, the solver itself says. Whatever
    else may be wrong, a grid solver says as well.
    """
    try:
        if most is not None and _unknowns(phantom, domain, tolerance) > most:
            return None
        return BoundaryIntegralSolver(domain, tolerance).difference(phantom, currents)
    except InputError:
        return None


def _unknowns(phantom: Phantom, domain: Domain, tolerance: float) -> int:
    """Nodes on all outlines together."""
    shapes = len(phantom.shapes)
    return shapes * int(needed_nodes(domain, as_batch(phantom), tolerance)) if shapes else 0


def for_integral(phantom: Phantom, body: Domain, finest: int = FINEST) -> Domain | None:
    """The grid with boundary nodes close enough for the integral equation; None where the finest has not."""
    near = min((float(room(body, group).min()) for group in as_batch(phantom).groups), default=math.inf)
    fine = finer(body, near, finest)
    return fine if near > fine.boundary_weight / 2 * _EXACT else None


def for_grid(phantom: Phantom, body: Domain, finest: int = FINEST) -> Domain:
    """The grid that is fine enough for the grid solver; an error that names the shape for which none is."""
    thinnest = min(map(thickness, phantom.shapes), default=math.inf)
    fine = finer(body, min(thinnest / CELLS_ACROSS, 2 / COARSEST), finest)
    _check_thick(phantom, fine, finest)
    return fine


def for_elements(phantom: Phantom, body: Domain) -> float | None:
    """The longest edge of elements that see every shape, None for their own choice; an error where none does."""
    thinnest = min(map(thickness, phantom.shapes), default=math.inf)
    if thinnest >= EDGES_ACROSS * body.perimeter / DEFAULT:
        return None
    least = body.perimeter / MOST_EDGES
    if thinnest < least:
        raise InputError(
            f"a shape is {thinnest:.2g} thick (2 area / perimeter), less than the finest elements in the {body.name} "
            f"see: make it at least {least:.2g} thick"
        )
    return max(least, thinnest / EDGES_ACROSS)


def finer(body: Domain, size: float, finest: int = FINEST) -> Domain:
    """The grid, or the coarsest multiple of it, of `finest` cells a side at most, with cells no larger than `size`."""
    cells = body.shape[0] - 1
    times = math.ceil(min(body.boundary_weight / size * _EXACT, finest // cells))
    return body.at(cells * max(1, times))


def thickness(shape: Shape) -> float:
    """2 area / perimeter: the width of a long strip, straight or bent, and the radius of a circle.

    A mean: the thin handle of a large shape does not count for much, and neither do sharp corners.
    """
    row = shape.parameters()
    outline = shape.outline(row, _POINTS)
    perimeter = (outline.roll(-1, 0) - outline).norm(dim=-1).sum()
    return float(2 * shape.area(row) / perimeter)


def _check_thick(phantom: Phantom, body: Domain, finest: int) -> None:
    """Refuse a shape that the grid solver would hardly see."""
    cells, least = body.shape[0] - 1, CELLS_ACROSS * body.boundary_weight
    for k, shape in enumerate(phantom.shapes):
        if thickness(shape) < least * _EXACT:
            raise InputError(
                f"shape {k} ({type(shape).__name__}) is {thickness(shape):.2g} thick (2 area / perimeter), less than "
                f"{CELLS_ACROSS} cells of the finest grid for it, of {cells} cells a side: make it at least "
                f"{least:.2g} thick" + ("" if cells >= finest else f", or take an n that divides {finest}")
            )
