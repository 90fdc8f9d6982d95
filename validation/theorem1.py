"""Theorem 1: the index function of the full Neumann-to-Dirichlet map tends to the inclusion as L grows.

What is measured is said in `eitlens.paper.figures.theorems`; here are the bars. Four disjoint ellipses, contrast 10.
The median over 8 phantoms of the AUC at L = 60 depends on the seed: 0.955, 0.941, 0.942 and 0.949 for the seeds
11 (used here), 1, 2 and 3. Single phantoms reach from 0.88 to 0.98, so the bar of 0.94 holds for medians only.
"""

import numpy as np
from study import OUT, expect

from eitlens.domain import Square
from eitlens.paper.figures.theorems import COUNTS, SEED, growing_count, study
from eitlens.phantom import EllipseSampler

SQUARE = Square(200)


def main() -> None:
    """Run the study."""
    print("Theorem 1: the index function from eigenpairs")
    found = [study(SQUARE, p) for p in EllipseSampler(seed=SEED, disjoint=True).batch(0, 8)]
    auc, error = np.array([one.auc for one in found]), np.array([one.error for one in found])
    pairs = [one.pairs for one in found]
    middle = np.median(auc, 0)
    for count, value, distance in zip(COUNTS, middle, np.median(error, 0), strict=True):
        print(f"  L = {count:2d}: AUC {value:.3f}, error of I_L {distance:.3f}")
    expect(
        all(bool((e.values[:40] < 0).all()) for e in pairs), "all leading eigenvalues are negative for σ > σ0"
    )
    decay = np.median([float(e.values[59] / e.values[0]) for e in pairs])
    expect(1e-13 < decay < 1e-8, f"eigenvalues decay: |λ60|/|λ1| = {decay:.1e}")
    expect(bool((np.diff(middle) > 0).all()), "the median AUC rises with L")
    at_60 = COUNTS.index(60)
    expect(middle[at_60] >= 0.94, f"median AUC at L = 60 is {middle[at_60]:.3f} (bar 0.94)")
    expect(bool((np.diff(np.median(error, 0)[2:]) < 0).all()), "the error of I_L falls with L")
    growing_count(SQUARE, found, OUT / "theorem1.png")


if __name__ == "__main__":
    main()
