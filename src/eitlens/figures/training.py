"""The learning curves of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eitlens.figures.style import picture

LEFT = (("loss", "training", "0.6"), ("cross_entropy", "validation", "0.0"))
RIGHT = (("soft_dice", "Dice", "0.0"), ("paper_l2", "relative L2, paper's scale", "0.5"))


def learning_curve(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Loss and cross entropy, Dice score and error, learning rate, against the number of samples seen."""
    with picture(path, 1, 3, grey=True) as axes:
        for panel, lines in ((axes[0, 0], LEFT), (axes[0, 1], RIGHT)):
            for column, label, shade in lines:
                x, y = log_column(rows, column)
                panel.plot(x, y, color=shade, label=label, marker="." if len(x) < 60 else None, markersize=3)
            panel.legend()
        axes[0, 0].set(title="loss and cross entropy", yscale="log")
        axes[0, 1].set(title="validation", ylim=(0, 1))
        axes[0, 2].plot(*log_column(rows, "lr"), color="0.0")
        axes[0, 2].set(title="learning rate", yscale="log")
        for panel in axes.flat:
            panel.set_xlabel("samples seen")


def log_column(
    rows: Sequence[Mapping[str, str]], name: str, against: str = "samples"
) -> tuple[list[float], list[float]]:
    """Abscissae and values of the rows of a log that have a value in this column."""
    filled = [row for row in rows if row.get(name)]
    return [float(row[against]) for row in filled], [float(row[name]) for row in filled]
