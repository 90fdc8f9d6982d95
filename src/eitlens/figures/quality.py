"""The picture of an inspection: readings against the empty tank, what it leaves, reciprocity, electrodes."""

import textwrap
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64
from matplotlib.axes import Axes
from torch import Tensor

from eitlens.errors import InputError
from eitlens.figures.style import DIVERGING, picture, say_missing
from eitlens.measure.quality import Report
from eitlens.measure.quality.reciprocity import pairs
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, empty_readings, fit_tank

_MILLI = 1e3  # volts to millivolts
_LARGEST = 0.2  # of the largest reading: what is left beyond has the darkest colour
_NUMBERED = 40  # so many electrodes have their numbers beside them
_OUTSIDE = 1.14  # where the number of an electrode is written, in radii from the middle
_BAD, _GOOD = "#c0392b", "#2c6fa8"


def quality_figure(report: Report, path: Path) -> None:
    """Draw an inspection: as it was given, but for what was found, which is marked."""
    with picture(path, 2, 2, size=3.6) as axes:
        fit = _fit_of(report)
        if fit is None:
            for panel, title in zip(axes[:, 0], ("readings", "what is left"), strict=True):
                say_missing(panel, title, "the empty tank could not be fitted")
        else:
            _readings(axes[0, 0], report, fit)
            _left(axes[1, 0], report, fit)
        _reciprocity(axes[0, 1], report.measurement)
        _electrodes(axes[1, 1], report)


def _fit_of(report: Report) -> TankFit | None:
    """The empty tank that fits the measurement as it was given."""
    try:
        return fit_tank(report.measurement)
    except InputError:
        return None


def _readings(axes: Axes, report: Report, fit: TankFit) -> None:
    measured = empty_readings(report.measurement)[0] * _MILLI
    modelled = fit.readings * _MILLI
    ends = [float(torch.cat([measured, modelled]).nan_to_num().min()), 0.0]
    ends[1] = float(torch.cat([measured, modelled]).nan_to_num().max())
    axes.plot(ends, ends, color="0.6", lw=0.8)
    axes.plot(modelled.numpy(), measured.numpy(), ".", ms=3, color=_GOOD)
    name = "reference" if fit.fitted == "reference" else "mean of the frames"
    axes.set(
        title=f"{name}: {fit.residual:.1%} is left",
        xlabel=f"empty tank of {fit.conductivity:.3g} S/m, mV",
        ylabel="measured, mV",
    )


def _left(axes: Axes, report: Report, fit: TankFit) -> None:
    """Measured less modelled readings, a row a stimulation."""
    measured = empty_readings(report.measurement)[0]
    rest = report.measurement.pattern.spread(measured - fit.readings) / measured.nan_to_num().abs().max()
    shown = axes.imshow(
        rest.numpy(), cmap=DIVERGING, vmin=-_LARGEST, vmax=_LARGEST, aspect="auto", extent=_numbers(rest)
    )
    axes.set_facecolor("0.85")
    axes.set(title="measured less empty tank, over the largest", xlabel="channel", ylabel="stimulation")
    axes.figure.colorbar(shown, ax=axes, fraction=0.046, pad=0.03)


def _numbers(table: Float64[Tensor, "rows columns"]) -> tuple[float, float, float, float]:
    """Rows and columns numbered from 1."""
    return 0.5, table.shape[1] + 0.5, table.shape[0] + 0.5, 0.5


def _reciprocity(axes: Axes, measurement: ElectrodeMeasurement) -> None:
    rows = pairs(measurement) * _MILLI
    if not len(rows):
        say_missing(axes, "reciprocity", "no two readings belong together")
        return
    ends = [float(rows.min()), float(rows.max())]
    axes.plot(ends, ends, color="0.6", lw=0.8)
    axes.plot(rows[:, 0].numpy(), rows[:, 1].numpy(), ".", ms=3, color=_GOOD)
    axes.set(title="reciprocity", xlabel="reading, mV", ylabel="driven and read exchanged, mV")


def _electrodes(axes: Axes, report: Report) -> None:
    """The body with its electrodes; those that something was found of in red."""
    electrodes, fit = report.measurement.electrodes, report.fit
    s = torch.linspace(0, electrodes.body.perimeter, 400, dtype=torch.float64)
    outline = electrodes.body.place(s).numpy()
    bad = {number for finding in report.findings for number in finding.electrodes}
    axes.plot(outline[:, 0], outline[:, 1], color="0.6", lw=0.8)
    for number, (middle, width) in enumerate(zip(electrodes.places, electrodes.widths, strict=True), 1):
        arc = electrodes.body.place(
            middle + width * torch.linspace(-0.5, 0.5, 9, dtype=torch.float64)
        ).numpy()
        colour = _BAD if number in bad else _GOOD
        axes.plot(arc[:, 0], arc[:, 1], color=colour, lw=4, solid_capstyle="butt")
        if electrodes.count <= _NUMBERED:
            x, y = np.asarray(arc[4]) * _OUTSIDE
            axes.text(x, y, str(number), ha="center", va="center", fontsize=6, color=colour)
    lines = [f"• {finding.text}" for finding in report.findings] or ["nothing was found to be wrong"]
    contact = "" if fit is None else f"contacts of {float(fit.electrodes.impedance.mean()):.2g} Ω m²"
    axes.set(title=f"electrodes; {contact}" if contact else "electrodes", aspect="equal")
    axes.text(0, 0, "\n".join(_wrapped(lines)), ha="center", va="center", fontsize=6)
    axes.set_axis_off()


def _wrapped(lines: list[str]) -> list[str]:
    """Lines that fit into the body."""
    return [part for line in lines for part in textwrap.wrap(line, 40)]
