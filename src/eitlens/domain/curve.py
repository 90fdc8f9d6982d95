"""Smooth closed curves by arclength: places, slopes, nearest points, and whether a curve crosses itself.

A curve z(t) = Σ_k c_k exp(ikt) is sampled at equal steps of arclength, so many that its spectrum falls to rounding.
Between samples it is Taylor's polynomial about the nearest one: exact to rounding and cheap at any number of points.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.memory import cached

_TAYLOR = 10
"""Terms of Taylor's polynomial: half a step of a wave of two samples is π/2, and (π/2)^10 / 10! is 2e-5 of what is
rounding there; a wave of eight samples is met to 1e-11."""
_FEWEST, _MOST = 512, 8192
"""Samples of a curve. The most resolve a corner rounded by a thousandth of the perimeter."""
_CLEAN = 1e-15
"""Coefficients below this part of the largest are rounding."""
_RESOLVED = 1e-12
"""The spectrum has fallen so far in its upper half, or there are more samples."""
_NEWTON = 8  # steps: the digits double at each
_SEGMENTS = 512
"""Pieces of a curve that are tested for crossings, and places from which the nearest point is looked for."""
_FLAT = 1e-9
"""Points of a straight side lie on one line but for rounding: they do not cross it."""
_POINTS = 4096
"""Points that are compared with all pieces at once: 16 MB a table."""


@dataclass(frozen=True, eq=False)
class Periodic:
    """A function of period 2π, by its derivatives at equal steps."""

    table: Tensor
    """(derivatives, samples)."""

    @staticmethod
    def through(samples: Tensor) -> "Periodic":
        """The trigonometric interpolant of equally spaced samples, less what is rounding in its spectrum."""
        size = len(samples)
        spectrum = torch.fft.fft(samples.to(torch.complex128))
        spectrum = torch.where(spectrum.abs() > _CLEAN * spectrum.abs().amax(), spectrum, 0.0)
        wave = torch.fft.fftfreq(size, 1 / size, dtype=torch.float64, device=samples.device)
        rows = [torch.fft.ifft(spectrum * (1j * wave) ** order) for order in range(_TAYLOR + 3)]
        table = torch.stack(rows)
        return Periodic(table if samples.is_complex() else table.real.contiguous())

    def __call__(self, t: Float64[Tensor, "*points"], derivative: int = 0) -> Tensor:
        """Evaluate the function, or one of its first two derivatives, at t."""
        size = self.table.shape[1]
        nearest = torch.round(t * (size / (2 * torch.pi)))
        step = t - nearest * (2 * torch.pi / size)
        rows = self.table[derivative : derivative + _TAYLOR + 1, nearest.long() % size]
        total = rows[-1]
        for order in range(_TAYLOR - 1, -1, -1):
            total = rows[order] + total * (step / (order + 1))
        return total


@dataclass(frozen=True, eq=False)
class ClosedCurve:
    """A smooth closed curve, counter-clockwise; t = 2π s / perimeter for the arclength s."""

    perimeter: float
    place: Periodic

    def nearest(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """The parameter t in [0, 2π) of the nearest point of the curve: the best of some, then Newton's method."""
        parts = torch.split(points.reshape(-1, 2), _POINTS)
        found = torch.cat([self._nearest(torch.complex(*part.unbind(-1))) for part in parts])
        turn = found % (2 * torch.pi)
        return torch.where(turn < 2 * torch.pi, turn, 0.0).reshape(points.shape[:-1])

    def _nearest(self, w: Complex128[Tensor, "points"]) -> Float64[Tensor, "points"]:
        t = torch.arange(_SEGMENTS, dtype=torch.float64, device=w.device) * (2 * torch.pi / _SEGMENTS)
        some = torch.view_as_real(self.place(t))
        t = t[torch.cdist(torch.view_as_real(w), some).argmin(-1)]
        for _ in range(_NEWTON):
            gap, first = self.place(t) - w, self.place(t, 1)
            square = first.abs().square()
            bend = square + (gap.conj() * self.place(t, 2)).real
            t = t - (gap.conj() * first).real / torch.maximum(bend, square / 10)
        return t

    def clearance(self, points: Float64[Tensor, "*points 2"]) -> Float64[Tensor, "*points"]:
        """Distance to the curve, positive on its left, which is inside."""
        w = torch.complex(*points.unbind(-1))
        t = self.nearest(points.detach())
        normal = 1j * self.place(t, 1)
        return ((w - self.place(t)) * (normal / normal.abs()).conj()).real


@cached
def closed_curve(coefficients: tuple[complex, ...], device: torch.device = CPU) -> ClosedCurve:
    """The curve of Fourier coefficients c_-K … c_K, counter-clockwise; it begins at t = 0."""
    size = _FEWEST
    while True:
        perimeter, samples = _by_arclength(coefficients, size)
        spectrum = torch.fft.fft(samples).abs()
        if size == _MOST or bool(spectrum[size // 4 : -size // 4].amax() < _RESOLVED * spectrum.amax()):
            return ClosedCurve(perimeter, Periodic.through(samples.to(device)))
        size *= 2


def check_simple(points: Complex128[Tensor, "points"], where: str) -> None:
    """Refuse an outline, given by points along it, that crosses itself."""
    a, b = points, points.roll(-1)
    size, flat = len(points), _FLAT * (b - a).abs().square()

    def side(p: Tensor, q: Tensor, r: Tensor) -> Tensor:
        turn = ((q - p).conj() * (r - p)).imag
        return torch.where(turn.abs() > flat[:, None], torch.sign(turn), 0.0)

    one = side(a[:, None], b[:, None], a) * side(a[:, None], b[:, None], b) < 0
    both = one & one.mT
    number = torch.arange(size)
    apart = (number[:, None] - number).abs()
    for k in torch.nonzero((both & (apart > 1) & (apart < size - 1)).any(-1))[:1, 0].tolist():
        x, y = complex(points[k]).real, complex(points[k]).imag
        raise InputError(
            f"{where}: the outline crosses itself near ({x:.3g}, {y:.3g}): "
            "give its points in their order along the boundary, each once"
        )


def _by_arclength(
    coefficients: tuple[complex, ...], size: int
) -> tuple[float, Complex128[Tensor, "samples"]]:
    """Length, and places at equal steps of arclength: s(t) from the spectrum of |z'|, t(s) by Newton's method."""
    t = torch.arange(size, dtype=torch.float64) * (2 * torch.pi / size)
    speed = _sum(coefficients, t, 1).abs()
    mean = float(speed.mean())
    wave = torch.fft.fftfreq(size, 1 / size, dtype=torch.float64)
    spectrum = torch.where(wave == 0, 0.0, torch.fft.fft(speed) / (1j * torch.where(wave == 0, 1.0, wave)))
    extra = torch.fft.ifft(spectrum).real / mean
    turn = t + extra - extra[0]
    ahead, rate = Periodic.through(turn - t), Periodic.through(speed / mean)
    closed = torch.cat([turn, torch.tensor([2 * torch.pi], dtype=torch.float64)])
    at = (torch.searchsorted(closed, t, right=True) - 1).clamp(0, size - 1)
    found = t[at] + (t - closed[at]) / (closed[at + 1] - closed[at]) * (2 * torch.pi / size)
    for _ in range(_NEWTON):
        found = found - (found + ahead(found) - t) / rate(found)
    return 2 * math.pi * mean, _sum(coefficients, found, 0)


def _sum(
    coefficients: tuple[complex, ...], t: Float64[Tensor, "samples"], derivative: int
) -> Complex128[Tensor, "samples"]:
    """Σ_k (ik)^derivative c_k exp(ikt)."""
    c = torch.tensor(coefficients, dtype=torch.complex128)
    order = torch.arange(len(c), dtype=torch.float64) - len(c) // 2
    waves = torch.polar(torch.ones(1, dtype=torch.float64), t[:, None] * order)
    total: Tensor = waves @ (c * (1j * order) ** derivative)
    return total
