"""The picture of an inspection: readings against the empty tank, what it leaves, reciprocity, electrodes."""

import textwrap
from pathlib import Path

import torch
from jaxtyping import Float64
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from torch import Tensor

from eitlens.figures.style import DIVERGING, picture, say_missing
from eitlens.measure.quality import Inspection
from eitlens.measure.quality.model import drives, reads
from eitlens.measure.quality.reciprocity import pairs
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, empty_readings, fit_tank

_MILLI = 1e3  # volts to millivolts
_LARGEST = 0.2  # of the largest reading: what is left beyond has the darkest colour
_TOLD = 0.5  # of the electrodes: the contacts of the others are taken to be the same
_NUMBERED = 40  # so many electrodes have their numbers beside them
_OUTSIDE = 1.14  # where the number of an electrode is written, in radii from the middle
_BAD, _GOOD = "#c0392b", "#2c6fa8"
_CONTACTS = colormaps["cividis"].with_extremes(bad=_BAD)


def quality_figure(report: Inspection, path: Path) -> None:
    """Draw an inspection: the readings as they were given, the empty tank as it is after what was found is corrected.

    Readings that are no longer there then, and electrodes that something was found of, are red.
    """
    with picture(path, 2, 2, size=3.6) as axes:
        if report.fit is None:
            for panel, title in zip(axes[:, 0], ("readings", "what is left"), strict=True):
                say_missing(panel, title, "the empty tank could not be fitted")
        else:
            _readings(axes[0, 0], report, report.fit)
            _left(axes[1, 0], report, report.fit)
        _reciprocity(axes[0, 1], report.measurement)
        _electrodes(axes[1, 1], report)


def _readings(axes: Axes, report: Inspection, fit: TankFit) -> None:
    measured, modelled = empty_readings(report.measurement)[0] * _MILLI, fit.readings * _MILLI
    kept = empty_readings(report.applied())[0].isfinite()
    ends = [float(modelled.min()), float(modelled.max())]
    axes.plot(ends, ends, color="0.6", lw=0.8)
    for rows, colour in ((kept, _GOOD), (~kept, _BAD)):
        axes.plot(modelled[rows].numpy(), measured[rows].numpy(), ".", ms=3, color=colour)
    name = "reference" if fit.fitted == "reference" else "mean of the frames"
    axes.set(
        title=f"{name}: {fit.residual:.1%} is left, corrected",
        xlabel=f"empty tank of {fit.conductivity:.3g} S/m, mV",
        ylabel="measured, mV",
    )


def _left(axes: Axes, report: Inspection, fit: TankFit) -> None:
    """Measured less modelled readings, a row a stimulation."""
    measured = empty_readings(report.measurement)[0]
    pattern = report.applied().pattern
    rest = pattern.spread(measured - fit.readings) / measured.nan_to_num().abs().max()
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


def _electrodes(axes: Axes, report: Inspection) -> None:
    """The body with its electrodes, coloured by their contacts; those that something was found of have a red number."""
    electrodes, contacts = report.measurement.electrodes, _contacts(report)
    bad = {number for finding in report.findings for number in finding.electrodes}
    s = torch.linspace(0, electrodes.body.perimeter, 400, dtype=torch.float64)
    axes.plot(*electrodes.body.place(s).T.numpy(), color="0.6", lw=0.8)
    across = torch.linspace(-0.5, 0.5, 9, dtype=torch.float64)
    arcs = electrodes.body.place(electrodes.places[:, None] + electrodes.widths[:, None] * across)
    drawn = LineCollection(list(arcs.numpy()), linewidths=5, capstyle="butt", cmap=_CONTACTS)
    if contacts is None:
        drawn.set_color([_BAD if number in bad else _GOOD for number in range(1, electrodes.count + 1)])
    else:
        drawn.set_array(contacts.numpy())
        axes.figure.colorbar(drawn, ax=axes, fraction=0.046, pad=0.03, label="contact impedance, Ω m²")
    axes.add_collection(drawn)
    for number, (x, y) in enumerate((electrodes.points() * _OUTSIDE).tolist(), 1):
        if electrodes.count <= _NUMBERED or number in bad:
            colour, weight = (_BAD, "bold") if number in bad else ("0.3", "normal")
            axes.text(x, y, str(number), ha="center", va="center", fontsize=6, color=colour, weight=weight)
    lines = [f"• {finding.text}" for finding in report.findings] or ["nothing was found to be wrong"]
    axes.text(0, 0, "\n".join(_wrapped(lines)), ha="center", va="center", fontsize=6)
    axes.set_title("electrodes and findings", pad=14)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _contacts(report: Inspection) -> Float64[Tensor, "electrodes"] | None:
    """The contact impedance of each electrode, if the readings tell: if electrodes that drive are read."""
    fixed = report.applied()
    told = (drives(fixed.pattern) * reads(fixed.pattern) != 0)[empty_readings(fixed)[0].isfinite()]
    if report.fit is None or float(told.any(0).double().mean()) < _TOLD:
        return None
    return torch.where(told.any(0), fit_tank(fixed, each=True).electrodes.impedance, torch.nan)


def _wrapped(lines: list[str]) -> list[str]:
    """Lines that fit into the body."""
    return [part for line in lines for part in textwrap.wrap(line, 40)]
