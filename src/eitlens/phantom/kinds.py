"""The registry of shapes: adding one is a line here, and it joins every batch, sampler test and rasteriser."""

from eitlens.phantom.base import Shape
from eitlens.phantom.ellipse import Ellipse
from eitlens.phantom.polygon import Polygon

KINDS: tuple[type[Shape], ...] = (Ellipse, Polygon)
