"""Total variation: an image with few and short edges, beside Gauss-Newton's, which is smooth.

python examples/total_variation.py
"""

from pathlib import Path

from first_tank import measured, overlap, show

import eitlens as eit


def main(out: Path) -> tuple[float, float]:
    """Image by both, draw; their Dice scores, total variation's first."""
    data, options = measured(), eit.imaging.Options(n=64)
    found = {
        "total variation": eit.total_variation(data, options),
        "Gauss-Newton": eit.gauss_newton(data, options),
    }
    show(out, found)
    edges, smooth = (overlap(image) for image in found.values())
    return edges, smooth


if __name__ == "__main__":
    edges, smooth = main(Path("out/total_variation.png"))
    print(f"Dice {edges:.3f} of total variation, {smooth:.3f} of Gauss-Newton")
