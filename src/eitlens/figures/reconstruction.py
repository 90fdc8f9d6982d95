"""Pictures of a reconstruction: the image in the colours of what it shows, and its uncertainty."""

from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib.axes import Axes

from eitlens.figures.style import outline, picture, show_field
from eitlens.imaging import Reconstruction
from eitlens.phantom.raster import CLASS_BOUND

TITLES = {
    "probability": "probability of inclusion; line: ½",
    "index": "direct sampling index",
    "conductivity": "conductivity σ in S/m",
    "change": "change of conductivity in S/m",
    "sign": "probability: conductive +, resistive −",
}
"""What an image shows, by its quantity."""
_SPREADS = {"probability": "uncertainty √(p (1 − p))", "sign": "standard deviation of the sign"}


def reconstruction_figure(found: Reconstruction, path: Path) -> None:
    """Draw the image, a probability with the outline of {image > ½}, and its uncertainty and log σ where known."""
    probable = found.quantity in ("probability", "sign")
    columns = 1 + (found.uncertainty is not None) + (found.phases is not None)
    with picture(path, 1, columns, size=3.4) as axes:
        show_image(axes[0, 0], found, TITLES[found.quantity])
        if found.uncertainty is not None:
            spread = found.uncertainty.where(found.domain.inside(), torch.nan)
            title = _SPREADS.get(found.quantity, "standard deviation in S/m")
            show_field(axes[0, 1], spread, title, limits=(0.0, 0.5) if probable else None)
        if found.phases is not None:
            log_sigma = found.phases.log_sigma.where(found.domain.inside(), torch.nan)
            most = max(float(found.phases.log_sigma.abs().max()), CLASS_BOUND)
            show_field(axes[0, -1], log_sigma, "mean of log σ/σ0", True, limits=(-most, most))


def show_image(
    axes: Axes,
    found: Reconstruction,
    title: str,
    limits: tuple[float, float] | None = None,
    bar: bool = True,
) -> None:
    """An image in the colours of its quantity; a probability with the outline of {image > ½}."""
    image = found.image.where(found.domain.inside(), torch.nan)  # nothing is drawn outside the body
    signed = found.quantity in ("change", "sign")
    show_field(axes, image, title, signed, bar, limits or image_limits([found]))
    if found.quantity == "probability" and bool((found.image > 0.5).any()):
        outline(axes, 0.5 - found.image)


def image_limits(found: Sequence[Reconstruction]) -> tuple[float, float]:
    """One scale of colours: 0 to 1, even about zero for changes, from the least to the largest conductivity."""
    if found[0].quantity in ("probability", "index"):
        return 0.0, 1.0
    if found[0].quantity == "sign":
        return -1.0, 1.0
    values = [one.image[one.domain.inside()] for one in found]
    if found[0].quantity == "change":
        most = max(float(part.abs().max()) for part in values)
        return -most, most
    return min(float(part.min()) for part in values), max(float(part.max()) for part in values)
