"""Kernels of Neumann-to-Dirichlet maps with a random field as noise, and their code: components by what noise leaves.

The kernel of Λ_σ on boundary × boundary is κ(θ, θ') = Σ_vw M[v, w] w_v(θ) w_w(θ'), with the waves w_v of unit length.
De Hoop, Kovachki, Lassas and Nelsen (arXiv 2511.20361) add to it δ ‖κ‖ times a random field of unit norm on the torus,
whose coefficient of orders (j, k) has a deviation proportional to

    s_jk = (4π² (j² + k²) + τ²)^(-α/2),    (j, k) ≠ (0, 0),    τ = 10, α = 1.5 (`KernelNoise`).

‖κ‖ is the norm of the kernel of Λ_σ itself on 256² pairs, not of the difference to Λ_1. So δ = 0.3 is loud.

A map over s has white noise. There the principal components a_i of random bodies are at the same time the components of
least and most noise: the coordinate z_i, of unit variance over bodies, is read with the deviation t / |a_i|, t = δ ‖κ‖,
independently of the others. Its posterior mean and deviation are

    z_i |a_i|² / (|a_i|² + t²)    and    t / √(|a_i|² + t²).

With a transpose, the symmetric part, nothing is lost: the rest of a noisy kernel is noise alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from eitlens.feature.maps import MapCode, MapPrior

POINTS = 256
"""Boundary points of the published kernels; their waves go to the order 128."""
Maps = Float64[Tensor, "*batch waves waves"]
Kernels = Float64[Tensor, "*batch points points"]
Codes = Float32[Tensor, "samples modes"]


def kernels(maps: Maps, points: int = POINTS) -> Kernels:
    """κ at pairs of `points` angles 2πi / points."""
    waves = _waves(maps.shape[-1] // 2, points, maps)
    return waves @ maps @ waves.mT


def maps_of(given: Kernels, count: int) -> Maps:
    """The symmetric part of a kernel between waves of orders 1 … `count`."""
    points = given.shape[-1]
    waves = _waves(count, points, given)
    found = (2 * math.pi / points) ** 2 * waves.mT @ given @ waves
    return (found + found.mT) / 2


def uniform_map(count: int) -> Float64[Tensor, "waves waves"]:
    """Λ_1, the identity over the orders."""
    return torch.diag(1 / torch.arange(1, count + 1, dtype=torch.float64).repeat(2))


def map_norms(differences: Maps) -> Float64[Tensor, "*batch"]:
    """‖κ‖ of Λ_σ with waves up to the order of the published kernels, from Λ_σ - Λ_1."""
    count = differences.shape[-1] // 2
    whole = differences + uniform_map(count).to(differences)
    beyond = sum(2 / k**2 for k in range(count + 1, POINTS // 2 + 1))
    found: Tensor = (whole.square().sum((-2, -1)) + beyond).sqrt()
    return found


def _waves(count: int, points: int, like: Tensor) -> Float64[Tensor, "points waves"]:
    theta = torch.arange(points, dtype=torch.float64, device=like.device) * (2 * math.pi / points)
    phase = theta[:, None] * torch.arange(1, count + 1, device=like.device)
    return torch.cat([phase.cos(), phase.sin()], -1) / math.sqrt(math.pi)


@dataclass(frozen=True)
class KernelNoise:
    """Random fields of unit mean square norm on boundary × boundary."""

    tau: float = 10.0
    alpha: float = 1.5

    def sizes(self, one: Float64[Tensor, "*any"], other: Float64[Tensor, "*any"]) -> Float64[Tensor, "*any"]:
        """The deviation of the coefficient of orders (j, k), so that those up to 128 have a sum of squares of 1."""
        orders = torch.arange(-POINTS // 2, POINTS // 2, dtype=torch.float64)
        every = self._raw(orders[:, None], orders)
        every[POINTS // 2, POINTS // 2] = 0.0
        size: Tensor = self._raw(one, other) / every.norm()
        return size

    def deviations(self, count: int) -> Float64[Tensor, "waves waves"]:
        """Those of the entries between waves of orders 1 … `count`, cosines and then sines."""
        order = torch.arange(1, count + 1, dtype=torch.float64).repeat(2)
        return self.sizes(order[:, None], order)

    def draw(
        self, batch: int, count: int, generator: torch.Generator
    ) -> Float64[Tensor, "batch waves waves"]:
        """Noise of level 1, not symmetric."""
        white = torch.randn(
            batch, 2 * count, 2 * count, generator=generator, dtype=torch.float64, device=generator.device
        )
        return white * self.deviations(count).to(white)

    def _raw(self, one: Float64[Tensor, "*any"], other: Float64[Tensor, "*any"]) -> Float64[Tensor, "*any"]:
        square: Tensor = 4 * math.pi**2 * (one.square() + other.square()) + self.tau**2
        raw: Tensor = square ** (-self.alpha / 2)
        return raw


@dataclass(frozen=True, eq=False)
class WhiteCode:
    """The components of maps over the deviations of their noise; `prior` is that of such maps."""

    prior: MapPrior
    noise: KernelNoise

    @staticmethod
    def fit(
        maps: Float64[Tensor, "samples waves waves"], modes: int, noise: KernelNoise | None = None
    ) -> "WhiteCode":
        """The code of these maps and of all turned and mirrored ones, cut at about so many components."""
        noise = noise or KernelNoise()
        return WhiteCode(MapPrior.fit(maps / noise.deviations(maps.shape[-1] // 2).to(maps), modes), noise)

    @property
    def size(self) -> int:
        """The number of components."""
        return self.prior.size

    @cached_property
    def strengths(self) -> Float64[Tensor, "modes"]:
        """|a_i|: a component is read with the deviation t / |a_i|."""
        size: Tensor = torch.linalg.vector_norm(self.prior.modes.flatten(1), dim=1)
        return size

    @cached_property
    def orders(self) -> Float64[Tensor, "modes"]:
        """The angular order of each component, real parts and then imaginary ones."""
        order = self.prior.order.double()
        return torch.cat([order, order[order > 0]])

    def coordinates(self, maps: Float64[Tensor, "samples waves waves"]) -> Float64[Tensor, "samples modes"]:
        """The z of maps, noisy or not."""
        return self.prior.coordinates(maps / self.noise.deviations(maps.shape[-1] // 2).to(maps))

    def posterior(self, z: Float64[Tensor, "samples modes"], size: Float64[Tensor, "samples"]) -> MapCode:
        """Mean and deviation of what was read as z with noise of size t."""
        signal, t = self.strengths.to(z).square(), size[:, None]
        whole = signal + t.square()
        return MapCode(z * signal / whole, t / whole.sqrt())

    def turned(
        self, z: Float64[Tensor, "samples modes"], angle: Float64[Tensor, "samples"]
    ) -> Float64[Tensor, "samples modes"]:
        """The z of the bodies turned counter-clockwise."""
        real, imaginary = self._parts(z)
        phase = angle[:, None] * self.prior.order.to(z)
        cos, sin = phase.cos(), phase.sin()
        return self._joined(real * cos - imaginary * sin, real * sin + imaginary * cos)

    def mirrored(self, z: Float64[Tensor, "samples modes"]) -> Float64[Tensor, "samples modes"]:
        """The z of the bodies mirrored at the x axis."""
        real, imaginary = self._parts(z)
        return self._joined(real, -imaginary)

    def _parts(self, z: Float64[Tensor, "samples modes"]) -> tuple[Tensor, Tensor]:
        count, turning = len(self.prior.order), self.prior.order > 0
        imaginary = torch.zeros_like(z[:, :count])
        imaginary[:, turning.to(z.device)] = z[:, count:]
        return z[:, :count], imaginary

    def _joined(self, real: Tensor, imaginary: Tensor) -> Float64[Tensor, "samples modes"]:
        return torch.cat([real, imaginary[:, (self.prior.order > 0).to(real.device)]], -1)

    def tensors(self) -> dict[str, Tensor]:
        """The parts, for a file."""
        return self.prior.tensors() | {"noise": torch.tensor([self.noise.tau, self.noise.alpha])}

    @staticmethod
    def from_tensors(tensors: Mapping[str, Tensor]) -> "WhiteCode":
        """The inverse of `tensors`."""
        tau, alpha = (float(value) for value in tensors["noise"])
        return WhiteCode(MapPrior.from_tensors(tensors), KernelNoise(tau, alpha))
