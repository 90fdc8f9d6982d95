"""Every figure of `eitlens figures`. Adding one is a function that draws it, in a file beside this, and a line here."""

from collections.abc import Callable
from pathlib import Path

from eitlens.paper.figures import diagrams, fields, networks, robustness, samples, scores, theorems
from eitlens.paper.figures.studio import Studio

Draw = Callable[[Studio, Path], str]
"""Draws a figure to a path without a suffix; returns what is worth saying about it, or what it lacks."""

FIGURES: dict[str, Draw] = {
    "fig1-pipeline": fields.pipeline,
    "fig2-samples": samples.draw,
    "fig3-noise": fields.noise,
    "fig4-convergence": scores.convergence,
    "fig5-channels": fields.channels,
    "fig6-reconstructions": networks.reconstructions,
    "fig7-attention": diagrams.attention,
    "fig8-network": diagrams.network,
    "fig9-latents-unet": networks.unet_latents,
    "fig10-latents-uit": networks.uit_latents,
    "table1": scores.comparison,
    "direct-sampling": fields.draw_direct_sampling,
    "theorem1": theorems.theorem1,
    "theorem2": theorems.theorem2,
    "noise-robustness": robustness.draw,
    "sweeps": scores.sweeps,
}
OF_TABLE1 = {
    "fig4-convergence",
    "fig6-reconstructions",
    "fig9-latents-unet",
    "fig10-latents-uit",
    "table1",
    "noise-robustness",
}
"""Those that show trainings whose results are in the repository alone."""
