"""Scores in pictures: Table 1 beside the paper's, learning curves (Fig. 4), and sweeps away from the training data."""

from itertools import count
from pathlib import Path

from matplotlib.axes import Axes

from eitlens.dataset import preset as data_preset
from eitlens.evaluate.sweep import SWEEPS, Point, read, sweep
from eitlens.figures.evaluation import sweep_figure
from eitlens.figures.style import picture, same_limits, say_missing
from eitlens.figures.training import log_column
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio
from eitlens.paper.published import LEVELS, published
from eitlens.train.folder import read_log

PANELS = (("soft_dice", "Dice score"), ("cross_entropy", "cross entropy"))
CONVERGING = ("unet-big", "uit")
# Inclusions apart, by the solver that is exact and quick for them.
_HOME = data_preset("paper-disjoint")


def comparison(studio: Studio, path: Path) -> str:
    """Draw Table 1: open marks are the paper's, full marks ours with 95 % intervals; one column a noise level."""
    with picture(path, len(PANELS), len(LEVELS), 2.9) as axes:
        for row, (metric, title) in zip(axes, PANELS, strict=True):
            for panel, tau in zip(row, LEVELS, strict=True):
                _panel(panel, studio, metric, tau)
                panel.set_title(f"{title}, τ = {tau:g}")
                if metric == "cross_entropy":
                    panel.set_xscale("log")
            same_limits(row, "x")
            for panel in row[1:]:
                panel.set_yticklabels([])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        known = dict(zip(labels, handles, strict=True))  # each label once, below all panels
        axes[0, 0].figure.legend(known.values(), known.keys(), ncols=2, loc="outside lower center")
    return f"{len(studio.cells)} of {len(LEVELS) * len(published())} cells are trained"


def _panel(panel: Axes, studio: Studio, metric: str, tau: float) -> None:
    names = list(reversed(published()))
    theirs = [published()[name].values[metric][LEVELS.index(tau)] for name in names]
    panel.plot(theirs, range(len(names)), "o", color="0.5", fillstyle="none", label="paper")
    for y, name in enumerate(names):
        record = studio.cells.get(Cell(name, tau))
        if record is not None:
            found = record.scores[tau][metric]
            panel.hlines(y, found.low, found.high, color="0.0")
            panel.plot(found.mean, y, "k.", label="ours")
    panel.set_yticks(range(len(names)), [published()[name].title for name in names], fontsize=7)
    panel.grid(axis="y", color="0.9", linewidth=0.6)


def convergence(studio: Studio, path: Path) -> str:
    """Draw Fig. 4: cross entropy in training and validation against epochs, of the big U-Net and of UIT."""
    absent = []
    with picture(path, 1, len(CONVERGING), 2.8) as axes:
        for panel, name in zip(axes[0], CONVERGING, strict=True):
            rows = read_log(studio.log(Cell(name, 0.0)))
            if not rows:
                absent.append(name)
                say_missing(panel, published()[name].title)
                continue
            panel.set(title=published()[name].title, xlabel="epoch", ylabel="cross entropy", yscale="log")
            panel.plot(*log_column(rows, "loss", "epoch"), color="0.6", linewidth=0.8, label="training")
            panel.plot(*log_column(rows, "cross_entropy", "epoch"), "k.-", markersize=3, label="validation")
            panel.legend()
        same_limits(axes[0], "y")
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def sweeps(studio: Studio, path: Path) -> str:
    """Draw the sweeps of the first network of the package, over other grids, shapes, contrasts and noises.

    They come from the sweep.json that `eitlens sweep` leaves beside the weights; where there is none, a few samples
    a point are computed here.
    """
    for name, reader in studio.readers.items():
        file = studio.weights / name / "sweep.json"
        points = read(file) if file.exists() else _computed(studio, name)
        if points:
            title = f"{name}, L = {reader.currents.count}"
            sweep_figure(points, path, title)
            return f"{title}, {points[0].score.samples} samples a point"
    with picture(path, 1, 1) as axes:
        say_missing(axes[0, 0], "sweeps", "no trained network here")
    return "needs a network of the package"


def _computed(studio: Studio, name: str) -> list[Point]:
    done = count(studio.samples, studio.samples)

    def progress(kind: str, value: float | str) -> None:
        studio.tell(f"{name}, {kind} {value}: {next(done)} samples")

    return sweep(studio.readers[name], _HOME, list(SWEEPS), studio.samples, progress=progress)
