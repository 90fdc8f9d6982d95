"""A body of a user's own: the image of the unit disk under (z + a z²) / (1 + a). It registers itself and a sampler."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

import eitlens as eit
from eitlens.domain.base import CPU, ConformalMap, Domain, Extension

A = 0.2
SCALE = 1 + A
"""The pear then fits into the box [-1, 1]²."""
_MODES = 128
"""The speed along the boundary is analytic: its Fourier coefficients fall like (2 A)^k."""
_STEPS = 12
"""Steps of Newton's method, which doubles the digits each time."""


def forward(z: Tensor) -> Tensor:
    return (z + A * z.square()) / SCALE


def inverse(w: Tensor) -> Tensor:
    return (torch.sqrt(1 + 4 * A * SCALE * w) - 1) / (2 * A)


def circle(t: Tensor) -> Tensor:
    return torch.polar(torch.ones_like(t), t)


def speed(t: Tensor) -> Tensor:
    return (1 + 2 * A * circle(t)).abs() / SCALE


def _series() -> tuple[float, Tensor]:
    """Mean and cosine coefficients of the speed."""
    t = 2 * torch.pi * torch.arange(2 * _MODES, dtype=torch.float64) / (2 * _MODES)
    spectrum = torch.fft.rfft(speed(t)).real / (2 * _MODES)
    return float(spectrum[0]), 2 * spectrum[1:_MODES]


MEAN, COSINES = _series()
ORDERS = torch.arange(1, _MODES, dtype=torch.float64)


def arclength(t: Tensor) -> Tensor:
    return MEAN * t + torch.sin(t[..., None] * ORDERS) @ (COSINES / ORDERS)


def parameter(s: Tensor) -> Tensor:
    t = s / MEAN
    for _ in range(_STEPS):
        t = t - (arclength(t) - s) / speed(t)
    return t


@dataclass(frozen=True)
class Pear(Domain):
    """The pear on a grid of n cells a side over the box around it."""

    n: int
    boundary_nodes: int = 128
    name: ClassVar[str] = "pear"

    @property
    def boundary_size(self) -> int:
        return self.boundary_nodes

    @property
    def perimeter(self) -> float:
        return 2 * torch.pi * MEAN

    def boundary(self, device: torch.device = CPU) -> Tensor:
        return torch.view_as_real(forward(circle(parameter(self.arclength())))).to(device)

    def clearance(self, points: Tensor) -> Tensor:
        w, t = torch.complex(*points.unbind(-1)), self._foot(points)
        return (forward(circle(t)) - w).abs() * torch.where(inverse(w).abs() < 1, 1.0, -1.0)

    def locate(self, points: Tensor) -> Tensor:
        s = arclength(self._foot(points) % (2 * torch.pi)) % self.perimeter
        return torch.where(s < self.perimeter, s, 0.0)

    def _foot(self, points: Tensor) -> Tensor:
        """The parameter of the nearest boundary point: the best of some, then Newton's method."""
        w = torch.complex(*points.unbind(-1))
        some = 2 * torch.pi * torch.arange(256, dtype=torch.float64) / 256
        t = some[(forward(circle(some)) - w[..., None]).abs().argmin(-1)]
        for _ in range(_STEPS):
            z = circle(t)
            first, second = 1j * z * (1 + 2 * A * z) / SCALE, -z * (1 + 4 * A * z) / SCALE
            gap = forward(z) - w
            slope = (gap.conj() * first).real
            t = t - slope / ((gap.conj() * second).real + first.abs().square()).clamp(min=0.1)
        return t

    def conformal_map(self, points: Tensor) -> ConformalMap:
        z = inverse(torch.complex(*points.unbind(-1)))
        slope = 1 + 2 * A * z
        return ConformalMap(z, SCALE / slope, -2 * A * SCALE**2 / slope**3)

    def extend(self, values: Tensor) -> Tensor:
        return self.extend_with_gradient(values).value

    def extend_with_gradient(self, values: Tensor) -> Extension:
        inside = self.inside()
        w = torch.complex(*self.nodes()[inside].unbind(-1))
        z, c = inverse(w), self._coefficients(values)
        powers = z[:, None] ** self._orders()
        potential = (c @ powers.T).real - self._level(c)[..., None]
        slope = (
            (c * self._orders())
            @ (powers / z[:, None].where(z[:, None] != 0, 1)).T
            * (SCALE / (1 + 2 * A * z))
        )
        fields = []
        for part in (potential, slope.real, -slope.imag):
            field = values.new_zeros(*values.shape[:-1], *self.shape)
            field[..., inside] = part
            fields.append(field)
        return Extension(*fields)

    def background(self, values: Tensor) -> Tensor:
        trace = self._trace(self._coefficients(values))
        return trace - trace.mean(-1, keepdim=True)

    def _orders(self) -> Tensor:
        return torch.arange(1, self.boundary_nodes // 2, dtype=torch.float64)

    def _coefficients(self, values: Tensor) -> Tensor:
        """Those of F, φ = Re F(z) = Re Σ (c_k / k) z^k: the flux on the circle is that on the pear times the speed."""
        size = 4 * self.boundary_nodes
        t = 2 * torch.pi * torch.arange(size, dtype=torch.float64) / size
        spectrum = torch.fft.rfft(values - values.mean(-1, keepdim=True)) / self.boundary_nodes
        k = torch.arange(spectrum.shape[-1], dtype=torch.float64)
        weight = torch.where((k == 0) | (k == self.boundary_nodes / 2), 1.0, 2.0)
        waves = circle((2 * torch.pi / self.perimeter) * arclength(t)[:, None] * k)
        flux = ((spectrum * weight) @ waves.T).real * speed(t)
        return 2 * torch.fft.rfft(flux)[..., 1 : self.boundary_nodes // 2] / size / self._orders()

    def _trace(self, c: Tensor) -> Tensor:
        return (c @ circle(parameter(self.arclength())[:, None] * self._orders()).T).real

    def _level(self, c: Tensor) -> Tensor:
        return self._trace(c).mean(-1)


@eit.register("sampler", "in-the-pear")
class PearEllipses(eit.EllipseSampler):
    """The paper's ellipses at half their size, in the middle of the pear."""

    def draw(self, index: Tensor, attempt: int | Tensor) -> Tensor:
        rows = super().draw(index, attempt)
        half = torch.cat([rows[..., :4] / 2, rows[..., 4:]], -1)
        return half + torch.tensor([0.15, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)


eit.register("body", "pear", Pear(32))
