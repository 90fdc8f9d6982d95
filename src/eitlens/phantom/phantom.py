"""A phantom: shapes in a uniform body, each with its conductivity."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from eitlens import checks
from eitlens.errors import InputError
from eitlens.phantom.base import Shape


@dataclass(frozen=True)
class Phantom:
    """σ = `inside[k]` in shape k and `outside` elsewhere; where shapes overlap, the later in the list counts.

    `inside` may be one number for all shapes. With equal conductivities the inclusion is the union of the
    shapes.
    """

    shapes: tuple[Shape, ...]
    inside: tuple[float, ...]
    outside: float

    def __init__(
        self, shapes: Sequence[Shape], inside: float | Sequence[float] = 10.0, outside: float = 1.0
    ) -> None:
        values = tuple(inside) if isinstance(inside, Sequence) else (inside,) * len(shapes)
        if len(values) != len(shapes):
            raise InputError(
                f"Phantom: {len(shapes)} shapes but {len(values)} conductivities: give one, or one each"
            )
        checks.positive(torch.tensor([*values, outside], dtype=torch.float64), "Phantom: conductivity")
        object.__setattr__(self, "shapes", tuple(shapes))
        object.__setattr__(self, "inside", tuple(float(v) for v in values))
        object.__setattr__(self, "outside", float(outside))
