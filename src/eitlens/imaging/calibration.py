"""Probabilities that mean what they say: temperature scaling by noise level.

A network's logits z are divided by a temperature T, p = sigmoid(z / T), chosen on validation data such that the cross
entropy is least (Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017). It moves no
outline, as z = 0 stays. The over-confidence grows with the noise, so there is one T for each of a few noise levels, and
between them T is linear in τ. Kept as calibration.json beside the weights, with the range of |f - f0| in training.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from torch import Tensor
from torch.nn import functional as fn

from eitlens.checks import known_keys
from eitlens.errors import InputError
from eitlens.files import read_json

FILE = "calibration.json"
_RANGE, _TOLERANCE = (-1.5, 1.5), 1e-3  # of log T: T in [0.22, 4.5], to a thousandth, finer than it is known
_LISTS = ("levels", "temperatures", "misfits")


@dataclass(frozen=True)
class Calibration:
    """Temperatures at noise levels, and what the network was trained for.

    Attributes:
        levels, temperatures: T at each τ, increasing in τ.
        amplitudes: for each current, the least and largest root mean square of f - f0 seen in training.
        misfits: at each level, the misfit of the network's image that 1 in 100 samples exceeds (see `warnings`).
        contrast: conductivity of the inclusions over that of the body, in training.
        samples: how many validation samples it was fitted on.
        fewer: the same for a network that also reads fewer currents, by their number.
    """

    levels: tuple[float, ...] = (0.0,)
    temperatures: tuple[float, ...] = (1.0,)
    amplitudes: tuple[tuple[float, float], ...] = ()
    misfits: tuple[float, ...] = ()
    contrast: float = 10.0
    samples: int = 0
    fewer: dict[int, "Calibration"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        increasing = all(a < b for a, b in zip(self.levels, self.levels[1:], strict=False))
        if not self.levels or len(self.levels) != len(self.temperatures) or not increasing:
            raise InputError("calibration: expected one temperature for each of some increasing noise levels")
        if self.misfits and len(self.misfits) != len(self.levels):
            raise InputError("calibration: expected one misfit for each noise level")
        if any(not 0 < t < float("inf") for t in self.temperatures):
            raise InputError(f"calibration: temperatures must be positive, got {list(self.temperatures)}")

    def reading(self, count: int) -> "Calibration":
        """The calibration for so many currents."""
        return self.fewer.get(count, self)

    def temperature(self, tau: float | None) -> float:
        """T at a noise level; the last one beyond the last level, the first where the level is unknown."""
        return float(np.interp(0.0 if tau is None else tau, self.levels, self.temperatures))

    def misfit(self, tau: float | None) -> float | None:
        """The misfit that 1 in 100 samples of this noise level exceeds; of the last where the level is unknown."""
        if not self.misfits:
            return None
        return float(np.interp(self.levels[-1] if tau is None else tau, self.levels, self.misfits))

    def probability(self, logits: Float[Tensor, "*grid"], tau: float | None) -> Float[Tensor, "*grid"]:
        """The image sigmoid(z / T)."""
        return torch.sigmoid(logits.double() / self.temperature(tau))

    def to_dict(self) -> dict[str, Any]:
        """The calibration as plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_dict(values: object) -> "Calibration":
        """The calibration from plain JSON values, each checked."""
        given = known_keys(values, Calibration, "calibration")
        try:
            lists = {key: tuple(map(float, given[key])) for key in _LISTS if key in given}
            pairs = tuple((float(low), float(high)) for low, high in given.get("amplitudes", ()))
            fewer = {int(k): Calibration.from_dict(v) for k, v in given.get("fewer", {}).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(f"calibration: expected lists of numbers ({error})") from None
        return Calibration(**(given | lists | {"amplitudes": pairs, "fewer": fewer}))

    @staticmethod
    def read(folder: Path) -> "Calibration":
        """Read calibration.json in a folder; where there is none, the network's own probabilities."""
        path = folder / FILE
        if not path.exists():
            return Calibration()
        return read_json(path, Calibration.from_dict, "run `eitlens calibrate` again")


def fit_temperature(logits: Float[Tensor, "samples *grid"], target: Float[Tensor, "samples *grid"]) -> float:
    """The T in [0.22, 4.5] with the least mean cross entropy of sigmoid(z / T), found in log T."""
    z, t = logits.flatten().float(), target.flatten().float()

    def loss(power: float) -> float:
        return float(fn.binary_cross_entropy_with_logits(z * torch.tensor(-power).exp(), t))

    found = minimize_scalar(loss, bounds=_RANGE, method="bounded", options={"xatol": _TOLERANCE})
    return float(torch.tensor(found.x).exp())
