"""The input of networks of fields: the channels φ_1 … φ_L, ∂x φ_1 … ∂x φ_L, ∂y φ_1 … ∂y φ_L, each scaled.

Float64 up to the division, float32 out. In float32 the extension would be off by 3e-7 and take 0.4 of the
time; but it is a small part of a training step, and float32 products may turn into TF32 behind one's back.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from eitlens.checks import at_least, choose, known_keys
from eitlens.errors import InputError
from eitlens.feature.base import Input, InputRecipe
from eitlens.feature.harmonic import harmonic_extension
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig

_PER_CURRENT = 3  # φ, ∂x φ and ∂y φ
_FIT, _FIT_BATCH = 512, 32  # samples that fix a scale to a few percent; how many are extended at once
_GROUP, _TOGETHER = 8, 256  # most steps and samples whose fields are made at once on a GPU: 10 MB each


@dataclass(frozen=True)
class Features(Input):
    """The map from boundary data to network input; its settings travel with the weights.

    Attributes:
        n: cells a side.
        currents: which currents the data belong to, in order.
        gradient: `exact` in closed form up to the boundary, or `repo` for the published code's central
            differences with zeros beyond the edge and h = 1/201: twice too large, and far more on the edge.
        scale: what each of the 3L channels is divided by; empty for 1 (as in the paper). No mean is
            subtracted, so that no data still means no input.
        fewest: the fewest of the currents that may be given, 0 for all of them; channels of those not given,
            or nan throughout, are zero, which a network must have been trained for.
    """

    n: int = 200
    currents: CurrentsConfig = field(default_factory=CurrentsConfig)
    gradient: Literal["exact", "repo"] = "exact"
    scale: tuple[float, ...] = ()
    fewest: int = 0
    body: str = "square"

    def __post_init__(self) -> None:
        at_least("features: n", self.n, 16)
        if not 0 <= self.fewest <= self.currents.count:
            raise InputError(f"features: fewest must lie in 0 … {self.currents.count}, got {self.fewest}")
        choose("features: gradient", self.gradient, ("exact", "repo"))
        object.__setattr__(self, "scale", tuple(float(value) for value in self.scale))
        if self.scale and len(self.scale) != self.channels:
            raise InputError(
                f"features: expected {self.channels} scales, 3 for each current, got {len(self.scale)}"
            )
        if any(not 0 < value < float("inf") for value in self.scale):
            raise InputError(f"features: scales must be positive numbers, got {list(self.scale)}")

    @classmethod
    def fitted(cls, recipe: InputRecipe, samples: Callable[[int], Data]) -> "Features":
        """The fields, scaled by each channel's root mean square over some training data where that is asked for."""
        plain = cls(recipe.n, recipe.currents, recipe.gradient, fewest=recipe.fewest, body=recipe.body)
        return plain.scaled(samples(_FIT)) if recipe.scale else plain

    @property
    def least_currents(self) -> int:
        """The fewest currents that may be given."""
        return self.fewest or self.currents.count

    def at(self, n: int) -> "Features":
        """The same on a grid of n cells a side."""
        return replace(self, n=n)

    def steps_at_once(self, batch: int, device: torch.device) -> int:
        """As many steps as fit a GPU well; the fields of one step fill the caches of a CPU as it is."""
        return min(_GROUP, max(1, _TOGETHER // batch)) if device.type == "cuda" else 1

    @property
    def channels(self) -> int:
        """The number of channels, three for each current."""
        return _PER_CURRENT * self.currents.count

    def __call__(self, difference: Data) -> Float32[Tensor, "*batch channels nx ny"]:
        """Network input from (…, L, 4n) boundary differences, on their device; fewer currents are the first."""
        return self.divided(self.fields(difference)).to(torch.float32)

    def fields(self, difference: Data) -> Float64[Tensor, "*batch channels nx ny"]:
        """The channels in their physical size."""
        difference = self._completed(difference)
        if self.gradient == "exact":
            return harmonic_extension(self.domain, difference, gradient=True)
        phi = harmonic_extension(self.domain, difference)
        return torch.cat([phi, *zero_padded_gradient(phi)], -3)

    def divided(self, channels: Tensor) -> Tensor:
        """The channels divided by their scales."""
        if not self.scale:
            return channels
        return (
            channels / torch.tensor(self.scale, dtype=channels.dtype, device=channels.device)[:, None, None]
        )

    def scaled(self, difference: Data) -> "Features":
        """The same, scaled by each channel's root mean square over some training data."""
        total = sum(
            self.fields(rows).square().mean((-2, -1)).sum(0) for rows in torch.split(difference, _FIT_BATCH)
        )
        rms = (torch.as_tensor(total) / len(difference)).sqrt()
        if not bool((rms > 0).all()):
            raise InputError("features: a channel of the training data is zero: is there an inclusion in it?")
        # Seven digits are plenty and make the numbers the same on every machine.
        return replace(self, scale=tuple(float(f"{value:.6e}") for value in rms.tolist()))

    def _completed(self, difference: Data) -> Data:
        """The data with zeros for currents that may be missing: those left out, and those that are nan throughout."""
        count, fewest = self.currents.count, self.least_currents
        given = difference.shape[-2] if difference.ndim >= 2 else 0
        if not fewest <= given <= count:
            got = tuple(difference.shape)
            raise InputError(
                f"features: expected (…, {count}, {self.domain.boundary_size}) boundary differences, got {got}"
            )
        if fewest == count:
            return difference
        whole = torch.nn.functional.pad(difference, (0, 0, 0, count - given))
        spare = torch.arange(count, device=whole.device)[:, None] >= fewest
        return whole.masked_fill(spare & whole.isnan().all(-1, keepdim=True), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        values = asdict(self)
        return values if self.body != "square" else {k: v for k, v in values.items() if k != "body"}

    @classmethod
    def from_parts(cls, values: object, tensors: Mapping[str, Tensor] | None = None) -> "Features":
        """The input from plain JSON values; an unknown key is an error."""
        top = known_keys(values, Features, "features")
        if "currents" in top:
            top["currents"] = CurrentsConfig(
                **known_keys(top["currents"], CurrentsConfig, "features: currents")
            )
        return Features(**(top | {"scale": tuple(top.get("scale", ()))}))


def zero_padded_gradient(phi: Float64[Tensor, "*batch nx ny"]) -> tuple[Tensor, Tensor]:
    """The published code's gradient: central differences over 2h, h = 1/(n+1), with zeros beyond the edge."""
    h = 1 / phi.shape[-1]
    wide = torch.nn.functional.pad(phi, (1, 1, 1, 1))
    dx = (wide[..., 2:, 1:-1] - wide[..., :-2, 1:-1]) / (2 * h)
    dy = (wide[..., 1:-1, 2:] - wide[..., 1:-1, :-2]) / (2 * h)
    return dx, dy
