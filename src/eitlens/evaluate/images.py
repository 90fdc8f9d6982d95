"""Scores of an image of any kind against a known body: position error, Dice, relative error of the conductivity.

The nodes where an image shows something are those whose departure from the background is above a threshold: ½ for a
probability or a sign, Otsu's for anything else. The departure is the value itself of a probability or an index, the
size of a sign, and
|σ - σ0| / (σ + σ0) of a conductivity, σ0 its median over the body: half and twice as conductive depart alike. A change
is added to σ0 of the known body; where no body is known, its departure is |σ - σ0|.

Reference: N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
Cybernetics 9 (1979).
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float64
from scipy import ndimage
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.phantom import Phantom, indicator
from eitlens.phantom.raster import conductivity

Image = Float64[Tensor, "nx ny"]
Mask = Bool[Tensor, "nx ny"]
Quantity = Literal["probability", "index", "conductivity", "change", "sign"]
"""The meaning of an image: the probability of an inclusion, an index from 0 to 1, σ in S/m, σ - σ0 in S/m, or the
probability of a conductive object less that of a resistive one."""


class Scores(NamedTuple):
    """How near an image is to the truth.

    Attributes:
        position: see `position_error`; None where the image or the body shows nothing.
        dice: 2 |P ∩ T| / (|P| + |T|), P the nodes where the image shows something, T those in the inclusions.
        error: |σ̂ - σ| / |σ| over the nodes of the body; None where the image is neither σ nor its change.
    """

    position: float | None
    dice: float
    error: float | None


def scores(image: Image, quantity: Quantity, domain: Domain, phantom: Phantom) -> Scores:
    """Score an image on the grid of a body against a phantom.

    >>> body, phantom = eit.Disk(32), eit.Phantom([eit.circle((0.3, 0.0), 0.3)])
    >>> score = scores(eit.indicator(body, phantom).double(), "index", body, phantom)
    >>> score.position, score.dice, score.error
    (0.0, 1.0, None)
    """
    found, truth = foreground(image, quantity, domain, phantom.outside), indicator(domain, phantom)
    error = relative_error(image, quantity, domain, phantom)
    return Scores(position_error(found, truth, domain), dice(found, truth), error)


def foreground(image: Image, quantity: Quantity, domain: Domain, outside: float | None = None) -> Mask:
    """The nodes of the body where an image shows something; `outside` is σ0 of a change, where it is known."""
    inside = domain.inside()
    away = departure(image, quantity, domain, outside)
    return inside & (away > (0.5 if quantity in ("probability", "sign") else otsu(away[inside])))


def departure(image: Image, quantity: Quantity, domain: Domain, outside: float | None = None) -> Image:
    """How far each node departs from the background; `outside` is σ0 of a change, where it is known."""
    if quantity == "conductivity":
        return _contrast(image, float(image[domain.inside()].median()), domain)
    if quantity == "sign":
        return image.abs()
    if quantity == "change":
        return image.abs() if outside is None else _contrast(image + outside, outside, domain)
    return image


def _contrast(sigma: Image, outside: float, domain: Domain) -> Image:
    """|σ - σ0| / (σ + σ0), 1 where linear images make σ negative."""
    least = torch.finfo(sigma.dtype).tiny
    found = sigma.clamp(min=least)
    return ((found - outside).abs() / (found + max(outside, least))).where(domain.inside(), 0.0)


def otsu(values: Float64[Tensor, "values"]) -> float:
    """The threshold that parts values into two classes of the largest variance between them; exact, of all cuts."""
    ordered, _ = values.sort()
    count = torch.arange(1, len(ordered), dtype=torch.float64)
    below = ordered.cumsum(0)[:-1]
    means = below / count, (ordered.sum() - below) / (len(ordered) - count)
    between = count * (len(ordered) - count) * (means[1] - means[0]).square()
    cut = int(between.argmax())
    return float(ordered[cut : cut + 2].mean())


def dice(found: Mask, truth: Mask) -> float:
    """2 |P ∩ T| / (|P| + |T|) of two sets of nodes; 1 where both are empty."""
    if found.dtype != torch.bool or truth.dtype != torch.bool or found.shape != truth.shape:
        got = ", ".join(f"{tuple(part.shape)} {part.dtype}" for part in (found, truth))
        raise InputError(
            f"dice: expected two sets of nodes (true inside) of one shape, got {got}: use image > 0.5"
        )
    size = int(found.sum() + truth.sum())
    return 2 * int((found & truth).sum()) / size if size else 1.0


def position_error(found: Mask, truth: Mask, domain: Domain) -> float | None:
    """The mean over the inclusions of how far off each is seen, in units of the body's coordinates.

    Each node found counts for the inclusion whose centroid is nearest, and how far off an inclusion is seen is the
    distance of its centroid from that of its nodes. An inclusion with none is as far off as the nearest node of all.
    None where one of the sets is empty.
    """
    if not bool(found.any() and truth.any()):
        return None
    nodes = domain.nodes()
    seen, true = nodes[found], _centroids(truth, nodes)
    away = torch.cdist(true, seen)
    nearest = away.argmin(0)
    own = [seen[nearest == k] for k in range(len(true))]
    off = [
        float((part.mean(0) - centre).norm()) if len(part) else float(away[k].min())
        for k, (part, centre) in enumerate(zip(own, true, strict=True))
    ]
    return sum(off) / len(off)


def relative_error(image: Image, quantity: Quantity, domain: Domain, phantom: Phantom) -> float | None:
    """|σ̂ - σ| / |σ| over the nodes of the body; a change is added to σ0 of the phantom. None for other images."""
    if quantity not in ("conductivity", "change"):
        return None
    inside = domain.inside()
    estimate = image + phantom.outside if quantity == "change" else image
    truth = conductivity(domain, phantom)[inside]
    return float((estimate[inside] - truth).norm() / truth.norm())


def _centroids(mask: Mask, nodes: Float64[Tensor, "nx ny 2"]) -> Float64[Tensor, "pieces 2"]:
    """The centroids of the connected pieces of a set of nodes."""
    labels, count = ndimage.label(mask.numpy())
    pieces = torch.from_numpy(labels)
    return torch.stack([nodes[pieces == k].mean(0) for k in range(1, count + 1)])
