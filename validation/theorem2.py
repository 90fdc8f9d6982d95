"""Theorem 2, frequency bootstrapping: the numbers that `eitlens.classical.theorem2` must give."""

import math

from study import OUT, expect, fitted_order

from eitlens.classical.theorem2 import coefficient, error, spectra
from eitlens.paper.figures.theorems import SIZES, bootstrapping


def main() -> None:
    """Run the study."""
    print("Theorem 2: frequency bootstrapping")
    for a, count, figure in ((3, 8, 5.4e-2), (3, 12, 4.1e-4), (3, 16, 1.1e-6), (5, 16, 4e-4)):
        got = error(a, count, 2000, "rank two")
        expect(
            abs(math.log(got / figure)) < math.log(1.2),
            f"rank two, a={a}, N={count}: {got:.2g} (notes {figure:g})",
        )
    for a, count, figure in ((3, 16, 2.2e-2), (3, 20, 2.3e-4), (5, 28, 3.4e-4)):
        got = error(a, count, 2000, "taylor")
        expect(
            abs(math.log(got / figure)) < math.log(1.3),
            f"Taylor, a={a}, N={count}: {got:.2g} (notes {figure:g})",
        )
    mesh = [error(3, 20, m, "rank two") for m in SIZES]
    order = -fitted_order(SIZES, mesh)
    expect(abs(order - 2) < 0.05 and mesh[-1] < 1e-4, f"mesh: order {order:.2f}, {mesh[-1]:.1e} at M=200")
    few = error(3, 2, 2000, "rank two")
    expect(few > 0.9, f"the statement's N = a - 1 = 2 channels: error {few:.2f}, not small")
    even, odd = coefficient(3, 5), coefficient(3, 6)
    expect(even < 1e-12 < 0.2 < odd, f"parity: a=3 reaches a'=5 with {even:.0e} and a'=6 with {odd:.3f}")
    _, convolved, attended = spectra(3)
    expect(
        convolved[4] < 1e-12 < 0.1 < attended[4],
        f"frequency 4 from 3: convolution {convolved[4]:.0e}, attention {attended[4]:.2f}",
    )
    bootstrapping(OUT / "theorem2.png")


if __name__ == "__main__":
    main()
