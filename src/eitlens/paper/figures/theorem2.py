"""Theorem 2 in pictures: error against channels and mesh points, and the spectra of input and output."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from eitlens.classical.theorem2 import Construction, error, spectra
from eitlens.figures.style import label_sizes, picture
from eitlens.paper.figures.studio import Studio

CHANNELS = range(2, 33, 2)
SIZES = (25, 50, 100, 200)
_LINES: tuple[tuple[Construction, str, str], ...] = (
    ("rank two", "rank 2", "0.0"),
    ("taylor", "Taylor", "0.6"),
)


def draw(studio: Studio, path: Path) -> str:
    """For `eitlens figures`: there is nothing to look up."""
    bootstrapping(path)
    return f"sin 3x becomes sin 4x to {error(3, 16, 2000, 'rank two'):.0e} with 16 channels"


def bootstrapping(path: Path) -> None:
    """The three panels."""
    with picture(path, 1, 3, 2.8) as axes:
        _channels(axes[0, 0])
        _mesh(axes[0, 1])
        _spectra(axes[0, 2])


def _channels(panel: Axes) -> None:
    for a, style in ((3, "-"), (5, "--")):
        for construction, label, shade in _LINES:
            errors = [error(a, count, 2000, construction) for count in CHANNELS]
            panel.semilogy(
                CHANNELS, errors, color=shade, linestyle=style, label=f"{label}, sin {a}x → sin {a + 1}x"
            )
    panel.set(
        title="error against channels", xlabel="channels N", ylabel="relative L² error", ylim=(1e-11, 1e3)
    )
    panel.legend(fontsize=6, loc="lower left")


def _mesh(panel: Axes) -> None:
    panel.loglog(SIZES, [error(3, 20, m, "rank two") for m in SIZES], "ko-", label="N = 20, sin 3x → sin 4x")
    panel.loglog(SIZES, 3 / np.square(SIZES), "k:", label="second order")
    panel.set(title="error against mesh points", xlabel="mesh points M")
    label_sizes(panel, SIZES)
    panel.legend(fontsize=7)


def _spectra(panel: Axes) -> None:
    before, convolved, attended = (spectrum + 1e-17 for spectrum in spectra(3))
    panel.semilogy(before, "-", color="0.0", label="input sin 3x")
    panel.semilogy(convolved, "s", color="0.6", label="by convolution")
    panel.semilogy(attended, "k^", label="by attention")
    panel.set(title="spectrum of input and outputs", xlabel="frequency")
    panel.legend(fontsize=7)
