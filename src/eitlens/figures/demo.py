"""The demo's picture: an inclusion, its boundary data, the feature φ and what the classical methods see."""

from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling, index_function, picard_sum
from eitlens.domain import Square
from eitlens.evaluate.ranking import area_under_curve
from eitlens.feature import harmonic_extension
from eitlens.figures.style import outline, picture, show_field
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet, add_noise, currents
from eitlens.phantom import EllipseSampler, Phantom


class _Scene(NamedTuple):
    square: Square
    phantom: Phantom
    clean: Tensor
    noisy: Tensor
    tau: float


def demo_figure(path: Path, seed: int, tau: float, n: int) -> list[str]:
    """Simulate one random phantom, draw the picture, and return what there is to say about it."""
    scene = _simulate(seed, tau, n)
    theta = _theta(scene)
    index = direct_sampling(scene.square, scene.noisy)
    _draw(scene, index, index_function(theta), path)
    inside = phantoms.indicator(scene.square, scene.phantom)
    phi, noisy = (harmonic_extension(scene.square, data) for data in (scene.clean, scene.noisy))
    change = float((noisy - phi).norm() / phi.norm())
    return [
        f"phantom {seed}: {len(scene.phantom.shapes)} ellipses, {float(inside.double().mean()):.1%} of the body",
        f"noise τ = {tau:g} changes φ by {change:.1%}",
        f"direct sampling, 3 noisy currents: area under the ROC curve {area_under_curve(index, inside):.3f}",
        f"Theorem 1, all currents, no noise: area under the ROC curve {area_under_curve(-theta, inside):.3f}",
    ]


def _simulate(seed: int, tau: float, n: int) -> _Scene:
    square = Square(n)
    phantom = EllipseSampler(seed=seed, disjoint=True).phantom(0)
    clean = BoundaryIntegralSolver(square).difference(phantom, currents.cosine(square, 3))
    return _Scene(square, phantom, clean, add_noise(clean, tau, seed=seed), tau)


def _theta(scene: _Scene) -> Tensor:
    solver = BoundaryIntegralSolver(scene.square, tolerance=1e-13)
    return picard_sum(scene.square, NeumannToDirichlet(solver, scene.phantom).eigenpairs())


def _draw(scene: _Scene, index: Tensor, theorem: Tensor, path: Path) -> None:
    square = scene.square
    level = phantoms.level_set(square, scene.phantom)
    phi, noisy = (harmonic_extension(square, data[:1])[0] for data in (scene.clean, scene.noisy))
    with picture(path, 2, 3) as axes:
        show_field(axes[0, 0], phantoms.conductivity(square, scene.phantom), "conductivity σ")
        _boundary_data(axes[0, 1], scene)
        show_field(axes[0, 2], phi, "φ₁, clean", diverging=True)
        show_field(axes[1, 0], noisy, f"φ₁, τ = {scene.tau:g}", diverging=True)
        show_field(axes[1, 1], index, f"direct sampling, τ = {scene.tau:g}")
        show_field(axes[1, 2], theorem, "Theorem 1 index, all currents")
        for panel, colour in zip(axes.flat[2:], ("black", "black", "white", "white"), strict=True):
            outline(panel, level, colour)


def _boundary_data(axes: Axes, scene: _Scene) -> None:
    s = scene.square.arclength()
    for k, shade in enumerate(("0.0", "0.4", "0.65")):
        axes.plot(s, scene.noisy[k], color=shade, linewidth=0.4)
        axes.plot(s, scene.clean[k], color=shade, label=f"cos {k + 1}θ" if k else "cos θ")
    low, high = axes.get_ylim()
    axes.set(title="f − f0 along the boundary", xlabel="arclength", xlim=(0, scene.square.perimeter))
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.legend(ncols=3, fontsize=7, loc="upper center", handlelength=1.2)
