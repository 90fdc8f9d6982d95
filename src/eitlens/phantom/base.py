"""What a shape is. Ellipse and Polygon are what we have; a new one is one file and a line in `kinds.py`."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from jaxtyping import Bool, Float64
from torch import Tensor


class Curve(NamedTuple):
    """A closed curve t ↦ z(t), t in [0, 2π), counter-clockwise, with its first two derivatives in t."""

    point: Float64[Tensor, "*batch nodes 2"]
    first: Float64[Tensor, "*batch nodes 2"]
    second: Float64[Tensor, "*batch nodes 2"]


class Shape(ABC):
    """One inclusion. An instance is a shape in plain numbers; the class knows how to work on many of them.

    `parameters` packs the shape into a row; the static methods take rows with any batch dimensions in front,
    so that a whole batch of phantoms is rasterised at once on any device, and are differentiable in the
    parameters.
    """

    @abstractmethod
    def parameters(self) -> Float64[Tensor, "parameters"]:
        """The shape as a row of numbers."""

    @staticmethod
    @abstractmethod
    def level_set(
        parameters: Float64[Tensor, "*#batch parameters"], points: Float64[Tensor, "*#batch points 2"]
    ) -> Float64[Tensor, "*#batch points"]:
        """A continuous function, negative inside the shape, zero on its boundary and positive outside."""

    @staticmethod
    @abstractmethod
    def within(
        parameters: Float64[Tensor, "*#batch parameters"],
        points: Float64[Tensor, "*#batch points 2"],
        gap: float,
    ) -> Bool[Tensor, "*#batch points"]:
        """Whether a point is inside the shape or about `gap` or less away from it."""

    @staticmethod
    @abstractmethod
    def bounds(parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch 4"]:
        """The bounding box (xmin, ymin, xmax, ymax)."""

    @staticmethod
    @abstractmethod
    def area(parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch"]:
        """The exact area."""

    @staticmethod
    @abstractmethod
    def outline(
        parameters: Float64[Tensor, "*batch parameters"], count: int
    ) -> Float64[Tensor, "*batch nodes 2"]:
        """About `count` points along the boundary, counter-clockwise, for drawing and for distances."""

    @staticmethod
    @abstractmethod
    def unpack(row: Float64[Tensor, "parameters"]) -> "Shape":
        """The shape from its row of numbers."""
