"""The measurement that a device would make of a simulated tank."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks, random
from eitlens.electrodes import Electrodes, Pattern
from eitlens.electrodes.base import simulate_readings
from eitlens.errors import InputError
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import Phantom

_MOST_FRAMES = 100_000  # hours of a fast device
_NOISE, _SPREAD = "readings", "spread"
"""Uses of the seed: white noise, and that of the paper."""


def simulated(
    electrodes: Electrodes,
    pattern: Pattern,
    frames: Phantom | Sequence[Phantom],
    height: float = 1.0,
    snr: float = math.inf,
    tau: float = 0.0,
    seed: int = 0,
    references: int = 1,
    rate: float = 1.0,
) -> ElectrodeMeasurement:
    """Simulate a measurement of one or more frames, and of the empty body.

    Args:
        electrodes: where they are, on which body.
        pattern: what is driven and read.
        frames: a phantom for each frame, in S/m and in units of the body; the body around is that of the first.
        height: of the tank, in metres.
        snr: white noise of one size, its root mean square so many decibels below that of the readings.
        tau: the paper's noise: each change from the empty body is multiplied by 1 + τ times a normal number.
        seed: of the noise; frame k has its own.
        references: frames of the empty body; none for an absolute measurement.
        rate: frames a second, for their times.

    >>> from eitlens.measure.simulation import simulated
    >>> electrodes, pattern = eit.TankConfig(electrodes=8, scale=0.1).build(eit.Disk(32))
    >>> moving = [eit.Phantom([eit.circle((x, 0.1), 0.2)], 3.0, 0.3) for x in (0.2, 0.3)]
    >>> simulated(electrodes, pattern, moving, snr=60, rate=10).voltages.shape
    torch.Size([2, 40])
    """
    _check(snr, tau, references)
    phantoms = [frames] if isinstance(frames, Phantom) else list(frames)
    if not phantoms:
        raise InputError("frames: expected at least one phantom")
    empty = Phantom([], outside=phantoms[0].outside)
    clean = simulate_readings(electrodes, pattern, [*phantoms, empty], height)
    change = clean[:-1] - clean[-1]
    spread = random.normal(random.mixed(seed, _SPREAD, 0), torch.arange(len(phantoms)), clean.shape[1])
    voltages = torch.cat([clean[:-1] + tau * spread * change, clean[-1:].expand(references, -1)])
    noisy = voltages + _white(voltages, snr, seed)
    return ElectrodeMeasurement(
        electrodes,
        pattern,
        noisy[: len(phantoms)],
        noisy[len(phantoms) :] if references else None,
        conductivity=empty.outside,
        height=height,
        times=torch.arange(len(phantoms), dtype=torch.float64) / rate if len(phantoms) > 1 else None,
    )


def _white(
    readings: Float64[Tensor, "frames readings"], snr: float, seed: int
) -> Float64[Tensor, "frames readings"]:
    """Noise of the same size for all readings of a frame."""
    size = readings.square().mean(-1, keepdim=True).sqrt() * 10 ** (-snr / 20)
    return size * random.normal(random.mixed(seed, _NOISE, 0), torch.arange(len(readings)), readings.shape[1])


def _check(snr: float, tau: float, references: int) -> None:
    if math.isnan(snr) or snr == -math.inf:
        raise InputError(f"snr must be a number of decibels, got {snr}")
    if not 0 <= tau < math.inf:
        raise InputError(f"tau must be a number >= 0, got {tau}")
    checks.at_least("references", checks.size(references, "references", _MOST_FRAMES), 0)
