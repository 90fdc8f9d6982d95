"""What a network that reads codes sees: [asinh z, s, log τ, z] of the boundary data (see `feature.gaussian`).

The code is a vector a sample: the tame asinh z and the deviations s for what is learned, z itself for what is
linear in the data, as the harmonic extension is.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.feature.gaussian import Code, GaussianPrior
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.forward.symmetry import ELEMENTS, Symmetries, symmetries

# Characters of the group of reflections by the signs (x, y) of its elements.
_CHARACTERS = ((0, 0), (1, 0), (0, 1), (1, 1))


@dataclass(frozen=True, eq=False)
class Codes:
    """The map from boundary data to network input; the prior travels with the weights."""

    n: int
    currents: CurrentsConfig
    prior: GaussianPrior

    @staticmethod
    def fitted(n: int, currents: CurrentsConfig, difference: Data, modes: int) -> "Codes":
        """With the prior of these data and of their mirror images."""
        moves = symmetries(Square(n), currents, difference.device)
        elements = mirrors(moves)
        copies = torch.stack(
            [
                moves.move_data(difference, torch.full((len(difference),), k, device=difference.device))
                for k in elements
            ]
        )
        signs = characters([moves.names[k] for k in elements]).to(difference)
        return Codes(n, currents, GaussianPrior.fit(copies, signs, modes))

    @property
    def domain(self) -> Square:
        """The body the data come from, and the grid of the image."""
        return Square(self.n)

    @property
    def size(self) -> int:
        """Numbers in a code."""
        return 3 * len(self.prior.modes) + 1

    def at(self, n: int) -> "Codes":
        """The same for data at 4n boundary nodes."""
        return replace(self, n=n, prior=self.prior.at(Square(n).boundary_size))

    def to(self, device: torch.device) -> "Codes":
        """The same on another device."""
        return replace(self, prior=self.prior.to(device))

    def __call__(self, difference: Data) -> Float32[Tensor, "samples code"]:
        """The codes of (B, L, 4n) differences, nan where not measured; fewer currents are the first ones."""
        return packed(self.code(difference))

    def code(self, difference: Data) -> Code:
        """The same as its parts."""
        return self.prior.code(completed(difference, self.currents.count))


def packed(code: Code) -> Float32[Tensor, "samples code"]:
    """A code as a network reads it: asinh z, deviations, log τ, z.

    In float32 before the asinh, which is then right to the last digit or two: onnxruntime has no other.
    """
    z, deviation, log_tau = (part.float() for part in (code.mean, code.deviation, code.tau.log()[:, None]))
    return torch.cat([torch.asinh(z), deviation, log_tau, z], -1)


def completed(difference: Data, currents: int) -> Data:
    """With nan for the currents that are missing; more than there should be are an error."""
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
