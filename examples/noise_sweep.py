"""How much noise the image bears: Dice against τ, with one, two and three currents.

python examples/noise_sweep.py
"""

from pathlib import Path

import torch

import eitlens as eit
from eitlens.figures.style import picture

LEVELS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


def main(out: Path, bodies: int = 4, levels: tuple[float, ...] = LEVELS) -> list[list[float]]:
    """The mean Dice score, a row a number of currents and a column a noise level."""
    square, imager = eit.Square(200), eit.Imager.load()
    phantoms = list(eit.EllipseSampler(seed=5, disjoint=True).batch(0, bodies))
    clean = eit.BoundaryIntegralSolver(square).difference(phantoms, eit.currents.cosine(square, 3))

    def dice(count: int, tau: float) -> float:
        noisy = eit.add_noise(clean[:, :count], tau, seed=2)
        found = [imager(eit.Measurement.of_difference(one), tau=tau, misfit=False) for one in noisy]
        return float(torch.tensor([one.dice(body) for one, body in zip(found, phantoms, strict=True)]).mean())

    scores = []
    for count in (1, 2, 3):
        scores.append([dice(count, tau) for tau in levels])
        told = (f"{d:.3f} at {tau:g}" for d, tau in zip(scores[-1], levels, strict=True))
        print(f"L = {count}: Dice", ", ".join(told), flush=True)
    with picture(out, 1, 1, 3.2) as axes:
        for count, row in enumerate(scores, 1):
            axes[0, 0].plot(levels, row, "o-", color=str(0.8 - 0.26 * count), label=f"L = {count}")
        axes[0, 0].set(title="Dice against noise", xlabel="τ", ylim=(0, 1))
        axes[0, 0].legend()
    return scores


if __name__ == "__main__":
    main(Path("out/noise_sweep.png"))
