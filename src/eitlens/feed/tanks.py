"""Simulated round tanks for training: bodies, devices that read them, and the codes of what they read.

A reading is what a device reads of a tank with objects less what it read of the tank before. In between contacts have
changed, the background has drifted and the instrument has wandered; and what the code takes the device for (`reading`)
is not quite what it is. `Uncertain` says how much of each. Bodies are simulated once, with boundary integrals. Where
they lie, which device reads them, its errors and its noise are new each time a body is shown.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float32, Float64, Int64
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes import EmptyTank, Pattern, empty_tank
from eitlens.errors import InputError
from eitlens.feature.maps import MapCode, MapPrior, MapReading, mirrored, packed, turned
from eitlens.forward.integral import BoundaryIntegralSolver
from eitlens.measure.map_code import reductions
from eitlens.phantom.batch import PhantomBatch
from eitlens.phantom.objects import ObjectSampler
from eitlens.phantom.scanline import inside_pixels

_NODES, _PIXEL_NODES = 64, 96  # of an outline, for the solver and for the pixels
_AT_ONCE = 256  # empty tanks that a GPU solves together: 0.5 GB each hundred
_POINTS = 12  # of an electrode: resistances are right to 1e-4, far below what is uncertain in a contact

Range = tuple[float, float]


class Uncertain(NamedTuple):
    """What is uncertain: standard deviations, and ranges from which a tank draws one for itself."""

    width_each: float = 0.03
    """Relative, of each electrode."""
    impedance_each: float = 0.3
    """Of the logarithm, of each contact."""
    shift: float = 0.003
    """Radians, of each electrode."""
    width_change: Range = (0.003, 0.02)
    """Since the reference, relative, of each electrode."""
    impedance_change: float = 0.15
    common: float = 0.004
    common_change: float = 0.0025
    gain: float = 0.008
    gain_change: float = 0.002
    source: float = 0.004
    source_change: float = 0.001
    drift: float = 0.05
    """Of the background's conductivity since the reference, relative."""
    relative: float = 0.04
    """Most of the noise of each difference, over itself."""
    floor: float = 0.01
    """Most of the noise of each difference, over the root mean square of all."""


class Bodies(NamedTuple):
    """A bank of bodies: their maps, and their shapes."""

    maps: Float32[Tensor, "bodies waves waves"]
    outlines: Float32[Tensor, "bodies objects nodes 2"]
    log_sigma: Float32[Tensor, "bodies objects"]
    """log σ of each object over that of the background; 0 for one that is not there."""

    @staticmethod
    def simulated(
        sampler: ObjectSampler, count: int, waves: int, device: torch.device, block: int
    ) -> "Bodies":
        """The first tanks of a sampler, `block` of them solved at once.

        Objects may be so close that the solver refuses them. It names one, so the whole block is left out.
        """
        solver, parts = BoundaryIntegralSolver(Disk(4), nodes=_NODES), []
        for start in range(0, count, block):
            batch = sampler.batch(start, min(start + block, count), device)
            objects = (part.float() for part in _objects(batch, sampler.count))
            with suppress(InputError):
                parts.append((solver.modes(batch, waves).float(), *objects))
        if not parts:
            raise InputError(
                f"the solver refuses a body in every block of {block}: give the sampler a larger gap"
            )
        return Bodies(*(torch.cat(part) for part in zip(*parts, strict=True)))

    def moved(
        self,
        rows: Int64[Tensor, "samples"],
        angle: Float64[Tensor, "samples"],
        mirror: Bool[Tensor, "samples"],
    ) -> tuple[Float64[Tensor, "samples waves waves"], Float64[Tensor, "samples objects nodes 2"]]:
        """The maps and outlines of some bodies, mirrored at the x axis where asked for, and then turned."""
        maps, flipped = self.maps[rows].double(), mirror[:, None, None]
        maps = turned(torch.where(flipped, mirrored(maps), maps), angle)
        x, y = self.outlines[rows].double().unbind(-1)
        y = torch.where(flipped, -y, y)
        c, s = angle.cos()[:, None, None], angle.sin()[:, None, None]
        return maps, torch.stack([c * x - s * y, s * x + c * y], -1)


def _objects(batch: PhantomBatch, count: int) -> tuple[Tensor, Tensor]:
    """Points on the outline of each object, by its rank, and log σ."""
    device, size = batch.device, len(batch)
    outlines = torch.zeros(size, count, _PIXEL_NODES, 2, dtype=torch.float64, device=device)
    log_sigma = torch.zeros(size, count, dtype=torch.float64, device=device)
    for group in batch.groups:
        body, slot = torch.nonzero(group.present).unbind(1)
        rank = group.rank[body, slot]
        outlines[body, rank] = group.kind.curve(group.parameters[body, slot], _PIXEL_NODES).point
        log_sigma[body, rank] = (group.inside[body, slot] / batch.outside[body]).log()
    return outlines, log_sigma


class Ring(NamedTuple):
    """Electrodes around the disk, as a code takes them for: of a width and an impedance that stand for all."""

    angles: Float64[Tensor, "electrodes"]
    width: float
    """Radians."""
    impedance: float

    def tank(self, waves: int) -> EmptyTank:
        """The empty tank with these electrodes."""
        width, contact = (torch.full_like(self.angles, value) for value in (self.width / 2, self.impedance))
        return empty_tank(self.angles, width, contact, waves)

    def pairs(
        self,
        count: int,
        waves: int,
        spread: Uncertain,
        draw: torch.Generator,
        widths: Range = (1.0, 1.0),
        impedances: Range = (1.0, 1.0),
    ) -> tuple[EmptyTank, EmptyTank]:
        """Empty tanks as the electrodes may really be, at the reference and later.

        All widths of a tank are the ring's times a factor from `widths`, all impedances one from `impedances`.
        """
        device, electrodes = self.angles.device, len(self.angles)

        def normal() -> Tensor:
            return torch.randn(count, electrodes, generator=draw, dtype=torch.float64, device=device)

        def between(limits: Range, log: bool = False) -> Tensor:
            u = torch.rand(count, 1, generator=draw, dtype=torch.float64, device=device)
            low, high = limits
            return low * (high / low) ** u if log else low + (high - low) * u

        angles = self.angles + spread.shift * normal()
        width = self.width / 2 * between(widths) * (1 + spread.width_each * normal())
        contact = self.impedance * between(impedances, log=True) * torch.exp(spread.impedance_each * normal())
        later = width * (1 + between(spread.width_change) * normal())
        touched = contact * torch.exp(spread.impedance_change * normal())
        return _solved(angles, width, contact, waves), _solved(angles, later, touched, waves)


def _solved(angles: Tensor, widths: Tensor, contacts: Tensor, waves: int) -> EmptyTank:
    rows = torch.split(torch.arange(len(angles), device=angles.device), _AT_ONCE)
    parts = [empty_tank(angles[k], widths[k], contacts[k], waves, _POINTS) for k in rows]
    return EmptyTank(*(torch.cat(part) for part in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class ReadingDevice:
    """A device: what it drives and reads, as it may really be and as the code takes it for.

    Attributes:
        drive, channels: (L, E) currents and (C, E) differences of electrodes.
        reduce: (C, K, L), from the readings of the L currents through a channel to those of K independent ones, nan
            where they do not tell (`measure.map_code.reductions`).
        water, later: many empty tanks with its electrodes, at the reference and at the frame.
        reading: of the code, K × C readings.
        empty: (K C), the readings of the empty tank, in whose direction the background drifts.
        changes: (n, K C), what else changes readings between reference and frame, of unit variance.
    """

    drive: Float64[Tensor, "stimulations electrodes"]
    channels: Float64[Tensor, "channels electrodes"]
    reduce: Float64[Tensor, "channels kept stimulations"]
    water: EmptyTank
    later: EmptyTank
    reading: MapReading
    empty: Float64[Tensor, "readings"]
    changes: Float64[Tensor, "changes readings"]

    @staticmethod
    def of(
        pattern: Pattern,
        there: Bool[Tensor, "stimulations channels"],
        ring: Ring,
        pairs: tuple[EmptyTank, EmptyTank],
        prior: MapPrior,
    ) -> "ReadingDevice":
        """From a pattern with the same channels for all stimulations, what is read of it, and its electrodes."""
        device = ring.angles.device
        tank, channels = ring.tank(prior.count), pattern.channels[0].to(device)
        basis = pattern.basis().stimulations.to(device)
        reading = prior.read(basis @ tank.density.mT, (channels @ tank.density.mT)[None], tank.drawn)
        empty = (basis @ tank.resistance @ channels.mT).flatten()
        reduce, none = reductions(pattern, there).to(device), empty.new_zeros(0, len(empty))
        return ReadingDevice(pattern.stimulation.to(device), channels, reduce, *pairs, reading, empty, none)

    def with_changes(
        self, spread: Uncertain, draw: torch.Generator, samples: int, directions: int
    ) -> "ReadingDevice":
        """With the principal directions in which readings of the empty tank change."""
        quiet = spread._replace(drift=0.0, relative=0.0, floor=0.0)
        waves = self.reading.drawn.shape[0]
        none = self.empty.new_zeros(samples, waves, waves)
        rows = torch.cat([self.differences(part, quiet, draw) for part in torch.split(none, _AT_ONCE)])
        _, size, right = torch.linalg.svd(rows.nan_to_num(), full_matrices=False)
        return replace(self, changes=right[:directions] * (size[:directions, None] / samples**0.5))

    def differences(
        self, maps: Float64[Tensor, "samples waves waves"], spread: Uncertain, draw: torch.Generator
    ) -> Float64[Tensor, "samples readings"]:
        """The differences of bodies with these maps, through random ones of its tanks, with all errors."""
        count, channels, device = len(maps), len(self.channels), maps.device

        def normal(*shape: int) -> Tensor:
            return torch.randn(count, *shape, generator=draw, dtype=torch.float64, device=device)

        def uniform() -> Tensor:
            return torch.rand(count, 1, generator=draw, dtype=torch.float64, device=device)

        chosen = torch.randint(len(self.water.resistance), (count,), generator=draw, device=device)
        water = self.water.resistance[chosen]
        later = EmptyTank(*(part[chosen] for part in self.later))
        seen = (later.resistance + later.change(maps)) / (1 + spread.drift * normal(1, 1))
        common, gain = spread.common * normal(1, channels), spread.gain * normal(1, channels)
        source = spread.source * normal(1, self.drive.shape[1])
        before = self._read(water, common, gain, source)
        common = common + spread.common_change * normal(1, channels)
        gain = gain + spread.gain_change * normal(1, channels)
        source = source + spread.source_change * normal(1, self.drive.shape[1])
        clean = self._reduced(self._read(seen, common, gain, source) - before)
        size = clean.nan_to_num().square().mean(1, keepdim=True).sqrt()
        rough = spread.relative * uniform() * normal(clean.shape[1]) * clean
        return clean + rough + spread.floor * uniform() * size * normal(clean.shape[1])

    def code(
        self,
        differences: Float64[Tensor, "samples readings"],
        relative: float = 0.03,
        floor: float = 0.01,
        drift: float = 0.1,
    ) -> MapCode:
        """The code of its differences, for noise of these sizes (see `measure.map_code.Doubt`)."""
        known = differences.nan_to_num()
        size = known.square().sum(1, keepdim=True) / differences.isfinite().sum(1, keepdim=True).clamp(min=1)
        variance = (relative * known).square() + (floor**2 * size).clamp(min=1e-300)
        return self.reading.code(differences, variance, torch.cat([drift * self.empty[None], self.changes]))

    def _read(
        self, resistance: Tensor, common: Tensor, gain: Tensor, source: Tensor
    ) -> Float64[Tensor, "samples stimulations channels"]:
        """Readings with the errors of instruments, one each (`electrodes.Instrument`)."""
        into, out = self.drive.clamp(min=0), (-self.drive).clamp(min=0)
        share, driven = out / out.sum(-1, keepdim=True), into * (1 + source)
        potential = (driven - share * driven.sum(-1, keepdim=True)) @ resistance
        ground = (potential * share).sum(-1, keepdim=True)
        weight = self.channels.abs() / self.channels.abs().sum(-1, keepdim=True)
        return (1 + gain) * (potential @ self.channels.mT) + common * (potential @ weight.mT - ground)

    def _reduced(
        self, readings: Float64[Tensor, "samples stimulations channels"]
    ) -> Float64[Tensor, "samples readings"]:
        told = ~self.reduce.isnan().any(-1)
        found = torch.einsum("ckl,blc->bkc", self.reduce.nan_to_num(), readings.nan_to_num())
        return torch.where(told.mT, found, torch.nan).flatten(1)


class TankExample(NamedTuple):
    """What a network is shown: the code, the class of each pixel and log σ there."""

    code: Float32[Tensor, "samples code"]
    classes: Int64[Tensor, "samples pixels pixels"]
    log_sigma: Float32[Tensor, "samples pixels pixels"]


@torch.no_grad()
def examples(
    bank: Bodies,
    rows: Int64[Tensor, "samples"],
    devices: Sequence[ReadingDevice],
    spread: Uncertain,
    pixels: int,
    draw: torch.Generator,
) -> TankExample:
    """Examples of some bodies: turned by any angle, mirrored or not, an equal share for each device."""
    where, count = rows.device, len(rows)
    angle = 2 * math.pi * torch.rand(count, generator=draw, dtype=torch.float64, device=where)
    mirror = torch.rand(count, generator=draw, device=where) < 0.5
    maps, outlines = bank.moved(rows, angle, mirror)
    share = -(-count // len(devices))
    parts = [
        device.code(device.differences(some, spread, draw))
        for device, some in zip(devices, torch.split(maps, share), strict=False)
    ]
    return TankExample(
        torch.cat([packed(part) for part in parts]), *labels(outlines, bank.log_sigma[rows], pixels)
    )


def labels(
    outlines: Float64[Tensor, "samples objects nodes 2"],
    log_sigma: Float32[Tensor, "samples objects"],
    pixels: int,
) -> tuple[Tensor, Tensor]:
    """The class of each pixel (0 background, 1 resistive, 2 conductive), and log σ over that of the background."""
    inside = inside_pixels(outlines, pixels) & (log_sigma != 0)[..., None, None]
    found = torch.where(inside, log_sigma[..., None, None], 0.0).sum(1)
    return (found < 0).long() + 2 * (found > 0), found
