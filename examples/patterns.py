"""Patterns: how many independent numbers about the inside a pattern of currents tells above the noise.

    python examples/patterns.py

The singular values of the change of all readings with σ fall fast. What is below the noise is not told.
"""

from pathlib import Path

import torch
from first_tank import TANK

import eitlens as eit
from eitlens.classical.tank_model import TankModel
from eitlens.figures.style import picture

PATTERNS = ("adjacent", "skip-3", "opposite", "all-against-1")
NOISE = 1e-3  # of the root mean square of the readings


def main(out: Path) -> dict[str, int]:
    """Draw the singular values of each pattern over the noise; how many are above it."""
    electrodes, told = eit.Electrodes.even(TANK, 16), {}
    with picture(out, 1, 1, 3.4) as axes:
        for name, mark in zip(PATTERNS, "o^sx", strict=True):
            values = _singular(electrodes, eit.Pattern.named(name, 16))
            told[name] = int((values > 1).sum())
            axes[0, 0].semilogy(
                values[:110], mark, markersize=3, label=f"{name}: {told[name]} above the noise"
            )
        axes[0, 0].axhline(1, color="0.5", linewidth=0.8)
        axes[0, 0].set(title="singular values over the noise", xlabel="number", ylim=(1e-4, None))
        axes[0, 0].legend(fontsize=7)
    return told


def _singular(electrodes: eit.Electrodes, pattern: eit.Pattern) -> torch.Tensor:
    """Singular values of the readings' derivative in log σ, over the noise."""
    model = TankModel(electrodes, pattern, cells=24)
    water = model.uniform(0.3)
    readings, slopes = model.readings(water), 0.3 * model.jacobian(water)
    return torch.linalg.svdvals(slopes) / (NOISE * readings.square().mean().sqrt())


if __name__ == "__main__":
    for name, count in main(Path("out/patterns.png")).items():
        print(f"{name}: {count} numbers above the noise")
