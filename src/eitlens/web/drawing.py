"""From a drawing to its phantom and its boundary data."""

from dataclasses import dataclass
from functools import lru_cache

import torch

from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, GridSolver, currents
from eitlens.forward.base import Data
from eitlens.imaging.boundary import from_nodes
from eitlens.phantom import Ellipse, Phantom, Polygon
from eitlens.web.schema import EllipseShape, PolygonShape

BODY = Square(200)
"""The page is about this body: it draws a square, and its networks were trained on these 4 × 200 boundary nodes."""
_COARSE = BODY.at(100)
_APART, _OUTLINE = 0.04, 96
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

    Ellipses well apart go through the boundary integral equation, in milliseconds. Everything else goes through the
    grid solver on 100 cells a side, within 0.1 % of the truth for shapes of some size, and is interpolated.
    """
    phantom = phantom_of(shapes)
    if smooth_and_apart(phantom):
        exact = BoundaryIntegralSolver(BODY, tolerance=1e-6)
        return Simulated(exact.difference(phantom, currents.cosine(BODY, count)), "boundary integral")
    coarse = GridSolver(_COARSE, tolerance=1e-5).difference(phantom, currents.cosine(_COARSE, count))
    return Simulated(currents.project(from_nodes(coarse, BODY.arclength(), _COARSE)), "grid")


def smooth_and_apart(phantom: Phantom) -> bool:
    """Whether all shapes are ellipses with some space between them and around them."""
    if not all(isinstance(shape, Ellipse) for shape in phantom.shapes):
        return False
    rows = torch.stack([shape.parameters() for shape in phantom.shapes])
    outline = Ellipse.outline(rows, _OUTLINE)
    near = Ellipse.within(rows[:, None], outline[None], _APART).any(-1)
    inside = bool((BODY.clearance(outline) > _APART).all())
    return inside and not bool((near & ~torch.eye(len(rows), dtype=torch.bool)).any())


def _shape(shape: EllipseShape | PolygonShape) -> Ellipse | Polygon:
    if isinstance(shape, EllipseShape):
        return Ellipse(shape.center, shape.semi_axes, shape.angle)
    return Polygon(shape.vertices)
