"""From a drawing to its phantom and its boundary data."""

from dataclasses import dataclass
from functools import lru_cache

from eitlens.domain import Square
from eitlens.domain.boundary import from_nodes
from eitlens.forward import currents
from eitlens.forward.automatic import SOLVERS, by_integral, for_grid
from eitlens.forward.base import Data
from eitlens.phantom import Ellipse, Phantom, Polygon
from eitlens.web.schema import EllipseShape, PolygonShape

BODY = Square(200)
"""The page is about this body: it draws a square, and its networks were trained on these 4 × 200 boundary nodes."""
_COARSE, _FINEST = BODY.at(100), 400
"""Grids for thick shapes and for the thinnest ones, a twentieth of a second and a second or two."""
_MOST_UNKNOWNS = 600
"""With more of them the coarse grid is quicker."""
_REMEMBERED = 64

Shapes = tuple[EllipseShape | PolygonShape, ...]


@dataclass(frozen=True)
class Simulated:
    """Boundary data f - f0 (L, 4 × 200) without noise, and how they were computed."""

    difference: Data
    solver: str


def phantom_of(shapes: Shapes) -> Phantom:
    """The shapes as a phantom in a body of conductivity 1."""
    return Phantom([_shape(shape) for shape in shapes], [shape.conductivity for shape in shapes])


@lru_cache(maxsize=_REMEMBERED)
def simulate(shapes: Shapes, count: int) -> Simulated:
    """The data for cos lθ, l = 1 … count; seen again with other noise, they are not computed again.

    Ellipses apart go through the boundary integral equation, in milliseconds. Everything else, and ellipses so thin or
    near each other that they need many unknowns, goes through the grid solver on 100 cells a side, or more for thin
    shapes, within 0.3 % of the truth for ellipses and 3 % for needles, and is interpolated.
    """
    phantom = phantom_of(shapes)
    exact = by_integral(phantom, BODY, currents.cosine(BODY, count), tolerance=1e-6, most=_MOST_UNKNOWNS)
    if exact is not None:
        return Simulated(exact, "boundary integral")
    grid = for_grid(phantom, _COARSE, _FINEST)
    found = SOLVERS["grid"](grid, tolerance=1e-5).difference(phantom, currents.cosine(grid, count))
    return Simulated(currents.project(from_nodes(found, BODY.arclength(), grid)), "grid")


def _shape(shape: EllipseShape | PolygonShape) -> Ellipse | Polygon:
    if isinstance(shape, EllipseShape):
        return Ellipse(shape.center, shape.semi_axes, shape.angle)
    return Polygon(shape.vertices)
