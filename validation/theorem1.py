"""Theorem 1: what of it holds, by the numbers that docs/theory.md quotes.

    python validation/theorem1.py [--out results/theorem1.json]

1. On the square, for bodies of four disjoint ellipses of contrast 10, by `eitlens.paper.figures.theorems`. The median
   over 8 phantoms of the AUC at L = 60 depends on the seed: 0.955, 0.941, 0.942 and 0.949 for the seeds 11 (used here),
   1, 2 and 3. Single phantoms reach from 0.88 to 0.98, so the bar of 0.94 holds for medians only.
2. On the unit disk with a concentric inclusion, in closed form and for any L (`eitlens.classical.concentric`).
3. The same disk with the dictionary as the theorem prints it, products ∂₁φ_l ∂₂φ_l alone.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from study import OUT, expect, fitted_order

from eitlens.classical.concentric import Inclusion, picard
from eitlens.domain import Disk, Square
from eitlens.files import write_json
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet
from eitlens.paper.figures.theorems import COUNTS, SEED, Errors, Study, growing_count, study
from eitlens.phantom import EllipseSampler, Phantom, circle, indicator

SQUARE, BODIES, EPSILON = Square(200), 8, 0.1
CONCENTRIC, FREQUENCIES, APART = Inclusion(0.5, 10.0), (10, 100, 1000, 10000), 0.05
PRODUCTS = 12
"""Eigenfunctions of the disk whose products are tried: their eigenvalues are far above rounding."""


def on_the_square() -> dict[str, Any]:
    """Medians over the bodies for each L, with their extremes."""
    found = [study(SQUARE, body) for body in EllipseSampler(seed=SEED, disjoint=True).batch(0, BODIES)]
    record = {str(count): spread([one.errors[k] for one in found]) for k, count in enumerate(COUNTS)}
    for count, row in record.items():
        print(f"  L = {count:2s}: " + ", ".join(f"{name} {row[name]['median']:.3f}" for name in row))
    assess(found, record)
    growing_count(SQUARE, found, OUT / "theorem1.png")
    return {"bodies": BODIES, "counts": record}


def spread(errors: list[Errors]) -> dict[str, dict[str, float]]:
    """Median, least and most of each score."""
    return {
        name: {"median": float(np.median(v)), "least": min(v), "most": max(v)}
        for name, v in zip(Errors._fields, zip(*errors, strict=True), strict=True)
    }


def assess(found: list[Study], record: dict[str, dict[str, dict[str, float]]]) -> None:
    """Expect what holds and what does not."""
    pairs = [one.pairs for one in found]
    expect(
        all(bool((e.values[:40] < 0).all()) for e in pairs), "all leading eigenvalues are negative for σ > σ0"
    )
    decay = np.median([float(e.values[59] / e.values[0]) for e in pairs])
    expect(1e-13 < decay < 1e-8, f"eigenvalues decay: |λ60|/|λ1| = {decay:.1e}")
    rows = list(record.values())
    medians = {name: np.array([row[name]["median"] for row in rows]) for name in Errors._fields}
    expect(bool((np.diff(medians["auc"]) > 0).all()), "the median AUC rises with L")
    at_60, last = record["60"]["auc"]["median"], rows[-1]
    expect(at_60 >= 0.94, f"median AUC at L = 60 is {at_60:.3f} (bar 0.94)")
    expect(bool((np.diff(medians["l2"][2:]) < 0).all()), "the L² error with the theorem's own ρ falls with L")
    expect(
        last["l2"]["least"] > 1,
        f"but at L = 70 it is {last['l2']['least']:.2f} at least: a blank image has 1",
    )
    expect(
        min(row["largest"]["least"] for row in rows) > 1 - EPSILON - 0.05,
        "the largest error is 1 - ε or more",
    )
    expect(last["collar"]["median"] > 1, "nor is it below 1 more than two cells from the interface")
    best = last["best"]
    expect(0.5 < best["median"] < 0.8, f"with the best constant the L² error is {best['median']:.2f}")


def on_the_disk() -> dict[str, dict[str, float]]:
    """L² and largest errors of I_L with its own ρ, for numbers of frequencies that no rounding allows."""
    radius, mu = CONCENTRIC.radius, CONCENTRIC.contrast
    step = np.logspace(-9, 0, 4000)
    r = np.concatenate([radius * (1 - step[::-1]), radius + (1 - radius) * step])
    truth, away = (r < radius).astype(float), np.abs(r - radius) > APART
    record = {}
    for orders in FREQUENCIES:
        own = picard(np.array([radius]), CONCENTRIC, orders)
        index = 1 - 2 / math.pi * np.arctan(math.pi * EPSILON / (2 * own) * picard(r, CONCENTRIC, orders))
        off = np.abs(index - truth)
        l2 = math.sqrt(2 * np.trapezoid(r * off**2, r) / radius**2)
        # λ_K - 1/K is 2 μ ρ^{2K} / K: that many digits of the data it takes.
        digits = round(-2 * orders * math.log10(radius) + math.log10(orders / (2 * abs(mu))))
        record[str(orders)] = {"l2": l2, "largest": off.max(), "away": off[away].max(), "digits": digits}
        print(
            f"  disk, {orders} frequencies: "
            + ", ".join(f"{k} {v:.4g}" for k, v in record[str(orders)].items())
        )
    values = list(record.values())
    rate = -fitted_order(FREQUENCIES, [one["l2"] for one in values])
    expect(abs(rate - 0.5) < 0.03, f"on the disk the L² error falls like L to the power -{rate:.3f}")
    expect(min(one["largest"] for one in values) > 1 - EPSILON, "the largest error stays above 1 - ε")
    expect(values[-1]["away"] < 1e-6, f"{APART} from the interface it is {values[-1]['away']:.1e} in the end")
    return record


def printed_dictionary() -> dict[str, float]:
    """How much of the inclusion the products ∂₁φ_l ∂₂φ_l span, without and with the squares."""
    disk = Disk(100, 256)
    phantom = Phantom([circle((0, 0), CONCENTRIC.radius)], CONCENTRIC.inside)
    solver = BoundaryIntegralSolver(disk, tolerance=1e-14)
    pairs = NeumannToDirichlet(solver, phantom).eigenpairs(PRODUCTS)
    _, dx, dy = disk.extend_with_gradient(pairs.functions)
    body, truth = disk.inside(), indicator(disk, phantom).double()
    radius = torch.linalg.vector_norm(disk.nodes(), dim=-1)
    products, squares = (dx * dy)[:, body].T, (dx.square() + dy.square())[:, body].T
    means = [products[(radius[body] - r).abs() < 0.01].mean(0) for r in (0.3, 0.5, 0.7)]
    spread = torch.stack(means).std(0).max() / products.abs().max()
    expect(float(spread) < 0.02, "the mean of each product over a circle is the same for every circle")
    record = {
        name: distance(torch.cat(columns, 1), truth[body])
        for name, columns in (
            ("constant", [torch.ones_like(products[:, :1])]),
            ("products", [torch.ones_like(products[:, :1]), products]),
            ("squares", [torch.ones_like(products[:, :1]), products, squares]),
        )
    }
    print("  relative L² error of the best sum: " + ", ".join(f"{k} {v:.4f}" for k, v in record.items()))
    expect(
        record["products"] > 0.999 * record["constant"], "the printed span is no better than a constant image"
    )
    expect(record["squares"] < 0.8 * record["constant"], "with the squares it is")
    return record


def distance(columns: torch.Tensor, truth: torch.Tensor) -> float:
    """Relative L² error of the best linear combination."""
    columns = columns / columns.norm(dim=0)
    best = columns @ torch.linalg.lstsq(columns, truth[:, None], driver="gelsd").solution
    return float((best[:, 0] - truth).norm() / truth.norm())


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT / "theorem1.json")
    given = parser.parse_args()
    print("Theorem 1: the index function from eigenpairs")
    record = {"square": on_the_square(), "disk": on_the_disk(), "dictionary": printed_dictionary()}
    write_json(given.out, record)


if __name__ == "__main__":
    main()
