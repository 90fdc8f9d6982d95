"""The samplers of random phantoms by name: those of the package, and those that a user registers.

A configuration of a data set spells the name, as `"sampler": {"shapes": "worlds"}`.
"""

from eitlens.errors import InputError
from eitlens.phantom.objects import ObjectSampler
from eitlens.phantom.samplers import EllipseSampler, PolygonSampler
from eitlens.phantom.sampling import Sampler
from eitlens.phantom.worlds import WorldSampler
from eitlens.registry import Registry


def _accepted(name: str, thing: object) -> type[Sampler]:
    if not (isinstance(thing, type) and issubclass(thing, Sampler)):
        raise InputError(f"sampler {name!r}: expected a class that derives from Sampler, got {thing!r}")
    return thing


_OURS: dict[str, type[Sampler]] = {
    "ellipses": EllipseSampler,
    "polygons": PolygonSampler,
    "objects": ObjectSampler,
    "worlds": WorldSampler,
}
SAMPLERS: Registry[type[Sampler]] = Registry("sampler", _OURS, _accepted)
