"""The picture of a calibration: reliability before and after, at each noise level."""

from collections.abc import Sequence
from pathlib import Path

from eitlens.evaluate.calibration import Reliability
from eitlens.figures.style import picture
from eitlens.imaging.fitting import Effect

_SHADES = ("0.0", "0.25", "0.45", "0.6", "0.75")


def calibration_figure(effects: Sequence[Effect], path: Path) -> None:
    """Fraction of nodes truly inside against the probability given: the network's own, and calibrated."""
    with picture(path, 1, 2, size=3.4) as axes:
        for panel, title in zip(axes[0], ("before", "after"), strict=True):
            panel.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
            for shade, effect in zip(_SHADES * len(effects), effects, strict=False):
                curve: Reliability = getattr(effect, title)
                predicted, observed, _ = curve.curve()
                label = f"τ = {effect.tau:g}, error {curve.error():.4f}"
                panel.plot(predicted, observed, ".-", color=shade, label=label)
            panel.set(title=title, xlabel="probability of the image", ylabel="fraction inside")
            panel.set(xlim=(0, 1), ylim=(0, 1))
            panel.legend(fontsize=7)
