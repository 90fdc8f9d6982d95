"""Random conductivities on the unit disk as images: the three tasks of de Hoop, Kovachki, Lassas and Nelsen.

All begin with a Gaussian field on [-1, 1]², with z = (x + 1) / 2 in the unit square,

    U(x) = Σ_k 2 τ^(α-1) (π² |k|² + τ²)^(-α/2) ξ_k cos(π k₁ z₁) cos(π k₂ z₂),   k ∈ {0, 1, …}², k ≠ 0,

ξ_k independent and standard normal: the covariance (τ² - Δ)^(-α) of the square with a flux of zero at its sides. A
field has about α - 1 derivatives, and its lengths are about 1/τ.

- `ShapeTask`: σ = 100 where U >= 0, else 1, and 1 beyond the radius 0.7.
- `ThreePhaseTask`: two fields with one τ and α; σ is 1 where U₁ < 0, elsewhere one value where U₂ >= 0, another where
  not; 1 beyond a radius.
- `LognormalTask`: σ = 1 + w (e^U - 1); the weight w(|x|) is 1 to an inner radius a, 0 from an outer radius b, and
  between them ½ (1 + tanh((1/(r - a) + 1/(r - b)) / s)).

Reference: Extension and neural operator approximation of the electrical impedance tomography inverse map, arXiv
2511.20361, 2025. The ranges of the parameters are those of its code (github.com/nickhnelsen/learning-eit, scripts of
`data_generation`), and so are the series, with its factor 2 also for k₁ = 0 or k₂ = 0, and the grid of 256² nodes. It
cuts the series at 256 waves a side. What lies beyond our 128 has a variance of at most 10⁻⁵ of the field's.

Sample k of a seed is a function of both alone (`eitlens.random`), equal on all devices to rounding.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.errors import InputError
from eitlens.random import normal, uniform

NODES = 256
"""Nodes a side of the published images, from -1 to 1."""
WAVES = 128
Images = Float64[Tensor, "samples nodes nodes"]
Each = Float64[Tensor, "samples"]
Range = tuple[float, float]


def matern_amplitudes(tau: Each, alpha: Each) -> Float64[Tensor, "samples waves waves"]:
    """The standard deviations of the coefficients of cos(π k₁ z₁) cos(π k₂ z₂); 0 for k = 0."""
    tau, alpha = tau[:, None, None], alpha[:, None, None]
    square = torch.arange(WAVES, dtype=torch.float64, device=tau.device).square()
    size = 2 * tau ** (alpha - 1) * (math.pi**2 * (square[:, None] + square) + tau**2) ** (-alpha / 2)
    size[:, 0, 0] = 0.0
    return size


def gaussian_fields(
    seed: int, index: Int64[Tensor, "samples"], tau: Each, alpha: Each, nodes: int, stream: int
) -> Images:
    """U at nodes × nodes points of [-1, 1]², [i, j] at x_i and y_j."""
    draws = torch.unflatten(normal(seed, index, WAVES**2, stream), -1, (WAVES, WAVES))
    place = torch.linspace(0, math.pi, nodes, dtype=torch.float64, device=index.device)
    cosines = torch.cos(place[:, None] * torch.arange(WAVES, device=index.device))
    found: Tensor = cosines @ (matern_amplitudes(tau, alpha) * draws) @ cosines.T
    return found


def radii(nodes: int, device: torch.device) -> Float64[Tensor, "nodes nodes"]:
    """The distance of each node from the centre."""
    x = torch.linspace(-1, 1, nodes, dtype=torch.float64, device=device)
    return torch.hypot(x[:, None], x)


@dataclass(frozen=True)
class DiskTask(ABC):
    """Random images of σ on [-1, 1]², 1 near the circle and outside; parameters are uniform in their ranges."""

    seed: int
    name: ClassVar[str]
    sharp: ClassVar[bool]
    """Whether σ is constant on pieces, so that a pixel has the value of its nearest node."""
    reach: ClassVar[float]
    """A radius beyond which σ is 1 for all samples, pixels of sharp ones included."""
    ranges: ClassVar[Mapping[str, Range]]

    def parameters(self, index: Int64[Tensor, "samples"]) -> dict[str, Each]:
        """The parameters of some samples by name."""
        draws = uniform(self.seed, index, len(self.ranges), stream=0)
        return {
            name: low + (high - low) * draws[:, k]
            for k, (name, (low, high)) in enumerate(self.ranges.items())
        }

    def fields(self, index: Int64[Tensor, "samples"], nodes: int, stream: int) -> Images:
        """Gaussian fields of the samples; each stream has its own."""
        drawn = self.parameters(index)
        return gaussian_fields(self.seed, index, drawn["tau"], drawn["alpha"], nodes, stream)

    @abstractmethod
    def images(self, index: Int64[Tensor, "samples"], nodes: int = NODES) -> Images:
        """σ at the nodes."""


@dataclass(frozen=True)
class ShapeTask(DiskTask):
    """Contrast 100, where a Gaussian field is positive."""

    name = "shape"
    sharp = True
    reach = 0.72
    ranges: ClassVar[Mapping[str, Range]] = {"tau": (20, 20), "alpha": (4.5, 4.5)}
    radius: ClassVar[float] = 0.7
    contrast: ClassVar[float] = 100.0

    def images(self, index: Int64[Tensor, "samples"], nodes: int = NODES) -> Images:
        """σ at the nodes."""
        inside = (self.fields(index, nodes, 1) >= 0) & (radii(nodes, index.device) <= self.radius)
        return torch.where(inside, self.contrast, 1.0).double()


@dataclass(frozen=True)
class ThreePhaseTask(DiskTask):
    """A background of 1 with conductors and resistors, by the signs of two Gaussian fields."""

    name = "three-phase"
    sharp = True
    reach = 0.92
    ranges: ClassVar[Mapping[str, Range]] = {
        "tau": (12, 18),
        "alpha": (4, 5),
        "radius": (0.65, 0.9),
        "conductor": (2, 10),
        "resistor": (0.1, 0.5),
    }

    def images(self, index: Int64[Tensor, "samples"], nodes: int = NODES) -> Images:
        """σ at the nodes."""
        drawn = {name: value[:, None, None] for name, value in self.parameters(index).items()}
        first, second = (self.fields(index, nodes, stream) for stream in (1, 2))
        inside = (first >= 0) & (radii(nodes, index.device) <= drawn["radius"])
        return torch.where(inside, torch.where(second >= 0, drawn["conductor"], drawn["resistor"]), 1.0)


@dataclass(frozen=True)
class LognormalTask(DiskTask):
    """The exponential of a Gaussian field, brought to 1 smoothly towards the circle."""

    name = "lognormal"
    sharp = False
    reach = 0.96
    ranges: ClassVar[Mapping[str, Range]] = {
        "tau": (7, 9),
        "alpha": (3, 4),
        "inner": (0.5, 0.55),
        "outer": (0.85, 0.95),
        "scale": (7.5, 8.5),
    }

    def images(self, index: Int64[Tensor, "samples"], nodes: int = NODES) -> Images:
        """σ at the nodes."""
        drawn = {name: value[:, None, None] for name, value in self.parameters(index).items()}
        r, inner, outer = radii(nodes, index.device), drawn["inner"], drawn["outer"]
        slope = (1 / (r - inner) + 1 / (r - outer)) / drawn["scale"]
        weight = torch.where(r <= inner, 1.0, torch.where(r < outer, (1 + torch.tanh(slope)) / 2, 0.0))
        return 1 + weight * torch.expm1(self.fields(index, nodes, 1))


TASKS: dict[str, type[DiskTask]] = {task.name: task for task in (ShapeTask, ThreePhaseTask, LognormalTask)}


def task_of(name: str, seed: int) -> DiskTask:
    """The task with a name."""
    if name not in TASKS:
        raise InputError(f"no task is called {name!r}: choose one of {', '.join(TASKS)}")
    return TASKS[name](seed)
