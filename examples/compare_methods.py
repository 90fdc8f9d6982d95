"""Methods side by side: the same measurement by six of them, scored against the truth.

python examples/compare_methods.py
"""

from pathlib import Path

from first_tank import RODS, measured

from eitlens.figures.comparison import comparison_figure
from eitlens.imaging import Options
from eitlens.imaging.comparison import compare

METHODS = ("dsm", "noser", "greit", "gauss-newton", "level-set", "network")


def main(out: Path) -> dict[str, float]:
    """Draw all; the Dice score of each."""
    rows = compare(measured(), METHODS, Options(n=64), RODS)
    comparison_figure(rows, out, RODS)
    return {row.method: row.scores.dice for row in rows}


if __name__ == "__main__":
    for method, dice in main(Path("out/compare_methods.png")).items():
        print(f"{method}: Dice {dice:.3f}")
