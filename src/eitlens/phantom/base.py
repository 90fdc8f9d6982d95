"""The contract of a shape. A new kind is one file and a line in `kinds.py`."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.errors import InputError

# Nodes that show how fast a curve's spectrum falls, and the size at which that is read: small, but above rounding.
_SPECTRUM, _SPECTRAL_FLOOR = 1024, 1e-10


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

    smooth: ClassVar[bool] = False
    """Whether the outline is a smooth `curve`."""

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
        """The shape from its row of numbers, without the padding."""

    @classmethod
    def curve(cls, parameters: Float64[Tensor, "*batch parameters"], count: int) -> Curve:
        """The boundary at `count` nodes of a smooth parameter, or an error where the boundary is not smooth.

        Boundary integrals need it. The trapezoid rule must converge fast in the parameter, so nodes may crowd.
        """
        raise InputError(
            f"BoundaryIntegralSolver needs smooth outlines, got a {cls.__name__}: use RoundedPolygon, or GridSolver"
        )

    @classmethod
    def reach(cls, parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch"]:
        """The width r of the strip around the real parameters in which the curve is analytic, about.

        The trapezoid rule with n nodes errs by exp(-r n). This reads r off the curvature: its spectrum at many nodes.
        """
        return _strip(cls.curve(parameters, _SPECTRUM))

    @classmethod
    def outlined(
        cls, parameters: Float64[Tensor, "*batch parameters"]
    ) -> "tuple[type[Shape], Float64[Tensor, '*batch numbers']]":
        """The kind and the rows with the same level sets that are quickest where many of them are asked for."""
        return cls, parameters

    @staticmethod
    def padded(row: Float64[Tensor, "parameters"], width: int) -> Float64[Tensor, "{width}"]:
        """The same shape as a longer row, in a batch with shapes of more parameters; most kinds have no such."""
        return row


def _strip(curve: Curve) -> Float64[Tensor, "*batch"]:
    """The least decay of the coefficients of z''/z' from the first to where they reach _SPECTRAL_FLOOR."""
    bend = torch.view_as_complex(curve.second.contiguous()) / torch.view_as_complex(curve.first.contiguous())
    size = torch.fft.fft(bend).abs()
    half = size.shape[-1] // 2
    folded = torch.maximum(size[..., 1:half], size.flip(-1)[..., : half - 1])
    floor = _SPECTRAL_FLOOR * (1 + folded.amax(-1, keepdim=True) / size.shape[-1]) * size.shape[-1]
    order = torch.arange(1, half, dtype=size.dtype, device=size.device)
    last = torch.where(folded > floor, order, 1.0).amax(-1)
    return -math.log(_SPECTRAL_FLOOR) / last
