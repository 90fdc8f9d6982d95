"""Inclusions in a body: shapes, phantoms, random samplers, and their pictures on a grid."""

from eitlens.phantom.base import Curve, Shape
from eitlens.phantom.batch import PhantomBatch, as_batch, stack
from eitlens.phantom.ellipse import Ellipse, circle
from eitlens.phantom.objects import ObjectSampler
from eitlens.phantom.phantom import Phantom
from eitlens.phantom.polygon import Polygon
from eitlens.phantom.raster import Phantoms, area_fraction, check_inside, conductivity, indicator, level_set
from eitlens.phantom.samplers import EllipseSampler, PolygonSampler
from eitlens.phantom.sampling import Sampler
from eitlens.phantom.smooth import RoundedPolygon, SmoothShape, Star, cross, rectangle
from eitlens.phantom.worlds import WorldSampler

__all__ = [
    "Curve",
    "Ellipse",
    "EllipseSampler",
    "ObjectSampler",
    "Phantom",
    "PhantomBatch",
    "Phantoms",
    "Polygon",
    "PolygonSampler",
    "RoundedPolygon",
    "Sampler",
    "Shape",
    "SmoothShape",
    "Star",
    "WorldSampler",
    "area_fraction",
    "as_batch",
    "check_inside",
    "circle",
    "conductivity",
    "cross",
    "indicator",
    "level_set",
    "rectangle",
    "stack",
]
