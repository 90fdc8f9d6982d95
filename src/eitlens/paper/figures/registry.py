"""Every figure of `eitlens figures`. Adding one is a file beside this with a `draw`, and a line here."""

from collections.abc import Callable
from pathlib import Path

from eitlens.errors import InputError
from eitlens.paper.figures import (
    channels,
    comparison,
    convergence,
    dsm,
    latents,
    noise,
    pipeline,
    reconstructions,
    robustness,
    samples,
    sweeps,
    theorem1,
    theorem2,
)
from eitlens.paper.figures.studio import Studio

Draw = Callable[[Studio, Path], str]
"""Draws a figure to a path without a suffix; what is worth saying about it, or what it lacks."""

FIGURES: dict[str, Draw] = {
    "fig1-pipeline": pipeline.draw,
    "fig2-samples": samples.draw,
    "fig3-noise": noise.draw,
    "fig4-convergence": convergence.draw,
    "fig5-channels": channels.draw,
    "fig6-reconstructions": reconstructions.draw,
    "fig9-latents-unet": latents.unet,
    "fig10-latents-uit": latents.uit,
    "table1": comparison.draw,
    "direct-sampling": dsm.draw,
    "theorem1": theorem1.draw,
    "theorem2": theorem2.draw,
    "noise-robustness": robustness.draw,
    "sweeps": sweeps.draw,
}


def figure(name: str) -> Draw:
    """The named figure, or an error that lists the names there are."""
    if name not in FIGURES:
        raise InputError(f"no figure is called {name!r}: choose one of {', '.join(FIGURES)}")
    return FIGURES[name]
