"""A phantom as JSON.

    {"outside": 1.0,
     "shapes": [{"kind": "ellipse", "center": [0.2, -0.1], "semi_axes": [0.15, 0.3], "angle": 0.4, "conductivity": 10},
                {"kind": "circle", "center": [-0.5, 0.4], "radius": 0.2},
                {"kind": "polygon", "vertices": [[-0.6, -0.6], [-0.2, -0.6], [-0.4, -0.2]], "conductivity": 5}]}

`outside` is 1 and a shape's `conductivity` 10 where left out; where shapes overlap, the later in the list counts.
"""

import inspect
import json
import math
from collections.abc import Callable
from typing import Any

from eitlens.checks import with_keys
from eitlens.errors import InputError, prefix_errors
from eitlens.phantom.base import Shape
from eitlens.phantom.ellipse import Ellipse, circle
from eitlens.phantom.kinds import KINDS
from eitlens.phantom.phantom import Phantom
from eitlens.phantom.polygon import Polygon
from eitlens.phantom.smooth import cross, rectangle

MOST_SHAPES, MOST_VERTICES, LARGEST_FILE = 100, 1000, 1 << 20  # more than a drawing has; bounds on the work
_INSIDE, _OUTSIDE = 10.0, 1.0  # the paper's conductivities


def parse(content: bytes, where: str) -> Phantom:
    """The phantom in the bytes of a JSON file; `where` names it in errors."""
    values = json_of(content, where)
    with prefix_errors(where):
        return from_dict(values)


def json_of(content: bytes, where: str) -> object:
    """The plain JSON values in the bytes of a phantom's file."""
    if len(content) > LARGEST_FILE:
        raise InputError(f"{where}: more than {LARGEST_FILE >> 20} MiB: is it a phantom?")
    try:
        values: object = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: not a JSON file ({error}): see docs/measurements.md for an example"
        ) from None
    return values


def from_dict(values: object) -> Phantom:
    """The phantom from plain JSON values, each checked."""
    top = with_keys(values, "phantom", ("shapes", "outside"), ("shapes",))
    shapes = top["shapes"]
    if not isinstance(shapes, list) or len(shapes) > MOST_SHAPES:
        raise InputError(f"shapes: expected a list of at most {MOST_SHAPES} shapes")
    pairs = [_shape(value, f"shape {k}") for k, value in enumerate(shapes)]
    outside = _number(top.get("outside", _OUTSIDE), "outside")
    return Phantom([shape for shape, _ in pairs], [sigma for _, sigma in pairs], outside)


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


def _rectangle(values: dict[str, Any]) -> Shape:
    sides = _pair(values["sides"], "sides")
    return rectangle(_pair(values["center"], "center"), sides, **_turned(values))


def _cross(values: dict[str, Any]) -> Shape:
    size, width = (_number(values[key], key) for key in ("size", "width"))
    return cross(_pair(values["center"], "center"), size, width, **_turned(values))


def _turned(values: dict[str, Any]) -> dict[str, float]:
    return {key: _number(values[key], key) for key in ("angle", "radius") if key in values}


Make = Callable[[dict[str, Any]], Shape]
Names = tuple[str, ...]
_FORMS: dict[str, tuple[Make, Names, Names]] = {
    "ellipse": (_ellipse, ("center", "semi_axes"), ("angle",)),
    "circle": (_circle, ("center", "radius"), ()),
    "polygon": (_polygon, ("vertices",), ()),
    "rectangle": (_rectangle, ("center", "sides"), ("angle", "radius")),
    "cross": (_cross, ("center", "size", "width"), ("angle", "radius")),
}
"""A shape's name, how it is made, and the keys it must and may have."""


def _shape(value: object, where: str) -> tuple[Shape, float]:
    kind = value.get("kind") if isinstance(value, dict) else None
    make, needed, optional = _form(kind, where)
    values = with_keys(value, where, (*needed, *optional, "kind", "conductivity"), needed)
    with prefix_errors(where):
        shape = make(values)
    return shape, _number(values.get("conductivity", _INSIDE), f"{where}: conductivity")


def _form(kind: object, where: str) -> tuple[Make, Names, Names]:
    """The way a kind of shape is made of JSON values; of a user's own kind the arguments are the keys."""
    if isinstance(kind, str) and kind in _FORMS:
        return _FORMS[kind]
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join([*_FORMS, *(name for name in KINDS if name not in _FORMS)])
        raise InputError(f"{where}: 'kind' must be one of {known}, got {str(kind)[:40]!r}")
    own, arguments = KINDS[kind], inspect.signature(KINDS[kind]).parameters.values()
    needed = tuple(argument.name for argument in arguments if argument.default is argument.empty)
    optional = tuple(argument.name for argument in arguments if argument.default is not argument.empty)

    def make(values: dict[str, Any]) -> Shape:
        return own(**{key: values[key] for key in needed + optional if key in values})

    return make, needed, optional


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
