"""D-bar: σ from all currents at once, by an exact formula that is cut off where the noise begins; no iteration.

python examples/d_bar.py
"""

from pathlib import Path

import torch
from first_tank import TANK

import eitlens as eit
from eitlens.figures.style import outline, picture, show_field
from eitlens.measure.simulation import simulated
from eitlens.phantom import conductivity, level_set

SOFT = eit.Phantom([eit.circle((-0.4, 0.3), 0.25), eit.circle((0.4, -0.2), 0.25)], [0.1, 0.9], 0.3)


def main(out: Path) -> tuple[float, float]:
    """Image, draw; the least and the largest σ: 0.1 and 0.9 in truth, and 0.3 around."""
    electrodes = eit.Electrodes.even(TANK, 32)
    pattern = eit.Pattern.named("trigonometric", 32, current=5e-3, driven=True)
    found = eit.dbar(simulated(electrodes, pattern, SOFT, height=0.05, snr=70, seed=1))
    body = found.domain
    with picture(out, 1, 2) as axes:
        panels = zip(axes[0], ("the tank", "D-bar"), (conductivity(body, SOFT), found.image), strict=True)
        for panel, name, sigma in panels:
            show_field(panel, sigma.where(body.inside(), torch.nan), f"{name}: σ in S/m", limits=(0, 0.9))
            outline(panel, level_set(body, SOFT))
    sigma = found.image[body.inside()]
    return float(sigma.min()), float(sigma.max())


if __name__ == "__main__":
    least, most = main(Path("out/d_bar.png"))
    print(f"σ from {least:.2f} to {most:.2f} S/m")
