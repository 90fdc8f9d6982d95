"""The tank of the Kuopio challenge on a GPU: bodies, electrodes and an instrument with all that is uncertain in them.

A sample is what the device reads of a tank with objects less what it read of the water before. In between the contacts
and the instrument have changed a little, and the water has drifted; and what the device is was fitted to the water
alone, so that something is left of its errors.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes.waves import EmptyTank, empty_tank
from eitlens.feature.maps import MapCode, MapPrior, MapReading, mirrored, turned
from eitlens.forward.integral import BoundaryIntegralSolver
from eitlens.phantom.batch import PhantomBatch, ShapeGroup
from eitlens.phantom.objects import ObjectSampler
from eitlens.phantom.scanline import inside_pixels

ELECTRODES, LEVELS = 32, 7
NOMINAL_WIDTH = math.radians(5.625)
UNRELIABLE = ((14, 15, 30, 45, 60, 75), (29, 30))
"""Injections of electrode 31 and channels at it, which linearity shows to be wrong."""
NODES = 64  # of an outline


class Spread(NamedTuple):
    """What is uncertain, as standard deviations or ranges."""

    width: tuple[float, float] = (1.18, 1.34)  # effective over nominal width, one a tank
    width_each: float = 0.03
    impedance: tuple[float, float] = (1e-6, 2e-3)  # one a tank, in radii over conductivity
    impedance_each: float = 0.3
    shift: float = 0.003  # radians
    width_change: tuple[float, float] = (0.003, 0.02)  # since the water, one a tank
    impedance_change: float = 0.15
    common: float = 0.004  # what the fit to the water leaves of the common mode
    common_change: float = 0.0025
    gain: float = 0.008
    gain_change: float = 0.002
    source: float = 0.004
    source_change: float = 0.001
    drift: float = 0.05
    relative: float = 0.04  # entrywise, of the reading: at most
    floor: float = 0.01  # of the sample's size: at most


@dataclass(frozen=True)
class Challenge:
    """The injections and channels, and what each level leaves of them."""

    drive: Tensor
    """(76, 32), over the mean amplitude."""
    channels: Tensor
    """(31, 32)."""
    basis: Tensor
    """(15, 32): neighbouring odd electrodes."""
    reduce: Tensor
    """(7, 31, 15, 76): readings of the basis by least squares, for each level and channel; nan where none is left."""

    @staticmethod
    def of(drive: np.ndarray, channels: np.ndarray) -> "Challenge":
        """From `Inj` and `Mpat` of the challenge's files."""
        given = torch.tensor(np.asarray(drive, dtype=np.float64).T)
        size = given.abs().amax(1).mean()
        given = given / size
        eye = torch.eye(ELECTRODES, dtype=torch.float64)
        basis = torch.stack([eye[k] - eye[k + 2] for k in range(0, ELECTRODES - 2, 2)])
        mixing = torch.linalg.lstsq(basis.T, given.T).solution.T
        assert float((mixing @ basis - given).abs().max()) < 1e-9
        read = torch.tensor(np.asarray(channels, dtype=np.float64).T)
        rows = [
            [_reduction(mixing, _kept(given, read, level, c)) for c in range(len(read))]
            for level in range(1, LEVELS + 1)
        ]
        return Challenge(given, read, basis, torch.stack([torch.stack(row) for row in rows]))

    def to(self, device: torch.device) -> "Challenge":
        """The same on a device."""
        return Challenge(*(part.to(device) for part in (self.drive, self.channels, self.basis, self.reduce)))

    def reduced(self, readings: Tensor, level: Tensor) -> Tensor:
        """(B, 76, 31) readings as those of the basis, (B, 465), nan where the level tells nothing."""
        matrix = self.reduce[level - 1]
        told = ~matrix.isnan().any(-1)
        found = torch.einsum("bclk,bkc->blc", matrix.nan_to_num(), readings.nan_to_num())
        return torch.where(told.transpose(1, 2), found, torch.nan).flatten(1)


def _kept(drive: Tensor, channels: Tensor, level: int, channel: int) -> Tensor:
    gone = torch.arange(ELECTRODES) < 2 * (level - 1)
    keep = ~(drive[:, gone] != 0).any(1)
    if bool((channels[channel, gone] != 0).any()):
        keep = torch.zeros_like(keep)
    if channel in UNRELIABLE[1]:
        keep[list(UNRELIABLE[0])] = False
    return keep


def _reduction(mixing: Tensor, keep: Tensor) -> Tensor:
    """The rows that give the basis from the kept injections; nan for what they do not determine."""
    rows = mixing * keep[:, None]
    inverse = torch.linalg.pinv(rows)
    told = ((inverse @ rows) - torch.eye(rows.shape[1], dtype=rows.dtype)).norm(dim=1) < 1e-6
    return torch.where(told[:, None], inverse * keep, torch.nan)


class Pair(NamedTuple):
    """The electrodes when the water was read, and later; many of them."""

    water: EmptyTank
    later: EmptyTank


def layouts(
    count: int, waves: int, spread: Spread, device: torch.device, seed: int, points: int = 12
) -> Pair:
    """Random electrodes, before and after."""
    draw = torch.Generator(device=device).manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64, device=device)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=draw, dtype=torch.float64, device=device)

    angles = math.pi / 2 + 2 * math.pi / ELECTRODES * torch.arange(
        ELECTRODES, dtype=torch.float64, device=device
    )
    angles = angles + spread.shift * normal(count, ELECTRODES)
    low, high = spread.width
    width = (
        NOMINAL_WIDTH
        / 2
        * (low + (high - low) * uniform(count, 1))
        * (1 + spread.width_each * normal(count, ELECTRODES))
    )
    low, high = spread.impedance
    contact = (
        low * (high / low) ** uniform(count, 1) * torch.exp(spread.impedance_each * normal(count, ELECTRODES))
    )
    low, high = spread.width_change
    change = low + (high - low) * uniform(count, 1)
    moved = width * (1 + change * normal(count, ELECTRODES))
    touched = contact * torch.exp(spread.impedance_change * normal(count, ELECTRODES))
    size = 256 if device.type == "cuda" else 32

    def solved(w: Tensor, z: Tensor) -> EmptyTank:
        parts = [
            empty_tank(a, b, c, waves, points)
            for a, b, c in zip(
                torch.split(angles, size), torch.split(w, size), torch.split(z, size), strict=True
            )
        ]
        return EmptyTank(*(torch.cat(part).float().double() for part in zip(*parts, strict=True)))

    return Pair(solved(width, contact), solved(moved, touched))


class Bodies(NamedTuple):
    """A bank of bodies: their maps, and their shapes."""

    maps: Tensor
    rows: Tensor
    present: Tensor
    inside: Tensor


def bodies(sampler: ObjectSampler, count: int, waves: int, device: torch.device, block: int) -> Bodies:
    """The first tanks of a sampler, with their maps."""
    solver = BoundaryIntegralSolver(Disk(4), nodes=NODES)
    parts = []
    for start in range(0, count, block):
        batch = sampler.batch(start, min(start + block, count), device)
        group = batch.groups[0]
        maps = solver.modes(batch, waves)
        parts.append((maps.float(), group.parameters.float(), group.present, group.inside.float()))
    return Bodies(*(torch.cat(part) for part in zip(*parts, strict=True)))


def moved_batch(bank: Bodies, rows: Tensor, angle: Tensor, mirror: Tensor) -> tuple[Tensor, PhantomBatch]:
    """Some bodies mirrored at the x axis where asked for, then turned: their maps and shapes."""
    maps = bank.maps[rows].double()
    maps = turned(torch.where(mirror[:, None, None], mirrored(maps), maps), angle)
    parameters = bank.rows[rows].double()
    points = torch.unflatten(parameters[..., 1:], -1, (-1, 2))
    x, y = points.unbind(-1)
    y = torch.where(mirror[:, None, None], -y, y)
    c, s = angle.cos()[:, None, None], angle.sin()[:, None, None]
    turned_points = torch.stack([c * x - s * y, s * x + c * y], -1)
    # Outlines run counter-clockwise, as the sampler gives them.
    reversed_points = turned_points.flip(-2)
    turned_points = torch.where(mirror[:, None, None, None], reversed_points, turned_points)
    shapes = torch.cat([parameters[..., :1], turned_points.flatten(-2)], -1)
    rank = torch.arange(shapes.shape[1], device=rows.device).expand(len(rows), -1)
    group = ShapeGroup(ObjectSampler.kind, shapes, bank.present[rows], rank, bank.inside[rows].double())
    return maps, PhantomBatch((group,), shapes.new_ones(len(rows)))


@dataclass(frozen=True)
class World:
    """Readings of bodies through random electrodes and instruments."""

    challenge: Challenge
    pairs: Pair
    spread: Spread

    def readings(self, maps: Tensor, pair: Tensor, level: Tensor, draw: torch.Generator) -> Tensor:
        """The differences (B, 465) for bodies with these maps; drift, changes and noise included."""
        device, count = maps.device, len(maps)

        def normal(*shape: int) -> Tensor:
            return torch.randn(count, *shape, generator=draw, dtype=torch.float64, device=device)

        def uniform(*shape: int) -> Tensor:
            return torch.rand(count, *shape, generator=draw, dtype=torch.float64, device=device)

        s, c = self.spread, self.challenge
        water, later = (EmptyTank(*(part[pair] for part in tank)) for tank in self.pairs)
        with_objects = later.resistance + later.change(maps)
        with_objects = with_objects / (1 + s.drift * normal(1, 1))
        channels = len(c.channels)
        fixed = (
            s.common * normal(1, channels),
            s.gain * normal(1, channels),
            s.source * normal(1, ELECTRODES),
        )
        new = (
            fixed[0] + s.common_change * normal(1, channels),
            fixed[1] + s.gain_change * normal(1, channels),
            fixed[2] + s.source_change * normal(1, ELECTRODES),
        )
        change = self._device(with_objects, *new) - self._device(water.resistance, *fixed)
        clean = c.reduced(change, level)
        size = clean.nan_to_num().square().mean(1, keepdim=True).sqrt()
        rough = s.relative * uniform(1) * normal(clean.shape[1]) * clean
        return clean + rough + s.floor * uniform(1) * size * normal(clean.shape[1])

    def _device(self, resistance: Tensor, common: Tensor, gain: Tensor, source: Tensor) -> Tensor:
        """(B, 76, 31) readings with the errors of the instrument."""
        drive = self.challenge.drive
        sources, sinks = drive.clamp(min=0), (-drive).clamp(min=0)
        out = sources * (1 + source)
        flow = out - sinks / sinks.sum(-1, keepdim=True) * out.sum(-1, keepdim=True)
        potential = flow @ resistance
        ground = (potential * (sinks / sinks.sum(-1, keepdim=True))).sum(-1, keepdim=True)
        rows = self.challenge.channels
        mean = rows.abs() / rows.abs().sum(-1, keepdim=True)
        return (1 + gain) * (potential @ rows.mT) + common * (potential @ mean.mT - ground)


@dataclass(frozen=True)
class Coder:
    """From readings of the basis to the code: nominal electrodes, and what may change beside the body."""

    prior: MapPrior
    reading: MapReading
    drift: Tensor
    """(465): the readings of water."""
    changes: Tensor
    """(n, 465): what changes of contacts and the instrument do, in independent directions of unit variance."""
    relative: float = 0.03
    floor: float = 0.01
    drift_size: float = 0.1

    @staticmethod
    def fitted(
        world: World, prior: MapPrior, nominal: EmptyTank, seed: int, samples: int, directions: int
    ) -> "Coder":
        """With directions of change found from pairs of readings of water."""
        c, device = world.challenge, world.challenge.drive.device
        draw = torch.Generator(device=device).manual_seed(seed)
        quiet = World(c, world.pairs, world.spread._replace(drift=0.0, relative=0.0, floor=0.0))
        pair = torch.randint(len(world.pairs.water.resistance), (samples,), generator=draw, device=device)
        maps = torch.zeros(samples, 2 * prior.count, 2 * prior.count, dtype=torch.float64, device=device)
        level = torch.ones(samples, dtype=torch.int64, device=device)
        rows = torch.cat(
            [
                quiet.readings(maps[p], pair[p], level[p], draw)
                for p in torch.split(torch.arange(samples, device=device), 512)
            ]
        )
        _, size, right = torch.linalg.svd(rows.nan_to_num(), full_matrices=False)
        changes = right[:directions] * (size[:directions, None] / samples**0.5)
        density = nominal.density
        # A nuisance as large as the reading itself would explain the whole of it: its amplitude is left to the network.
        drive, channels = c.basis @ density.mT, c.channels @ density.mT
        potential = c.basis @ nominal.resistance
        reading = prior.read(drive, channels[None], nominal.drawn)
        return Coder(prior, reading, (potential @ c.channels.mT).flatten(), changes)

    def __call__(self, y: Tensor) -> MapCode:
        """The codes of readings (B, 465)."""
        size = y.nan_to_num().square().sum(1, keepdim=True) / y.isfinite().sum(1, keepdim=True)
        variance = (self.relative * y.nan_to_num()).square() + self.floor**2 * size
        both = torch.cat([self.drift_size * self.drift[None], self.changes])
        return self.reading.code(y, variance, both)


def labels(batch: PhantomBatch, pixels: int) -> tuple[Tensor, Tensor]:
    """Classes of the pixels, and log σ there."""
    group = batch.groups[0]
    inside = (
        inside_pixels(group.kind.curve(group.parameters, 96).point, pixels) & group.present[..., None, None]
    )
    label = torch.where(group.inside < 1, 1, 2).to(torch.uint8)
    found = (inside * label[..., None, None]).amax(1)
    sigma = torch.where(inside, group.inside.log()[..., None, None], 0.0).sum(1)
    return found.long(), sigma.float()
