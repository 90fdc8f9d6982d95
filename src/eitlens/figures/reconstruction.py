"""Pictures of reconstructions: one with its uncertainty, and the demo's, by two methods at three noise levels."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import torch
from matplotlib.axes import Axes
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling
from eitlens.domain import Square
from eitlens.evaluate.metrics import area_under_curve
from eitlens.feature import harmonic_extension
from eitlens.figures.style import outline, picture, show_field
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.imaging import Imager, Reconstruction, load, shipped
from eitlens.measure import Measurement
from eitlens.phantom import EllipseSampler, Phantom
from eitlens.phantom.raster import CLASS_BOUND

LEVELS = (0.0, 0.05, 0.2)
"""The paper's noise levels."""
_CURRENTS = 3  # as many as the networks of the package read
_MISSING = (
    "no trained network is installed: `eitlens demo --model FOLDER` shows that of a run of `eitlens train`"
)


class _Scene(NamedTuple):
    square: Square
    phantom: Phantom
    noisy: list[Tensor]
    seconds: float


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


def demo_figure(path: Path, seed: int, n: int, model: str | None = None) -> list[str]:
    """Simulate one random phantom, image it at three noise levels, draw the picture and say what came out."""
    imager = load(model) if model is not None or shipped() else None
    scene = _simulate(seed, n)
    inside = phantoms.indicator(scene.square, scene.phantom)
    direct_sampling(scene.square, scene.noisy[0])  # builds a table that later calls share
    start = perf_counter()
    indices = [direct_sampling(scene.square, data) for data in scene.noisy]
    seconds = (perf_counter() - start) / len(LEVELS)
    found = [] if imager is None else _images(imager, scene)
    scores = [area_under_curve(index, inside) for index in indices]
    _draw(scene, indices, scores, found, path)
    area = float(inside.double().mean())
    body = f"phantom {seed}: {len(scene.phantom.shapes)} ellipses, {area:.1%} of the body"
    return [
        f"{body}; its boundary data took {scene.seconds:.2f} s",
        _line("direct sampling (DSM), area under the ROC curve (AUC)", scores, seconds),
        *(_told(imager, found, scene) if imager is not None else [_MISSING]),
    ]


def _simulate(seed: int, n: int) -> _Scene:
    start, square = perf_counter(), Square(n)
    phantom = EllipseSampler(seed=seed, disjoint=True).phantom(0)
    clean = BoundaryIntegralSolver(square).difference(phantom, currents.cosine(square, _CURRENTS))
    noisy = [add_noise(clean, tau, seed=seed) for tau in LEVELS]
    return _Scene(square, phantom, noisy, perf_counter() - start)


def _images(imager: Imager, scene: _Scene) -> list[Reconstruction]:
    imager(Measurement.of_difference(scene.noisy[0]))  # the same here
    return [imager(Measurement.of_difference(data)) for data in scene.noisy]


def _told(imager: Imager, found: Sequence[Reconstruction], scene: _Scene) -> list[str]:
    seconds = sum(one.seconds for one in found) / len(found)
    title = f"network {imager.name}, Dice"
    noises = [f"{one.noise:.1%}" for one in found if one.noise is not None]
    flags = {flag.text for one in found for flag in one.warnings}
    estimated = [f"noise estimated at {', '.join(noises)}"] if noises else []
    return [_line(title, [one.dice(scene.phantom) for one in found], seconds), *estimated, *sorted(flags)]


def _line(title: str, values: Sequence[float], seconds: float) -> str:
    cells = ", ".join(f"{value:.3f} at τ = {tau:g}" for value, tau in zip(values, LEVELS, strict=True))
    return f"{title}: {cells}; {seconds:.2f} s an image"


def _draw(
    scene: _Scene,
    indices: Sequence[Tensor],
    scores: Sequence[float],
    found: Sequence[Reconstruction],
    path: Path,
) -> None:
    level = phantoms.level_set(scene.square, scene.phantom)
    with picture(path, 2, 1 + len(LEVELS)) as axes:
        show_field(axes[0, 0], phantoms.conductivity(scene.square, scene.phantom), "truth: conductivity σ")
        _boundary_data(axes[1, 0], scene)
        for k, tau in enumerate(LEVELS):
            show_field(axes[0, k + 1], indices[k], f"DSM, τ = {tau:g}: AUC {scores[k]:.2f}")
            if found:
                title = f"network, τ = {tau:g}: Dice {found[k].dice(scene.phantom):.2f}"
                show_field(axes[1, k + 1], found[k].image, title, limits=(0, 1))
            else:
                phi = harmonic_extension(scene.square, scene.noisy[k][:1])[0]
                show_field(axes[1, k + 1], phi, f"φ₁, τ = {tau:g} (no network)", diverging=True)
            outline(axes[0, k + 1], level, "white")
            outline(axes[1, k + 1], level, "white" if found else "black")


def _boundary_data(axes: Axes, scene: _Scene) -> None:
    s = scene.square.arclength()
    for k, shade in enumerate(("0.0", "0.4", "0.65")):
        axes.plot(s, scene.noisy[1][k], color=shade, linewidth=0.4)
        axes.plot(s, scene.noisy[0][k], color=shade, label=f"cos {k + 1}θ" if k else "cos θ")
    low, high = axes.get_ylim()
    axes.set(title="f − f0, clean and τ = 0.05", xlabel="arclength", xlim=(0, scene.square.perimeter))
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.legend(ncols=3, fontsize=7, loc="upper center", handlelength=1.2)
