"""The input of networks of codes: [asinh z, s, log τ, z] of the boundary data (see `feature.gaussian`).

The code is a vector a sample: the tame asinh z and the deviations s for what is learned, z itself for what is
linear in the data, as the harmonic extension is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from eitlens.checks import known_keys
from eitlens.domain.bodies import BODIES
from eitlens.errors import InputError
from eitlens.feature.base import JSON, TENSORS, Input, InputRecipe, Reading
from eitlens.feature.dense import dense_code
from eitlens.feature.gaussian import Code, GaussianPrior
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.forward.symmetry import ELEMENTS, Symmetries, symmetries

_MOST = 800  # values for which dense algebra is still quick
FIT, GROUP = 8192, 8  # samples that fix the leading modes; steps of training whose codes are made at once
_CHARACTERS = ((0, 0), (1, 0), (0, 1), (1, 1))  # of the group of reflections, by the signs (x, y)


@dataclass(frozen=True, eq=False)
class Codes(Input):
    """The map from boundary data to network input; the prior travels with the weights."""

    n: int
    currents: CurrentsConfig
    prior: GaussianPrior
    body: str = "square"
    absent: ClassVar[float] = torch.nan
    parts: ClassVar[tuple[str, ...]] = ("mean", "modes", "parity")
    reads_gaps: ClassVar[bool] = True

    @classmethod
    def fitted(cls, recipe: InputRecipe, samples: Callable[[int], Data]) -> "Codes":
        """The input with the prior of training data, rounded as it will be read again from its file."""
        codes = cls.of_data(recipe.n, recipe.currents, samples(FIT), recipe.modes, recipe.body)
        mean, modes = (tensor.float().double() for tensor in (codes.prior.mean, codes.prior.modes))
        return replace(codes, prior=replace(codes.prior, mean=mean, modes=modes))

    @classmethod
    def of_data(
        cls, n: int, currents: CurrentsConfig, difference: Data, modes: int, body: str = "square"
    ) -> "Codes":
        """The input with the prior of these data and of their mirror images."""
        moves = symmetries(BODIES[body].at(n), currents, difference.device)
        elements = mirrors(moves)
        numbers = torch.tensor(elements, device=difference.device)[:, None].expand(-1, len(difference))
        copies = torch.stack([moves.move_data(difference, number) for number in numbers])
        signs = characters([moves.names[k] for k in elements]).to(difference)
        return cls(n, currents, GaussianPrior.fit(copies, signs, modes), body)

    @property
    def least_currents(self) -> int:
        """One current is enough: what is missing has no weight."""
        return 1

    def at(self, n: int) -> "Codes":
        """The same for data at the boundary nodes of the body on n cells a side."""
        return replace(self, n=n, prior=self.prior.at(self.domain.at(n).boundary_size))

    def to(self, device: torch.device) -> "Codes":
        """The same on another device."""
        return replace(self, prior=self.prior.to(device))

    def __call__(self, difference: Data) -> Float32[Tensor, "samples code"]:
        """The codes of (B, L, 4n) differences, nan where not measured; fewer currents are the first ones."""
        return packed(self.code(difference))

    def code(self, difference: Data) -> Code:
        """The codes as their parts: `Code` names them."""
        return self.prior.code(completed(difference, self.currents.count))

    def read(self, difference: Data) -> Reading:
        """The code, by dense algebra where it is of few points (`eitlens.feature.dense`), and its noise level."""
        whole = completed(difference, self.currents.count)
        code = dense_code(self.prior, whole) if has_few_points(whole) else self.prior.code(whole)
        return Reading(packed(code), code.tau)

    def steps_at_once(self, batch: int, device: torch.device) -> int:
        """Eight: a thousand small products one after the other take time, for few samples as for many."""
        return GROUP

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values, without the tensors of the prior."""
        body = {} if self.body == "square" else {"body": self.body}
        currents = {"family": self.currents.family, "count": self.currents.count}
        return {"kind": "gaussian", "n": self.n, "currents": currents, "floor": self.prior.floor} | body

    def tensors(self) -> dict[str, Tensor]:
        """The prior, mean and modes in float32: a thousandth of its floor."""
        prior = self.prior
        return {"mean": prior.mean.float(), "modes": prior.modes.float(), "parity": prior.parity}

    @classmethod
    def from_parts(cls, values: dict[str, Any], tensors: Mapping[str, Tensor]) -> "Codes":
        """The input from the results of `to_dict` and `tensors`."""
        currents = CurrentsConfig(**known_keys(values["currents"], CurrentsConfig, "features: currents"))
        mean, modes = tensors["mean"].double(), tensors["modes"].double()
        prior = GaussianPrior(mean, modes, tensors["parity"], float(values["floor"]))
        codes = cls(int(values["n"]), currents, prior, str(values.get("body", "square")))
        if mean.shape != (currents.count, codes.domain.boundary_size):
            raise InputError(f"a mean of shape {tuple(mean.shape)}: do {JSON} and {TENSORS} belong together?")
        return codes


def has_few_points(difference: Data) -> bool:
    """Whether in some current nodes are missing (nan), and at most 800 values are there to each sample."""
    there = torch.isfinite(difference)
    partly = there.any(-1) & ~there.all(-1)
    return bool(partly.any()) and int(there.sum((1, 2)).max()) <= _MOST


def packed(code: Code) -> Float32[Tensor, "samples code"]:
    """A code as a network reads it: asinh z, deviations, log τ, z.

    In float32 before the asinh, which is then right to the last digit or two: onnxruntime has no other.
    """
    z, deviation, log_tau = (part.float() for part in (code.mean, code.deviation, code.tau.log()[:, None]))
    return torch.cat([torch.asinh(z), deviation, log_tau, z], -1)


def completed(difference: Data, currents: int) -> Data:
    """The data with nan for the currents that are missing; surplus currents are an error."""
    missing = currents - difference.shape[-2]
    if missing < 0:
        raise InputError(
            f"expected at most {currents} currents, got {difference.shape[-2]}: give the first {currents} of them"
        )
    return torch.nn.functional.pad(difference, (0, 0, 0, missing), value=torch.nan) if missing else difference


def mirrors(moves: Symmetries) -> list[int]:
    """The numbers of the symmetries that swap no axes: they commute."""
    return [k for k, name in enumerate(moves.names) if not ELEMENTS[name][0]]


def characters(names: list[str]) -> Float64[Tensor, "classes elements"]:
    """χ_ab(s) = (sign x)^a (sign y)^b on these elements, each character once."""
    rows = [[ELEMENTS[name][1] ** a * ELEMENTS[name][2] ** b for name in names] for a, b in _CHARACTERS]
    return torch.tensor(list(dict.fromkeys(map(tuple, rows))), dtype=torch.float64)
