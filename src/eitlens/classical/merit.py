"""Figures of merit of a linear image of one small target, as GREIT defines them.

All are about the set q of nodes with at least ¼ of the largest value, its centre of gravity and the circle around that
of the same area. Coordinates are those of the body, whose box is 2 wide. An image of a resistive target is negative:
give it with its sign changed.

Reference: A. Adler et al., Physiological Measurement 30 (2009), section 3.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError

Image = Float[Tensor, "nx ny"]

_PART = 0.25  # of the largest value: a node with so much belongs to the target's image


class Merit(NamedTuple):
    """How good the image of a small target is.

    Attributes:
        amplitude: AR, the sum of the image times the area of a node; over that of the target it should be 1, or at
            least the same everywhere.
        distance: from the target to the centre of gravity of q.
        position: PE, the radius of the target less that of q; positive where the image is too near to the centre.
        resolution: RES, the root of the part of the body that q covers: smaller is sharper.
        deformation: SD, the part of q outside the circle of its area.
        ringing: RNG, the sum of values of the other sign outside the circle over that of all values in it.
    """

    amplitude: float
    distance: float
    position: float
    resolution: float
    deformation: float
    ringing: float


def merit(domain: Domain, image: Image, target: tuple[float, float]) -> Merit:
    """The figures of merit of the image of a target at (x, y)."""
    found, inside = image.detach(), domain.inside(image.device)
    if float(found.max()) <= 0:
        raise InputError("merit: the image has no positive value: change its sign for a resistive target")
    nodes, place = domain.nodes(image.device), torch.tensor(target).to(image)
    area = float((nodes[1, 1] - nodes[0, 0]).prod())
    part = quarter(found)
    centre = nodes[part].mean(0)
    radius = (float(part.sum()) * area / torch.pi) ** 0.5
    circle = ((nodes - centre).norm(dim=-1) <= radius) & inside
    return Merit(
        amplitude=float(found.sum()) * area,
        distance=float((centre - place).norm()),
        position=float(place.norm() - centre.norm()),
        resolution=float(part.sum() / inside.sum()) ** 0.5,
        deformation=float((part & ~circle).sum() / part.sum()),
        ringing=float(-found[inside & ~circle].clamp(max=0).sum() / found[circle].sum()),
    )


def quarter(image: Image) -> Bool[Tensor, "nx ny"]:
    """The set q: where the image is at least ¼ of its largest value."""
    return image >= _PART * image.max()


def position_error(domain: Domain, image: Image, target: tuple[float, float]) -> float:
    """The distance from a target to the centre of gravity of its image, whatever its sign."""
    signed = image if float(image.max()) >= -float(image.min()) else -image
    return merit(domain, signed, target).distance
