"""The registry of shapes: a new one is a line here, and joins every batch, sampler test and rasteriser."""

from eitlens.phantom.base import Shape
from eitlens.phantom.ellipse import Ellipse
from eitlens.phantom.polygon import Polygon

KINDS: tuple[type[Shape], ...] = (Ellipse, Polygon)
