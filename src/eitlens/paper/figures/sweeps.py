"""Away from home: other grids, shapes, contrasts and noises, for the networks of the package.

Drawn from the sweep.json that `eitlens sweep` leaves beside the weights; where there is none, a few samples a
point are computed here.
"""

from pathlib import Path

from eitlens.dataset import preset as data_preset
from eitlens.evaluate.sweep import SWEEPS, Point, read, sweep
from eitlens.figures.evaluation import sweep_figure
from eitlens.figures.style import picture, say_missing
from eitlens.paper.figures.studio import Studio

# Inclusions apart, by the solver that is exact and quick for them.
_HOME = data_preset("paper-disjoint")


def draw(studio: Studio, path: Path) -> str:
    """One figure for the first network that there is something to say about, with all the currents it reads."""
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
    reader = studio.readers[name]
    told = 0

    def progress(kind: str, value: float | str) -> None:
        nonlocal told
        told += studio.samples
        studio.tell(f"{name}, {kind} {value}: {told} samples")

    return sweep(reader, _HOME, list(SWEEPS), studio.samples, progress=progress)
