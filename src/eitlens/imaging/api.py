"""The shortest way to an image: one call, from boundary data to probabilities."""

from collections.abc import Iterable, Sequence
from typing import Any
from warnings import warn

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError, InputWarning
from eitlens.imaging.imager import load
from eitlens.measure import Measurement
from eitlens.measure.base import Flag

Numbers = Any  # a tensor, an array or nested lists of numbers


def reconstruct(
    difference: Numbers,
    *,
    n: int | None = None,
    model: str | None = None,
    points: Numbers = None,
    currents: Numbers = None,
    refine: int = 0,
    device: str = "cpu",
    symmetries: bool = False,
) -> Float64[Tensor, "*batch nx ny"]:
    """The probability that each node lies inside the inclusion, (n+1, n+1), from f - f0.

    What is doubtful about the data becomes a Python warning, an `eitlens.errors.InputWarning`: noise, a wrong unit, a
    wrong sign. For the uncertainty and the misfit use `eitlens.Imager.load(model)(measurement)`.

    Args:
        difference: (L, 4n) values of f - f0 at the nodes of a Square of any size, or (L, N) at `points`, for the
            currents cos lθ, l = 1 … L, or for `currents`; (B, L, N) for several bodies.
        n: cells a side of the image; the network's own (200) by default.
        model: a name from `eitlens.imaging.shipped()` or the folder of a run; the default network for None.
        points: (N, 2) places on the boundary of (-1, 1)², where they are not the nodes of a Square.
        currents: (L, N) injected currents at these places, where they are not cos lθ.
        refine: at most so many steps of fine-tuning through the forward solver; 12 are plenty.
        device: cpu, cuda or auto.
        symmetries: the mean over the mirror images of the body, where the currents allow it.

    >>> square, phantom = eit.Square(64), eit.Phantom([eit.circle((0.3, 0.2), 0.4)])
    >>> df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))
    >>> eit.reconstruct(df).shape
    torch.Size([201, 201])
    """
    if isinstance(difference, Measurement):
        raise InputError("difference: got a Measurement: use eitlens.Imager.load(model)(measurement).image")
    imager = load(model, device, symmetries)
    data = _numbers(difference, "difference")
    if (
        points is None
        and currents is None
        and not refine
        and n in (None, imager.reader.n)
        and imager.takes(data)
    ):
        centred = data - data.mean(-1, keepdim=True)
        images, doubts = imager.doubted(centred if data.ndim == 3 else centred[None])
        _warn(doubts)
        return images if data.ndim == 3 else images[0]
    bodies = [*data] if data.ndim == 3 and len(data) else [data]
    found = [imager(_measurement(one, points, currents), refine=refine, n=n, misfit=False) for one in bodies]
    _warn([one.warnings for one in found])
    made = [one.image if one.phases is None else 1 - one.phases.probabilities[0] for one in found]
    return torch.stack(made) if bodies[0] is not data else made[0]


def _warn(doubts: Sequence[Iterable[Flag]]) -> None:
    """Warn in Python's own way of what is doubtful, once for each kind of doubt."""
    first = {flag.kind: flag.text for flags in reversed(doubts) for flag in flags}
    for kind, text in first.items():
        count = sum(any(flag.kind == kind for flag in flags) for flags in doubts)
        among = f"{count} of {len(doubts)} bodies: " if len(doubts) > 1 else ""
        warn(f"reconstruct: {among}{text}", InputWarning, stacklevel=3)


def _measurement(data: Tensor, points: Numbers, currents: Numbers) -> Measurement:
    if points is None:
        plain = Measurement.of_difference(data)
        if currents is None:
            return plain
        return Measurement.of_points(
            plain.points, _numbers(currents, "currents"), plain.voltages, plain.reference
        )
    place = _numbers(points, "points")
    given = _cosines(place, data) if currents is None else _numbers(currents, "currents")
    return Measurement.of_points(place, given, data, torch.zeros_like(data))


def _cosines(points: Tensor, data: Tensor) -> Tensor:
    """The currents cos lθ at the points; those with l = 4, 8, … lack their small mean, which no one reads."""
    if points.ndim != 2 or points.shape[1] != 2 or data.ndim != 2:
        raise InputError(
            f"expected points (N, 2) and difference (L, N), got {tuple(points.shape)} and {tuple(data.shape)}"
        )
    order = torch.arange(1, len(data) + 1, dtype=torch.float64)[:, None]
    return torch.cos(order * torch.atan2(points[:, 1], points[:, 0]))


def _numbers(values: Numbers, name: str) -> Tensor:
    return checks.physics(values, name).detach().cpu()
