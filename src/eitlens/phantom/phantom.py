"""A phantom: shapes in a uniform body, each with its conductivity."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from eitlens import checks
from eitlens.errors import InputError
from eitlens.phantom.base import Shape


@dataclass(frozen=True)
class Phantom:
    """A conductivity: `inside[k]` in shape k, `outside` elsewhere; where shapes overlap, the later in the list counts.

    `inside` may be one number for all shapes. With equal conductivities the inclusion is the union of the
    shapes. A shape of conductivity 0 is an insulator, one of conductivity ∞ a perfect conductor; boundary integrals
    take both, and a grid refuses them.

    >>> eit.Phantom([eit.circle((0.3, 0.2), 0.2)], inside=5.0).inside
    (5.0,)
    """

    shapes: tuple[Shape, ...]
    inside: tuple[float, ...]
    outside: float

    def __init__(
        self, shapes: Sequence[Shape], inside: float | Sequence[float] = 10.0, outside: float = 1.0
    ) -> None:
        _check_shapes(shapes)
        given = checks.physics(inside, "Phantom: inside")
        values = [float(given)] * len(shapes) if given.ndim == 0 else given.tolist()
        if given.ndim > 1 or len(values) != len(shapes):
            raise InputError(
                f"Phantom: {len(shapes)} shapes but {len(values)} conductivities: give one, or one each"
            )
        around = checks.number(outside, "Phantom: outside")
        _check_conductivities(values, around)
        object.__setattr__(self, "shapes", tuple(shapes))
        object.__setattr__(self, "inside", tuple(values))
        object.__setattr__(self, "outside", around)


def _check_conductivities(inside: list[float], outside: float) -> None:
    checks.positive(torch.tensor(outside, dtype=torch.float64), "Phantom: conductivity")
    for value in inside:
        if not value >= 0:
            raise InputError(
                f"Phantom: conductivity must be positive, or 0 for an insulator, or infinite for a perfect conductor, "
                f"got {value:g}"
            )


def _check_shapes(shapes: object) -> None:
    if isinstance(shapes, Sequence) and all(isinstance(shape, Shape) for shape in shapes):
        return
    hint = ": put it in brackets, Phantom([shape])" if isinstance(shapes, Shape) else ""
    raise InputError(
        f"Phantom: expected a list of shapes such as circle((0, 0), 0.3), got {checks.shown(shapes)}{hint}"
    )
