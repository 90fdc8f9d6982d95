"""From the potentials of electrodes to the readings of a device: gains, common mode, sources that are off, leaks."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.forward.integral.solver import solve_each

Stimulation = Float64[Tensor, "injections electrodes"]
Readings = Float64[Tensor, "*batch injections channels"]
Potentials = Float64[Tensor, "*batch injections electrodes"]
Value = Tensor | float
# Of the largest singular value: potentials that the readings tell less about are left at zero.
_UNSEEN = 1e-9


@dataclass(frozen=True)
class Instrument:
    """A device that drives currents through electrodes and reads differences of their potentials, with its errors.

    An injection drives I_e through the electrodes. Where I_e > 0 is a source, I_e < 0 a sink. What it means for the
    readings V of channels j, rows M_j of `channels` such as U_j - U_{j+1}:

        V_j = (1 + g_j) M_j U + c_j (Ū_j - U_s),    the current of source e is (1 + a_e) I_e,

    and each electrode leaks the current y (U_e - U_s) to the sink. Ū_j is the mean of the potentials that channel j
    reads, U_s that of the sink (of the sinks, weighted by their currents). All errors are zero for a perfect device.
    They may have dimensions in front, for many devices at once. Everything is linear in the currents, and
    differentiable in the tank and in the errors.

    Attributes:
        channels: M, (C, E).
        gain: g, of each channel.
        common: c, of each channel: how much of the common mode it lets through.
        source: a, of each electrode.
        leak: y, a conductance.

    >>> device = eit.Instrument(eit.Instrument.neighbours(4), leak=1e-3)
    >>> tank = eit.CompleteElectrodeSolver(
    ...     eit.BoundaryIntegralSolver(eit.Disk(32)), eit.Electrodes.even(eit.Disk(32), 4)
    ... )
    >>> drive = torch.tensor([[1.0, 0.0, -1.0, 0.0]], dtype=torch.float64)
    >>> body = eit.Phantom([eit.circle((0.3, 0.2), 0.3)])
    >>> device.measure(tank.resistances(body), drive).shape
    torch.Size([1, 3])
    """

    channels: Float64[Tensor, "channels electrodes"]
    gain: Float64[Tensor, "*devices channels"]
    common: Float64[Tensor, "*devices channels"]
    source: Float64[Tensor, "*devices electrodes"]
    leak: Float64[Tensor, "*devices"]

    def __init__(
        self, channels: Tensor, gain: Value = 0.0, common: Value = 0.0, source: Value = 0.0, leak: Value = 0.0
    ) -> None:
        rows = checks.finite(checks.physics(channels, "Instrument: channels"), "Instrument: channels")
        if rows.ndim != 2 or not bool((rows != 0).any(-1).all()):
            shape = tuple(rows.shape)
            raise InputError(
                f"Instrument: channels: expected a row of electrodes for each channel, got {shape} with empty ones"
            )
        object.__setattr__(self, "channels", rows)
        sizes = {"gain": rows.shape[:1], "common": rows.shape[:1], "source": rows.shape[1:], "leak": ()}
        for (name, size), given in zip(sizes.items(), (gain, common, source, leak), strict=True):
            value = checks.finite(checks.physics(given, name), f"Instrument: {name}").to(rows)
            object.__setattr__(self, name, value if value.ndim else value.expand(size))

    @staticmethod
    def neighbours(electrodes: int) -> Float64[Tensor, "channels electrodes"]:
        """The channels U_j - U_{j+1}."""
        eye = torch.eye(electrodes, dtype=torch.float64)
        return eye[:-1] - eye[1:]

    def measure(
        self, resistance: Float64[Tensor, "*batch electrodes electrodes"], stimulation: Stimulation
    ) -> Readings:
        """V of tanks whose electrodes have the potentials U = R I."""
        return self.readings(self.potentials(resistance, stimulation), stimulation)

    def potentials(
        self, resistance: Float64[Tensor, "*batch electrodes electrodes"], stimulation: Stimulation
    ) -> Potentials:
        """U - U_s with the currents that really flow.

        The leaks are y U, and their sum flows back at the sinks p: (R⁺ + y) U = I + δ p with pᵀ U = 0. With
        G = R (1 + y R)⁻¹ and E electrodes that is U = G (I + δ p), up to a constant, for

            δ = -E y pᵀ G I / (1 + E y pᵀ G p).
        """
        sink, driven = _shares(-stimulation), self._driven(stimulation)
        leak = self.leak[..., None, None]
        size = resistance.shape[-1]
        system = torch.eye(size, dtype=resistance.dtype, device=resistance.device) + leak * resistance
        known = resistance.expand_as(system)
        held = solve_each(system.reshape(-1, size, size), known.reshape(-1, size, size)).reshape(system.shape)
        found, back = driven @ held, sink @ held
        share = (1 + size * leak * (back * sink).sum(-1, keepdim=True)).reciprocal()
        found = found - size * leak * share * (found * sink).sum(-1, keepdim=True) * back
        return found - (found * sink).sum(-1, keepdim=True)

    def readings(self, potentials: Potentials, stimulation: Stimulation) -> Readings:
        """V for the potentials that there are."""
        sink = (potentials * _shares(-stimulation)).sum(-1, keepdim=True)
        gain, common = self.gain[..., None, :], self.common[..., None, :]
        return (1 + gain) * (potentials @ self.channels.mT) + common * (potentials @ self._mean().mT - sink)

    def freed(self, readings: Readings, stimulation: Stimulation) -> Readings:
        """Readings of the same tank by a device without gains, common mode and errors of its sources.

        The potentials of each injection are solved for from its readings. Channels that are nan in any
        frame are left out. With several sources in an injection, their mean error is taken off. The leak stays.
        """
        seen = readings.isfinite().flatten(0, -3).all(0) if readings.ndim > 2 else readings.isfinite()
        sink = _shares(-stimulation)
        gain, common = self.gain[..., None, :, None], self.common[..., None, :, None]
        rows = (1 + gain) * self.channels + common * (self._mean() - sink[..., None, :])
        ground = sink[..., None, :].expand(*rows.shape[:-2], 1, -1)
        rows = torch.cat([torch.where(seen[..., None], rows, 0.0), ground], -2)
        known = torch.cat([torch.where(seen, readings, 0.0), torch.zeros_like(readings[..., :1])], -1)
        potentials = (torch.linalg.pinv(rows, rtol=_UNSEEN) @ known[..., None])[..., 0]
        strength = 1 + (_shares(stimulation) * self.source[..., None, :]).sum(-1, keepdim=True)
        return torch.where(seen, potentials @ self.channels.mT / strength, torch.nan)

    def _driven(self, stimulation: Stimulation) -> Potentials:
        """The currents with the errors of the sources; the sinks take what comes, in their shares."""
        if bool(stimulation.sum(-1).abs().amax() > 1e-6 * stimulation.abs().amax()):
            raise InputError("stimulation: the currents of an injection must have zero sum")
        out = stimulation.clamp(min=0) * (1 + self.source[..., None, :])
        return out - _shares(-stimulation) * out.sum(-1, keepdim=True)

    def _mean(self) -> Float64[Tensor, "channels electrodes"]:
        """The mean of the potentials that a channel reads."""
        weight = self.channels.abs()
        return weight / weight.sum(-1, keepdim=True)


def _shares(currents: Stimulation) -> Stimulation:
    """The share of each electrode in the sum of the positive currents; nothing where there are none."""
    positive = currents.clamp(min=0)
    total = positive.sum(-1, keepdim=True)
    return positive / torch.where(total > 0, total, 1.0)
