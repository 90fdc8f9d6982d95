"""The input for many worlds: codes of boundary data of unit size, with their size and two kinds of noise.

The size of f - f0 varies over bodies by a factor of thousands, with the contrast, the area and the depth of what is in
them. The second moments of such a mixture are those of its few loudest bodies, and a prior of them trusts the data
of a faint body too little where its modes lie, and too much where only noise is. So the size is taken out first,

    α² = Σ y² / Σ E d²,    the sums over what was measured,

the modes are those of data of unit size, and a network reads [asinh z, s, log τ, log ω, log α, z] of y / α.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from eitlens.errors import InputError
from eitlens.feature.base import Input, InputRecipe, Reading
from eitlens.feature.codes import FIT, GROUP, Codes, completed, has_few_points
from eitlens.feature.dense import dense_code
from eitlens.feature.gaussian import LEAST_TAU, Code, GaussianPrior
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig

LEVELS = 3
"""Numbers between the deviations and z: log τ, log ω, log α."""
_FAINTEST = 1e-4  # of the usual size: below it lies what solvers and rounding leave
KIND = "scaled-gaussian"


@dataclass(frozen=True, eq=False)
class ScaledCodes(Input):
    """The map from boundary data of any size to network input; the prior travels with the weights."""

    codes: Codes
    """For data of unit size."""
    size: float
    """The usual size of data, their root mean square over nodes and currents, in the geometric mean."""
    absent: ClassVar[float] = torch.nan
    parts: ClassVar[tuple[str, ...]] = Codes.parts
    reads_gaps: ClassVar[bool] = True

    @property
    def n(self) -> int:  # type: ignore[override]
        """Cells a side of the grid."""
        return self.codes.n

    @property
    def body(self) -> str:  # type: ignore[override]
        """The name of the body."""
        return self.codes.body

    @property
    def currents(self) -> CurrentsConfig:  # type: ignore[override]
        """The currents, all that it knows."""
        return self.codes.currents

    @classmethod
    def fitted(cls, recipe: InputRecipe, samples: Callable[[int], Data]) -> "ScaledCodes":
        """The input with the prior of training data of unit size, rounded as it will be read from its file."""
        data = samples(FIT)
        sizes = data.square().mean((1, 2)).sqrt()
        some = sizes > 0
        size = float(sizes[some].log().mean().exp())
        whole = Codes.of_data(
            recipe.n, recipe.currents, data[some] / sizes[some, None, None], recipe.modes, recipe.body
        )
        mean, modes = (tensor.float().double() for tensor in (whole.prior.mean, whole.prior.modes))
        return cls(replace(whole, prior=replace(whole.prior, mean=mean, modes=modes, white=True)), size)

    @property
    def least_currents(self) -> int:
        """One current is enough, as for `Codes`."""
        return self.codes.least_currents

    def at(self, n: int) -> "ScaledCodes":
        """The same for data at the boundary nodes of the body on n cells a side."""
        return replace(self, codes=self.codes.at(n))

    def to(self, device: torch.device) -> "ScaledCodes":
        """The same on another device."""
        return replace(self, codes=self.codes.to(device))

    def __call__(self, difference: Data) -> Float32[Tensor, "samples code"]:
        """The codes of (B, L, 4n) differences, nan where not measured; fewer currents are the first ones."""
        data, amplitude = self.scaled(completed(difference, self.currents.count))
        return self._packed(self.codes.prior.code(data), amplitude)

    def read(self, difference: Data) -> Reading:
        """The code, by dense algebra where it is of few points, and its noise level."""
        data, amplitude = self.scaled(completed(difference, self.currents.count))
        few = has_few_points(data)
        code = dense_code(self.codes.prior, data) if few else self.codes.prior.code(data)
        return Reading(self._packed(code, amplitude), code.tau)

    def scaled(self, difference: Data) -> tuple[Data, Float64[Tensor, "samples"]]:
        """The data of unit size, and α over the usual size."""
        there = torch.isfinite(difference)
        expected = self.codes.prior.rms.square()[:, None].expand_as(difference[0])
        power = torch.where(there, difference, 0.0).square().sum((1, 2))
        usual = (there * expected).sum((1, 2)).clamp(min=1e-300)
        amplitude = (power / usual).sqrt().clamp(min=_FAINTEST * self.size)
        return difference / amplitude[:, None, None], amplitude / self.size

    def _packed(self, code: Code, amplitude: Float64[Tensor, "samples"]) -> Float32[Tensor, "samples code"]:
        """In float32 before the asinh, as `codes.packed`."""
        white = torch.full_like(code.tau, LEAST_TAU) if code.white is None else code.white
        levels = torch.stack([code.tau.log(), white.log(), amplitude.log()], -1).float()
        z, deviation = code.mean.float(), code.deviation.float()
        return torch.cat([torch.asinh(z), deviation, levels, z], -1)

    def steps_at_once(self, batch: int, device: torch.device) -> int:
        """As for `Codes`."""
        return GROUP

    def tensors(self) -> dict[str, Tensor]:
        """The prior."""
        return self.codes.tensors()

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return self.codes.to_dict() | {"kind": KIND, "size": self.size}

    @classmethod
    def from_parts(cls, values: dict[str, Any], tensors: Mapping[str, Tensor]) -> "ScaledCodes":
        """The input from the results of `to_dict` and `tensors`."""
        codes, size = Codes.from_parts(values, tensors), float(values["size"])
        if not 0 < size < float("inf"):
            raise InputError(f"features: expected a positive size of the data, got {size}")
        prior: GaussianPrior = replace(codes.prior, white=True)
        return cls(replace(codes, prior=prior), size)
