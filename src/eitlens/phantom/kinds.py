"""The kinds of shapes by name: those of the package, and those that a user registers."""

from eitlens.errors import InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.ellipse import Ellipse
from eitlens.phantom.polygon import Polygon
from eitlens.phantom.smooth import RoundedPolygon, Star
from eitlens.registry import Registry


def _accepted(name: str, thing: object) -> type[Shape]:
    if not (isinstance(thing, type) and issubclass(thing, Shape)):
        raise InputError(f"shape {name!r}: expected a class that derives from Shape, got {thing!r}")
    return thing


_OURS: dict[str, type[Shape]] = {
    "ellipse": Ellipse,
    "polygon": Polygon,
    "star": Star,
    "rounded-polygon": RoundedPolygon,
}
KINDS: Registry[type[Shape]] = Registry("shape", _OURS, _accepted)


def name_of(kind: type[Shape]) -> str:
    """Return the name of a kind of shape in files."""
    for name, known in KINDS.items():
        if known is kind:
            return name
    raise InputError(
        f"{kind.__name__} has no name in files: eitlens.register('shape', NAME, {kind.__name__})"
    )
