"""A phantom as JSON, and its boundary data by the solver that suits it.

    {"outside": 1.0,
     "shapes": [{"kind": "ellipse", "center": [0.2, -0.1], "semi_axes": [0.15, 0.3], "angle": 0.4, "conductivity": 10},
                {"kind": "circle", "center": [-0.5, 0.4], "radius": 0.2},
                {"kind": "polygon", "vertices": [[-0.6, -0.6], [-0.2, -0.6], [-0.4, -0.2]], "conductivity": 5}]}

`outside` is 1 and a shape's `conductivity` 10 where left out; where shapes overlap, the later in the list counts.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import torch

from eitlens.domain import Domain, Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, GridSolver, add_noise
from eitlens.forward.base import Currents, Data, check_currents
from eitlens.forward.currents import project
from eitlens.forward.outlines import needed_nodes
from eitlens.imaging import boundary, resolution
from eitlens.imaging.measurement import Measurement
from eitlens.imaging.naming import naming
from eitlens.phantom import Ellipse, Phantom, Polygon, Shape, as_batch, check_inside, circle

MOST_SHAPES, MOST_VERTICES, LARGEST_FILE = 100, 1000, 1 << 20
_INSIDE, _OUTSIDE = 10.0, 1.0


def parse(content: bytes, where: str) -> Phantom:
    """The phantom in the bytes of a JSON file; `where` names it in errors."""
    if len(content) > LARGEST_FILE:
        raise InputError(f"{where}: more than {LARGEST_FILE >> 20} MiB: is it a phantom?")
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: not a JSON file ({error}): see docs/measurements.md for an example"
        ) from None
    with naming(where):
        return from_dict(values)


def from_dict(values: object) -> Phantom:
    """The phantom from plain JSON values, each checked."""
    top = _object(values, "phantom", {"shapes", "outside"}, {"shapes"})
    shapes = top["shapes"]
    if not isinstance(shapes, list) or len(shapes) > MOST_SHAPES:
        raise InputError(f"shapes: expected a list of at most {MOST_SHAPES} shapes")
    pairs = [_shape(value, f"shape {k}") for k, value in enumerate(shapes)]
    outside = _number(top.get("outside", _OUTSIDE), "outside")
    return Phantom([shape for shape, _ in pairs], [sigma for _, sigma in pairs], outside)


def simulate(phantom: Phantom, square: Square, currents: Currents) -> tuple[Data, str]:
    """The data f - f0 of a phantom, to nine digits for ellipses apart, by the grid otherwise; and the solver's name.

    Where the grid is too coarse for a shape (`resolution`), a finer one is solved on and read at the nodes of the
    given one; a shape too thin for the finest is an error. The currents are interpolated then, by splines of fourth
    order in the size of the cells: the data are off by 4e-5 for it at cos 3θ and by 0.2 % at cos 8θ on 16 cells a side.
    """
    g = check_currents(square, currents)
    check_inside(square, as_batch(phantom))
    close = resolution.for_integral(phantom, square)
    exact = None if close is None else by_integral(phantom, close, _refined(g, square, close))
    if close is not None and exact is not None:
        return _thinned(exact, square, close), "boundary-integral"
    fine = resolution.for_grid(phantom, square)
    found = GridSolver(fine).difference(phantom, _refined(g, square, fine))
    return _thinned(found, square, fine), "grid"


def _refined(g: Currents, square: Square, fine: Square) -> Currents:
    """Currents at the nodes of a finer grid; untouched on the same."""
    return g if fine == square else project(boundary.from_nodes(g, fine.arclength(), square))


def _thinned(data: Data, square: Square, fine: Square) -> Data:
    """Data of a multiple of the grid at the nodes of the grid; untouched on the same."""
    return data if fine == square else project(data[:, :: fine.n // square.n])


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


def measured(
    domain: Domain, currents: Currents, difference: Data, outside: float, tau: float, seed: int, points: int
) -> Measurement:
    """Voltages as a device would give them: at the nodes, or at `points` even places, with noise on f - f0."""
    reference = domain.background(currents) / outside
    if points == 0:
        noisy = reference + add_noise(difference, tau, seed)
        return Measurement(domain.boundary(), currents, noisy, reference, None, outside, domain)
    s = (torch.arange(points, dtype=torch.float64) + 0.5) * (domain.perimeter / points)
    place, g, f0, change = (
        boundary.from_nodes(values, s, domain)
        for values in (domain.boundary().T, currents, reference, difference)
    )
    return Measurement(place.T, g, f0 + add_noise(change, tau, seed), f0, None, outside, domain)


def _ellipse(values: dict[str, Any]) -> Shape:
    angle = _number(values.get("angle", 0.0), "angle")
    return Ellipse(_pair(values["center"], "center"), _pair(values["semi_axes"], "semi_axes"), angle)


def _circle(values: dict[str, Any]) -> Shape:
    return circle(_pair(values["center"], "center"), _number(values["radius"], "radius"))


def _polygon(values: dict[str, Any]) -> Shape:
    vertices = values["vertices"]
    if not isinstance(vertices, list) or not 3 <= len(vertices) <= MOST_VERTICES:
        raise InputError(f"vertices: expected a list of 3 to {MOST_VERTICES} points [x, y]")
    return Polygon([_pair(vertex, f"vertex {k}") for k, vertex in enumerate(vertices)])


Make = Callable[[dict[str, Any]], Shape]
KINDS: dict[str, tuple[Make, set[str], set[str]]] = {
    "ellipse": (_ellipse, {"center", "semi_axes"}, {"angle"}),
    "circle": (_circle, {"center", "radius"}, set()),
    "polygon": (_polygon, {"vertices"}, set()),
}
"""A shape's name, how it is made, and the keys it must and may have."""


def _shape(value: object, where: str) -> tuple[Shape, float]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{where}: 'kind' must be one of {', '.join(KINDS)}, got {str(kind)[:40]!r}")
    make, needed, optional = KINDS[kind]
    values = _object(value, where, needed | optional | {"kind", "conductivity"}, needed)
    with naming(where):
        shape = make(values)
    return shape, _number(values.get("conductivity", _INSIDE), f"{where}: conductivity")


def _object(value: object, where: str, known: set[str], needed: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object with the keys {', '.join(sorted(known))}")
    for key in value:
        if key not in known:
            raise InputError(f"{where}: unknown key {str(key)[:40]!r}: it has {', '.join(sorted(known))}")
    for key in sorted(needed - value.keys()):
        raise InputError(f"{where}: {key!r} is missing")
    return value


def _pair(value: object, where: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"{where}: expected two numbers, got {str(value)[:40]}")
    return _number(value[0], where), _number(value[1], where)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: expected a number, got {str(value)[:40]!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or abs(number) > 1e6:
        raise InputError(f"{where}: expected a number of moderate size, got {str(value)[:40]}")
    return number
