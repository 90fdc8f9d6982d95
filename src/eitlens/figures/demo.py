"""The picture of the demo: a square as in the paper at three noise levels, and a tank as a device measures it."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from matplotlib.axes import Axes
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling
from eitlens.domain import Square
from eitlens.evaluate.metrics import area_under_curve
from eitlens.feature import harmonic_extension
from eitlens.figures.demo_tank import TankScene, draw_tank, tank_dice, tank_scene
from eitlens.figures.style import outline, picture, show_field
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.imaging import Imager, Reconstruction, load, shipped
from eitlens.measure import Measurement
from eitlens.phantom import EllipseSampler, Phantom

LEVELS = (0.0, 0.05, 0.2)
"""The paper's noise levels."""
_CURRENTS = 3  # as many as the networks of the package read
_TANK_CELLS = 128  # of the images of the tank: finer than electrodes resolve
_MISSING = (
    "no trained network is installed: `eitlens demo --model FOLDER` shows that of a run of `eitlens train`"
)


class _Scene(NamedTuple):
    square: Square
    phantom: Phantom
    noisy: list[Tensor]
    seconds: float


def demo_figure(path: Path, seed: int, n: int, model: str | None = None) -> list[str]:
    """Simulate a random square and a random tank, image them, draw the picture and say what came out."""
    imager = load(model) if model is not None or shipped() else None
    scene = _simulate(seed, n)
    inside = phantoms.indicator(scene.square, scene.phantom)
    direct_sampling(scene.square, scene.noisy[0])  # builds a table that later calls share
    start = perf_counter()
    indices = [direct_sampling(scene.square, data) for data in scene.noisy]
    seconds = (perf_counter() - start) / len(LEVELS)
    found = [] if imager is None else _images(imager, scene)
    scores = [area_under_curve(index, inside) for index in indices]
    tank = tank_scene(seed, min(n, _TANK_CELLS))
    _draw(scene, indices, scores, found, tank, path)
    area = float(inside.double().mean())
    body = f"square {seed}: {len(scene.phantom.shapes)} ellipses, {area:.1%} of the body"
    return [
        f"{body}; its boundary data took {scene.seconds:.2f} s",
        _line("direct sampling (DSM), area under the ROC curve (AUC)", scores, seconds),
        *(_told(imager, found, scene) if imager is not None else [_MISSING]),
        _tank_told(tank),
    ]


def _tank_told(tank: TankScene) -> str:
    data = tank.measurement
    scored = (f"{name} {tank_dice(one, tank.phantom):.3f}" for name, one in tank.found.items())
    return (
        f"tank: {len(tank.phantom.shapes)} objects, {data.electrodes.count} electrodes, "
        f"{data.pattern.count} readings by a device with errors; Dice: {', '.join(scored)}"
    )


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
    tank: TankScene,
    path: Path,
) -> None:
    level = phantoms.level_set(scene.square, scene.phantom)
    with picture(path, 3, 1 + len(LEVELS)) as axes:
        show_field(axes[0, 0], phantoms.conductivity(scene.square, scene.phantom), "a square: conductivity σ")
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
        draw_tank([*axes[2]], tank)


def _boundary_data(axes: Axes, scene: _Scene) -> None:
    s = scene.square.arclength()
    for k, shade in enumerate(("0.0", "0.4", "0.65")):
        axes.plot(s, scene.noisy[1][k], color=shade, linewidth=0.4)
        axes.plot(s, scene.noisy[0][k], color=shade, label=f"cos {k + 1}θ" if k else "cos θ")
    low, high = axes.get_ylim()
    axes.set(title="f − f0, clean and τ = 0.05", xlabel="arclength", xlim=(0, scene.square.perimeter))
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.legend(ncols=3, fontsize=7, loc="upper center", handlelength=1.2)
