"""Errors of difference readings as covariances: noise, and nuisances that move many readings together.

A nuisance q of the standard deviation s that changes the readings by s·d has the covariance s² d dᵀ: an estimate that
knows it does not explain d by a conductivity. With V the readings of the empty tank:

- drift: all readings by the same factor, d = V: water that warms up;
- channels, sources: the readings of one channel, or of one stimulation, by a factor of their own;
- movement: ∂V/∂s_k in the place of electrode k, in metres;
- contact: ∂V/∂log z_k in the impedance of electrode k.

Reference: C. Gómez-Laberge, A. Adler, "Direct EIT Jacobian calculations for conductivity change and electrode
movement", Physiological Measurement 29 (2008).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical.linear_tank import LinearTank
from eitlens.measure.readings import ElectrodeMeasurement

_ENOUGH = 8  # reference frames, from which the noise of each reading is told
_OWN = 0.5  # of its own variance in that of a reading; the rest is the median of all, as eight frames tell it badly


@dataclass(frozen=True)
class Nuisance:
    """How much of what may have changed besides δσ since the reference, as standard deviations.

    Attributes:
        drift: of all readings together, relative.
        channels, sources: of the gain of each channel and of the current of each stimulation, relative.
        movement: of each electrode along the boundary, in metres.
        contact: of log z of each electrode.
    """

    drift: float = 0.0
    channels: float = 0.0
    sources: float = 0.0
    movement: float = 0.0
    contact: float = 0.0

    def directions(self, tank: LinearTank) -> Float64[Tensor, "readings directions"]:
        """The changes d, each as large as its standard deviation: the covariance is d dᵀ."""
        v, (row, column) = tank.readings, torch.nonzero(tank.model.pattern.mask).unbind(-1)
        found = [self.drift * v[:, None]] if self.drift else []
        for size, owner in ((self.sources, row), (self.channels, column)):
            if size:
                each = torch.nn.functional.one_hot(owner).double()
                found.append(size * v[:, None] * each)
        found += [self.movement * tank.by_place] if self.movement else []
        found += [self.contact * tank.by_contact] if self.contact else []
        return torch.cat(found, 1) if found else v.new_zeros(len(v), 0)


@dataclass(frozen=True)
class ReadingNoise:
    """White noise of each reading: √(floor² + (relative · |V|/V_rms)²) · V_rms, V the readings of the empty tank.

    Only the ratios count where the noise is estimated along with the image. Of reference frames, where there are eight
    or more, the noise is taken as it is.
    """

    relative: float = 0.0
    floor: float = 1e-3

    def variances(self, measurement: ElectrodeMeasurement, tank: LinearTank) -> Float64[Tensor, "readings"]:
        """Of the difference of a frame and the mean of the reference, in V²."""
        frames = measurement.reference
        if frames is not None and len(frames) >= _ENOUGH:
            own = _variance(frames) * (1 + 1 / len(frames))
            typical = own.nanmedian()
            if bool(typical > 0):
                return _OWN * own.nan_to_num(nan=float(typical)) + (1 - _OWN) * typical
        size = tank.readings.square().mean()
        return self.floor**2 * size + self.relative**2 * tank.readings.square()


def _variance(frames: Float64[Tensor, "frames readings"]) -> Float64[Tensor, "readings"]:
    """Of each reading over the frames, from the differences of neighbours, so that a drift is no noise."""
    return frames.diff(dim=0).square().nanmean(0) / 2
