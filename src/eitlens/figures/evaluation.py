"""Pictures of scores: calibration, and sweeps away from the training data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes

from eitlens.evaluate.calibration import Reliability
from eitlens.evaluate.score import Score
from eitlens.evaluate.sweep import Point
from eitlens.figures.style import label_sizes, picture
from eitlens.imaging.calibrate import Effect

TITLES = {
    "resolution": "cells a side",
    "inclusions": "number of inclusions",
    "contrast": "contrast",
    "shapes": "shapes",
    "noise": "noise τ",
    "white-noise": "white noise: signal-to-noise ratio, dB",
}
LINES = (("soft_dice", "Dice score", "0.0"), ("relative_l2", "relative L² error of σ", "0.4"))
_LEAST = 0.1  # of a scale: smaller differences should not look large
_SHADES = ("0.0", "0.25", "0.45", "0.6", "0.75")


def reliability_curve(scores: Mapping[float, Score], path: Path) -> None:
    """Fraction of nodes truly inside against the probability given, for each noise level."""
    with picture(path, 1, 1, size=3.4) as axes:
        found = {tau: (one.reliability, one.calibration.mean) for tau, one in scores.items()}
        lines = {tau: (curve["predicted"], curve["observed"], error) for tau, (curve, error) in found.items()}
        _reliability_panel(axes[0, 0], lines)


def calibration_figure(effects: Sequence[Effect], path: Path) -> None:
    """The reliability of a network at each noise level: its own probabilities, and the calibrated ones."""
    with picture(path, 1, 2, size=3.4) as axes:
        for panel, title in zip(axes[0], ("before", "after"), strict=True):
            curves: dict[float, Reliability] = {one.tau: getattr(one, title) for one in effects}
            _reliability_panel(panel, {tau: (*one.curve()[:2], one.error()) for tau, one in curves.items()})
            panel.set_title(title)


def _reliability_panel(panel: Axes, lines: Mapping[float, tuple[Any, Any, float]]) -> None:
    """Draw, by τ, fractions of nodes inside against mean probabilities, with the calibration error."""
    panel.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
    for shade, (tau, (predicted, observed, error)) in zip(_SHADES * len(lines), lines.items(), strict=False):
        panel.plot(predicted, observed, ".-", color=shade, label=f"τ = {tau:g}, error {error:.4f}")
    panel.set(xlabel="probability of the image", ylabel="fraction inside", xlim=(0, 1), ylim=(0, 1))
    panel.legend(fontsize=7)


def sweep_figure(points: Sequence[Point], path: Path, name: str) -> None:
    """Dice score and true relative error of the network `name` over each sweep, with 95 % intervals of the means.

    Each panel has a scale of its own, of at least a tenth: on one from 0 to 1 the intervals would be
    shorter than a dot.
    """
    kinds = list(dict.fromkeys(point.kind for point in points))
    columns = min(3, len(kinds))
    blocks = -(-len(kinds) // columns)
    with picture(path, blocks * len(LINES), columns) as axes:
        for panel in axes.flat:
            panel.set_axis_off()
        for k, kind in enumerate(kinds):
            block, column = divmod(k, columns)
            for row, line in enumerate(LINES):
                panel = axes[len(LINES) * block + row, column]
                panel.set_axis_on()
                _panel(panel, kind, [point for point in points if point.kind == kind], *line)
        samples, space = points[0].score.samples, " " if columns > 1 else "\n"
        axes[0, 0].figure.suptitle(
            f"{name}:{space}means of {samples} samples a point, 95 % intervals", fontsize=10
        )


def _panel(panel: Axes, kind: str, points: Sequence[Point], metric: str, label: str, shade: str) -> None:
    x: list[Any] = [point.value for point in points]
    found = [point.score.metrics[metric] for point in points]
    below, above = [one.mean - one.low for one in found], [one.high - one.mean for one in found]
    joined: Literal["", "-"] = "" if kind == "shapes" else "-"
    panel.errorbar(
        x,
        [one.mean for one in found],
        yerr=[below, above],
        color=shade,
        marker=".",
        markersize=4,
        linestyle=joined,
        linewidth=0.9,
        elinewidth=1.3,
        capsize=3,
    )
    panel.set(xlabel=TITLES[kind], ylabel=label)
    low, high = panel.get_ylim()
    room = max(0.0, _LEAST - (high - low)) / 2
    panel.set_ylim(low - room, high + room)
    if kind == "contrast":
        panel.set_xscale("log")
        label_sizes(panel, x)
    if kind == "shapes":
        panel.set_xticks(range(len(x)), [value.replace(", ", ",\n") for value in x], fontsize=6)
        panel.margins(x=0.15)
