"""The picture of a calibration: reliability before and after, at each noise level."""

from collections.abc import Sequence
from pathlib import Path

from eitlens.evaluate.calibration import Reliability
from eitlens.figures.evaluation import reliability_panel
from eitlens.figures.style import picture
from eitlens.imaging.calibrate import Effect


def calibration_figure(effects: Sequence[Effect], path: Path) -> None:
    """Fraction of nodes truly inside against the probability given: the network's own, and calibrated."""
    with picture(path, 1, 2, size=3.4) as axes:
        for panel, title in zip(axes[0], ("before", "after"), strict=True):
            curves: dict[float, Reliability] = {one.tau: getattr(one, title) for one in effects}
            reliability_panel(panel, {tau: (*one.curve()[:2], one.error()) for tau, one in curves.items()})
            panel.set_title(title)
