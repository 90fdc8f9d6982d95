"""From a question of the page to its answer: data, φ, the classical image and each network's, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.cancellation import Check
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.evaluate.metrics import hard_dice, relative_l2
from eitlens.feature import harmonic_extension
from eitlens.forward import add_noise
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging.imager import Imager
from eitlens.imaging.methods import scaled_index
from eitlens.measure import Measurement
from eitlens.phantom import Phantom, indicator
from eitlens.web import encoding
from eitlens.web.drawing import BODY, simulate
from eitlens.web.gallery import Gallery
from eitlens.web.schema import MOST_CURRENTS, Drawing

_SHOWN = BODY.at(100)
"""φ and the classical image are smooth: a hundred cells a side are more than a screen shows."""

Image = Float64[Tensor, "nx ny"]


@dataclass(frozen=True)
class Seen:
    """The data known to the networks and, for scoring them, the truth known to the page alone."""

    measurement: Measurement
    difference: Data
    """f - f0 at the boundary nodes of `BODY`, for the classical image and the curves."""
    truth: Phantom | None = None
    quick: bool = False
    """Whether to do without the check of the image against the data, which costs a forward solve."""


def answer_drawing(drawing: Drawing, gallery: Gallery, check: Check) -> dict[str, Any]:
    """Simulate the drawing and image it; `check` is called between the steps."""
    start = perf_counter()
    simulated = simulate(drawing.phantom, drawing.currents)
    noisy = add_noise(simulated.difference, drawing.tau, drawing.seed)
    seconds = perf_counter() - start
    check()
    seen = Seen(Measurement.of_difference(noisy), noisy, drawing.phantom, drawing.quick)
    told = {
        "solver": simulated.solver,
        "clean": encoding.curves(simulated.difference),
        "seconds": {"forward": seconds},
    }
    return told | answer_data(seen, drawing.models, gallery, check)


def answer_upload(
    measurement: Measurement, models: Sequence[str], gallery: Gallery, check: Check
) -> dict[str, Any]:
    """Image an uploaded measurement."""
    check()
    if measurement.domain.name != BODY.name:
        raise InputError(
            f"this file is of a {measurement.domain.name}: choose Tank at the top, and open it there"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that overflow are refused just below
        difference = measurement.prepare(CurrentsConfig(count=MOST_CURRENTS), 1, BODY).difference
    checks.finite(difference, "f - f0")
    return answer_data(Seen(measurement, difference), models, gallery, check)


def answer_data(seen: Seen, models: Sequence[str], gallery: Gallery, check: Check) -> dict[str, Any]:
    """Image boundary data by every method asked for."""
    coarse = seen.difference[:, :: BODY.boundary_size // _SHOWN.boundary_size]
    phi = harmonic_extension(_SHOWN, coarse)
    told = {
        "data": encoding.curves(seen.difference),
        "phi": [encoding.field(one, *_symmetric(one)) for one in phi],
        "classical": _classical(seen, coarse),
    }
    check()
    images = []
    for name in models:
        images.append({"name": name} | _network(gallery.imager(name), seen))
        check()
    return told | {"images": images}


def _classical(seen: Seen, data: Data) -> dict[str, Any]:
    start = perf_counter()
    index = scaled_index(_SHOWN, data)
    seconds = perf_counter() - start
    return {
        "name": "direct sampling",
        "image": encoding.field(index, 0.0, 1.0),
        "scores": _scores(index, _SHOWN, seen.truth),
        "seconds": seconds,
    }


def _network(imager: Imager, seen: Seen) -> dict[str, Any]:
    """The image of one network; where it cannot read these data, the reason instead of it."""
    fewest, given = imager.reader.fewest, len(seen.difference)
    if given < fewest:
        return {"reason": f"{imager.name} reads {fewest} currents, not {given}."}
    try:
        made = imager(seen.measurement, misfit=not seen.quick)
    except InputError as error:
        return {"reason": encoding.plain(error)}
    spread = None if made.uncertainty is None else encoding.field(made.uncertainty, 0.0, 0.5)
    return {
        "image": encoding.field(made.image, 0.0, 1.0),
        "uncertainty": spread,
        "noise": made.noise,
        "warnings": [flag.text for flag in made.warnings],
        "scores": _scores(made.image, made.domain, seen.truth),
        "seconds": made.seconds,
    }


def _scores(image: Image, domain: Domain, truth: Phantom | None) -> dict[str, float] | None:
    """Dice of {image > ½}, and the relative L² error of σ between 1 and 10, as in the paper's tables."""
    if truth is None:
        return None
    target = indicator(domain, truth).double()[None]
    logits = torch.logit(image.double(), eps=1e-12)[None]
    return {"dice": float(hard_dice(logits, target)), "l2": float(relative_l2(logits, target))}


def _symmetric(values: Image) -> tuple[float, float]:
    limit = float(values.abs().max()) or 1.0
    return -limit, limit
