"""Inputs in the place of φ and ∇φ, to find out what φ is worth: the same 3L channels, filled otherwise.

A network of fields is trained with one of them as with `Features`, and has the same parameters: channels that an
input has nothing for are zero.

- `RaySpread`: the boundary values themselves, f - f0, constant along the rays from the centre of the body. Nothing is
  solved; what is there is raw data in the shape of an image.
- `Potential`: φ alone, whose gradient the network has to find.
- `CodeFields`: the fields φ and ∇φ of whitened data. With the code z of `feature.gaussian` these are Σ z_k e_k, where
  e_k is the mode a_k divided by its root mean square: modes that are faint in the data are as loud as strong ones,
  and noise that no body makes is left out.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float32, Float64, Int64
from torch import Tensor

from eitlens.checks import known_keys
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.feature.base import Input, InputRecipe
from eitlens.feature.codes import Codes
from eitlens.feature.harmonic import harmonic_extension
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.memory import cached

_PER_CURRENT = 3  # channels of the input they replace


class Substitute(Input):
    """An input for networks of fields: its channels, and zeros for those it has nothing for."""

    replaces: ClassVar[str] = "harmonic"

    @abstractmethod
    def channels(self, difference: Data) -> Float64[Tensor, "*batch channels nx ny"]:
        """The first of the 3L channels, as many as there are."""

    @property
    def least_currents(self) -> int:
        """All of them are needed."""
        return self.currents.count

    def __call__(self, difference: Data) -> Float32[Tensor, "*batch channels nx ny"]:
        """The 3L channels of (…, L, N) boundary differences."""
        count = self.currents.count
        if difference.ndim < 2 or difference.shape[-2] != count:
            size = self.domain.boundary_size
            raise InputError(f"expected (…, {count}, {size}) differences, got {tuple(difference.shape)}")
        found = self.channels(difference).to(torch.float32)
        spare = _PER_CURRENT * count - found.shape[-3]
        return torch.nn.functional.pad(found, (0, 0, 0, 0, 0, spare))


@dataclass(frozen=True)
class Unfitted(Substitute):
    """One that training data have no part in."""

    n: int = 200
    currents: CurrentsConfig = field(default_factory=CurrentsConfig)
    body: str = "square"
    kind: ClassVar[str]
    """Its registered name."""

    @classmethod
    def fitted(cls, recipe: InputRecipe, samples: Callable[[int], Data]) -> Self:
        """The input for the grid, the body and the currents of the recipe."""
        return cls(recipe.n, recipe.currents, recipe.body)

    def at(self, n: int) -> Self:
        """The same on a grid of n cells a side."""
        return replace(self, n=n)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return {"kind": self.kind} | asdict(self)

    @classmethod
    def from_parts(cls, values: dict[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """The input from plain JSON values; an unknown key is an error."""
        top = known_keys({key: value for key, value in values.items() if key != "kind"}, cls, "features")
        known = known_keys(top.get("currents", {}), CurrentsConfig, "features: currents")
        return cls(**(top | {"currents": CurrentsConfig(**known)}))


@dataclass(frozen=True)
class RaySpread(Unfitted):
    """The boundary values, constant along rays from the origin and linear in the angle between nodes."""

    kind: ClassVar[str] = "boundary"

    def channels(self, difference: Data) -> Float64[Tensor, "*batch currents nx ny"]:
        """A channel for each current."""
        data = check_boundary_values(self.domain, difference, "f - f0")
        first, second, share = _rays(self.domain, data.device)
        spread: Tensor = data[..., first] * (1 - share) + data[..., second] * share
        return spread


@dataclass(frozen=True)
class Potential(Unfitted):
    """The harmonic extension φ without its gradient."""

    kind: ClassVar[str] = "potential"

    def channels(self, difference: Data) -> Float64[Tensor, "*batch currents nx ny"]:
        """A channel for each current."""
        return harmonic_extension(self.domain, difference)


@dataclass(frozen=True, eq=False)
class CodeFields(Substitute):
    """The fields of whitened data; the prior of the code travels with the weights."""

    codes: Codes
    parts: ClassVar[tuple[str, ...]] = Codes.parts
    kind: ClassVar[str] = "code-fields"

    @property
    def n(self) -> int:  # type: ignore[override]
        """Cells a side."""
        return self.codes.n

    @property
    def body(self) -> str:  # type: ignore[override]
        """The name of the body."""
        return self.codes.body

    @property
    def currents(self) -> CurrentsConfig:  # type: ignore[override]
        """The currents of the data."""
        return self.codes.currents

    @classmethod
    def fitted(cls, recipe: InputRecipe, samples: Callable[[int], Data]) -> "CodeFields":
        """The input with the prior of training data."""
        return cls(Codes.fitted(recipe, samples))

    def channels(self, difference: Data) -> Float64[Tensor, "samples channels nx ny"]:
        """Φ, ∂x φ and ∂y φ for each current, of the whitened data."""
        return harmonic_extension(self.domain, self.whitened(difference), gradient=True)

    def whitened(self, difference: Data) -> Data:
        """Σ z_k e_k, the modes e_k of root mean square 1."""
        modes = self.codes.prior.modes
        size = modes.square().mean((-2, -1), keepdim=True).sqrt()
        data: Tensor = torch.tensordot(self.codes.code(difference).mean, modes / size, 1)
        return data

    def at(self, n: int) -> "CodeFields":
        """The same on a grid of n cells a side."""
        return CodeFields(self.codes.at(n))

    def to(self, device: torch.device) -> "CodeFields":
        """The same on another device."""
        return CodeFields(self.codes.to(device))

    def steps_at_once(self, batch: int, device: torch.device) -> int:
        """As many as for the code alone, where fields of so many fit."""
        return self.codes.steps_at_once(batch, device) if device.type == "cuda" else 1

    def tensors(self) -> dict[str, Tensor]:
        """Those of the code."""
        return self.codes.tensors()

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return self.codes.to_dict() | {"kind": self.kind}

    @classmethod
    def from_parts(cls, values: dict[str, Any], tensors: Mapping[str, Tensor]) -> "CodeFields":
        """The input from the results of `to_dict` and `tensors`."""
        return cls(Codes.from_parts(values, tensors))


@cached
def _rays(
    domain: Domain, device: torch.device
) -> tuple[Int64[Tensor, "nx ny"], Int64[Tensor, "nx ny"], Float64[Tensor, "nx ny"]]:
    """The boundary nodes before and after the ray through each grid node, and the share of the second."""
    turn = 2 * torch.pi
    angle = domain.angle(device)
    if bool((angle.roll(-1) - angle).remainder(turn).sum() > 1.5 * turn):
        raise InputError(f"{domain.name}: a ray from the origin leaves it more than once: use another input")
    known, order = angle.sort()
    x, y = domain.nodes(device).unbind(-1)
    here = torch.atan2(y, x).contiguous()
    after = torch.searchsorted(known, here, right=True) % len(known)
    before = (after - 1) % len(known)
    gap = (known[after] - known[before]).remainder(turn)
    return order[before], order[after], (here - known[before]).remainder(turn) / gap


SUBSTITUTES: dict[str, type[Substitute]] = {one.kind: one for one in (RaySpread, Potential, CodeFields)}
"""The substitutes by their names in recipes."""
