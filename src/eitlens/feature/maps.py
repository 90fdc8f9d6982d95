"""Readings of electrodes as a code: what they say about the modes in which the maps of round bodies differ.

Over random bodies in a disk the difference M of the Neumann-to-Dirichlet maps, a symmetric matrix between waves on
the circle (`Solver.modes`), has a mean m and principal components: M = m + Σ_k z_k a_k with uncorrelated z_k of unit
variance. Bodies are as likely turned and mirrored. So the components have angular orders: with complex waves e^{ijθ}
an entry (j, k) turns like e^{i(j+k)θ}, entries of different j + k are uncorrelated, and the real and the imaginary
part of each are two components of equal variance.

A reading is V = cᵀ M (1 + H M)⁻¹ d, d the waves in the density that a stimulation has in the empty body, c those of
the channel, and H what the metal draws (`EmptyTank`). To first order it is linear in M. So any electrodes and any
pattern give

    y = H m + Σ_k z_k H a_k + Σ_n w_n b_n + noise,

with vectors b_n of what else changes readings, each with a w_n of unit variance: drift of the background, errors of
sources and channels. With independent noise of the variances v the code is the posterior mean of z and its deviation,

    (1 + A W Aᵀ) (z, w) = A W (y - H m),    W = diag(1 / v),    A the rows H a_k and b_n.

What is not linear is computed from the code and taken off the readings, and the code is made again, `ROUNDS` times in
all. A reading that is missing has no weight. So one network reads many devices: the code means the same for all of
them, and the deviations say what a device does not see.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Complex128, Float32, Float64, Int64
from torch import Tensor

from eitlens.errors import InputError

ROUNDS = 2
"""Codes made one after the other, each with the curvature of the one before: a third changes hardly anything."""
Maps = Float64[Tensor, "*batch waves waves"]
Waves = Float64[Tensor, "*batch rows waves"]


class MapCode(NamedTuple):
    """The posterior mean and deviation of each mode."""

    mean: Float64[Tensor, "samples modes"]
    deviation: Float64[Tensor, "samples modes"]


@dataclass(frozen=True, eq=False)
class MapPrior:
    """Mean and principal components of the maps of random bodies in a disk.

    Attributes:
        count: K, waves of orders 1 … K, cosines and then sines, as in `Solver.modes`.
        center: (pairs), the mean, by the entries of order 0.
        order: (R), the angular order of each profile; those above 0 stand for two modes, real and imaginary.
        profile: (R, pairs), each scaled so that its z has unit variance, on the entries of its order, then zeros.
    """

    count: int
    center: Float64[Tensor, "pairs"]
    order: Int64[Tensor, "profiles"]
    profile: Float64[Tensor, "profiles pairs"]

    @staticmethod
    def fit(maps: Float64[Tensor, "samples waves waves"], modes: int) -> "MapPrior":
        """The prior of the bodies with these maps, and of all turned and mirrored ones, cut at about so many modes."""
        count = maps.shape[-1] // 2
        change = _complex_waves(count).to(maps.device)
        entries = change @ maps.to(change.dtype) @ change.mT
        found: list[tuple[float, int, Tensor]] = []
        center = maps.new_zeros(0)
        for order in range(2 * count + 1):
            one, other, weight = _pairs(count, order)
            part = entries[:, one, other] * weight.to(maps)
            if order == 0:
                center = part.real.mean(0)
                part = part - center
            covariance = (part.mH @ part).real / len(part)
            values, vectors = torch.linalg.eigh(covariance)
            size = values / (1 if order == 0 else 2)
            found += [(float(v), order, v.sqrt() * u) for v, u in zip(size, vectors.T, strict=True) if v > 0]
        found.sort(key=lambda row: -row[0])
        kept, total = [], 0
        for _, order, row in found:
            total += 1 if order == 0 else 2
            if total > modes:
                break
            kept.append((order, torch.nn.functional.pad(row, (0, 2 * count - len(row)))))
        profile = torch.stack([row for _, row in kept]).cpu()
        order_of = torch.tensor([order for order, _ in kept])
        return MapPrior(
            count, torch.nn.functional.pad(center, (0, 2 * count - len(center))).cpu(), order_of, profile
        )

    @cached_property
    def mean(self) -> Float64[Tensor, "waves waves"]:
        """The matrix m."""
        return _matrices(self.count, self.center[None], [0], imaginary=False)[0]

    @cached_property
    def modes(self) -> Float64[Tensor, "modes waves waves"]:
        """The matrices a_k: the profiles as real parts, then those of orders above 0 as imaginary parts."""
        orders = self.order.tolist()
        real = _matrices(self.count, self.profile, orders, imaginary=False)
        turning = [k for k, order in enumerate(orders) if order]
        second = _matrices(self.count, self.profile[turning], [orders[k] for k in turning], imaginary=True)
        return torch.cat([real, second])

    @property
    def size(self) -> int:
        """The number of modes."""
        return len(self.order) + int((self.order > 0).sum())

    def coordinates(self, maps: Float64[Tensor, "samples waves waves"]) -> Float64[Tensor, "samples modes"]:
        """The z of known maps: projections on the modes, which are orthogonal."""
        modes = self.modes.to(maps).flatten(1)
        return (maps - self.mean.to(maps)).flatten(1) @ modes.T / modes.square().sum(1)

    def maps(self, z: Float64[Tensor, "samples modes"]) -> Float64[Tensor, "samples waves waves"]:
        """The maps of a code: m + Σ z_k a_k."""
        found: Tensor = self.mean.to(z) + torch.tensordot(z, self.modes.to(z), 1)
        return found

    def read(self, drive: Waves, channels: Waves, drawn: Float64[Tensor, "waves waves"]) -> "MapReading":
        """How a device reads the prior, for densities (L, waves) and (L or 1, C, waves) and H of its electrodes."""
        channels = channels.expand(len(drive), -1, -1)
        both = torch.cat([self.mean[None], self.modes]).to(drive)
        rows = _read(drive, channels, both)
        return MapReading(self, drive, channels, drawn, rows[0], rows[1:])

    def tensors(self) -> dict[str, Tensor]:
        """The parts, for a file."""
        return {"center": self.center, "order": self.order, "profile": self.profile}

    @staticmethod
    def from_tensors(tensors: Mapping[str, Tensor]) -> "MapPrior":
        """The inverse of `tensors`."""
        center, order, profile = (tensors[name] for name in ("center", "order", "profile"))
        if profile.shape != (len(order), len(center)) or len(center) % 2:
            raise InputError(
                f"a prior of maps: profiles of shape {tuple(profile.shape)} do not fit their orders"
            )
        return MapPrior(len(center) // 2, center.double(), order.long(), profile.double())


@dataclass(frozen=True, eq=False)
class MapReading:
    """A prior as a device reads it: the densities d and c, H of its electrodes, H m and the rows H a_k."""

    prior: MapPrior
    drive: Float64[Tensor, "stimulations waves"]
    channels: Float64[Tensor, "stimulations channels waves"]
    drawn: Float64[Tensor, "waves waves"]
    mean: Float64[Tensor, "readings"]
    rows: Float64[Tensor, "modes readings"]

    def code(
        self,
        readings: Float64[Tensor, "samples readings"],
        variance: Float64[Tensor, "samples readings"],
        nuisance: Float64[Tensor, "nuisances readings"],
        rounds: int = ROUNDS,
    ) -> MapCode:
        """The posterior of the modes; readings that are nan have no weight."""
        there = readings.isfinite()
        weight = there / variance
        both = torch.cat([self.rows, nuisance])
        system = torch.einsum("kr,br,lr->bkl", both, weight, both)
        system.diagonal(dim1=-2, dim2=-1).add_(1.0)
        factor, kept = torch.linalg.cholesky(system), len(self.rows)
        gap = torch.where(there, readings - self.mean, 0.0)
        correction = torch.zeros_like(gap)
        for _ in range(rounds):
            right = (weight * (gap + correction)) @ both.mT
            mean = torch.cholesky_solve(right[..., None], factor)[:, :kept, 0]
            correction = self.curved(mean)
        spread = torch.cholesky_inverse(factor).diagonal(dim1=-2, dim2=-1)[:, :kept].sqrt()
        return MapCode(mean, spread)

    def explained(self, z: Float64[Tensor, "samples modes"]) -> Float64[Tensor, "samples readings"]:
        """The readings of the bodies with these codes."""
        return self.mean + z @ self.rows - self.curved(z)

    def curved(self, z: Float64[Tensor, "samples modes"]) -> Float64[Tensor, "samples readings"]:
        """What the linear reading of a code has too much: cᵀ (M - M (1 + H M)⁻¹) d."""
        maps = self.prior.maps(z)
        system = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device) + self.drawn @ maps
        return _read(self.drive, self.channels, maps - torch.linalg.solve(system, maps, left=False))


def _read(drive: Waves, channels: Waves, maps: Maps) -> Float64[Tensor, "maps readings"]:
    """The readings cᵀ M d of maps, one stimulation after the other."""
    return torch.einsum("lcv,nlv->nlc", channels, torch.einsum("nvw,lw->nlv", maps, drive)).flatten(1)


def packed(code: MapCode) -> Float32[Tensor, "samples code"]:
    """A code as a network reads it: asinh z, deviations, a place for the noise level that stays empty, and z."""
    mean, deviation = code.mean.float(), code.deviation.float()
    return torch.cat([torch.asinh(mean), deviation, torch.zeros_like(mean[:, :1]), mean], -1)


def turned(maps: Maps, angle: Float64[Tensor, "*#batch"]) -> Maps:
    """The maps of the bodies turned by an angle, counter-clockwise."""
    count = maps.shape[-1] // 2
    order = torch.arange(1, count + 1, dtype=maps.dtype, device=maps.device)
    phase = angle[..., None] * order
    c, s = torch.diag_embed(phase.cos()), torch.diag_embed(phase.sin())
    turn = torch.cat([torch.cat([c, -s], -1), torch.cat([s, c], -1)], -2)
    return turn @ maps @ turn.mT


def mirrored(maps: Maps) -> Maps:
    """The maps of the bodies mirrored at the x axis."""
    sign = torch.ones(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    sign[maps.shape[-1] // 2 :] = -1
    return maps * sign * sign[:, None]


def _complex_waves(count: int) -> Complex128[Tensor, "waves waves"]:
    """The waves e^{ijθ} / √(2π), j = -K … -1, 1 … K, as sums of the cosines and sines of unit length."""
    eye, none = torch.eye(count, dtype=torch.float64), torch.zeros(count, count, dtype=torch.float64)
    forward = torch.complex(torch.cat([eye, none], 1), torch.cat([none, eye], 1)) / 2**0.5
    return torch.cat([forward.conj().flip(0), forward])


def _pairs(count: int, order: int) -> tuple[Tensor, Tensor, Float64[Tensor, "pairs"]]:
    """The entries (j, k), j <= k, with j + k = order: their places, and √2 for those that stand for two."""
    signed = [*range(-count, 0), *range(1, count + 1)]
    place = {j: row for row, j in enumerate(signed)}
    found = [(place[j], place[order - j]) for j in signed if order - j in place and j <= order - j]
    one, other = torch.tensor(found, dtype=torch.int64).reshape(-1, 2).unbind(-1)
    return one, other, torch.where(one == other, 1.0, 2**0.5).double()


def _matrices(
    count: int, profile: Float64[Tensor, "rows pairs"], orders: list[int], imaginary: bool
) -> Float64[Tensor, "rows waves waves"]:
    """The real symmetric matrices whose entries of an order are a profile, times i for the imaginary ones."""
    change = _complex_waves(count)
    entries = torch.zeros(len(orders), 2 * count, 2 * count, dtype=torch.complex128)
    back = torch.arange(2 * count - 1, -1, -1)
    for k, order in enumerate(orders):
        one, other, weight = _pairs(count, order)
        values = profile[k, : len(one)].cpu() / weight * (1j if imaginary else 1.0 + 0j)
        entries[k, one, other] = values
        entries[k, other, one] = values
        if order:  # the entry (-j, -k) is the conjugate of (j, k)
            entries[k, back[one], back[other]] = values.conj()
            entries[k, back[other], back[one]] = values.conj()
    return (change.mH @ entries @ change.conj()).real
