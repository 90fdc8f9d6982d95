"""The sign of Λ_σ - Λ_0, its bounds, and the example of the paper's appendix B, by the numbers of docs/theory.md.

    python validation/eigenvalues.py [--out results/eigenvalues.json]

1. On the square: the eigenvalues of Λ_σ - Λ_0 are negative where the inclusions conduct better than the body, positive
   where they conduct worse, and of both signs with inclusions of both kinds. For every current g, with u0 the potential
   of the empty body of conductivity 1,

       -∫ (σ - 1) |∇u0|²  <=  (g, (Λ_σ - Λ_0) g)  <=  -∫ (1 - 1/σ) |∇u0|².

2. On the unit disk with a concentric inclusion: the eigenvalues as the paper prints them and as they are, and ρ and σ
   from the first two by its formulas and by the corrected ones.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import torch
from study import OUT, expect

from eitlens.classical.concentric import Inclusion, eigenvalue, recover
from eitlens.domain import Disk, Square
from eitlens.files import write_json
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet, currents
from eitlens.phantom import Ellipse, Phantom, circle, indicator

SQUARE = Square(128)
SHAPES = (Ellipse((0.4, 0.2), (0.2, 0.35), 0.5), Ellipse((-0.4, -0.3), (0.15, 0.3), 1.2))
BODIES = {"better": (10.0, 10.0), "worse": (0.1, 0.1), "both": (10.0, 0.1)}
EXAMPLE = Inclusion(0.6, 0.25)
"""The paper wants σ < 1."""


def signs() -> dict[str, int]:
    """Of the eigenvalues above the noise, how many are positive."""
    solver, found = BoundaryIntegralSolver(SQUARE, tolerance=1e-13), {}
    for name, inside in BODIES.items():
        pairs = NeumannToDirichlet(solver, Phantom(SHAPES, inside)).eigenpairs(40)
        found[name] = int((pairs.values > 0).sum())
        print(f"  inclusions that conduct {name}: {found[name]} of 40 eigenvalues are positive")
    expect(found["better"] == 0, "σ > σ0: all eigenvalues are negative, where the paper says positive")
    expect(found["worse"] == 40, "σ < σ0: all are positive")
    expect(0 < found["both"] < 40, "with inclusions of both kinds there are both signs")
    return found


def bounds() -> dict[str, float]:
    """(g, (Λ_σ - Λ_0) g) over -∫_D |∇u0|², which lies between 1 - 1/σ and σ - 1."""
    phantom, weight = Phantom(SHAPES, 10.0), SQUARE.boundary_weight
    g = currents.cosine(SQUARE, 3)
    data = BoundaryIntegralSolver(SQUARE, tolerance=1e-9).difference(phantom, g)
    _, dx, dy = SQUARE.extend_with_gradient(g)
    energy = ((dx.square() + dy.square()) * indicator(SQUARE, phantom)).sum((-2, -1)) * SQUARE.h**2
    ratios = (-weight * (g * data).sum(-1) / energy).tolist()
    print("  (g, (Λ_σ - Λ_0) g) over -∫|∇u0|², three currents: " + ", ".join(f"{r:.2f}" for r in ratios))
    expect(all(0.9 < ratio < 9 for ratio in ratios), "between 1 - 1/σ = 0.9 and σ - 1 = 9")
    return {"least": min(ratios), "most": max(ratios)}


def printed_eigenvalue(order: int, inclusion: Inclusion) -> float:
    """λ_l as appendix B has it."""
    root = math.sqrt(inclusion.inside)
    change = (1 - root) / (1 + root) * inclusion.radius ** (2 * order)
    return (1 - change) / (1 + change) / order


def printed_recovery(first: float, second: float) -> tuple[float, float]:
    """ρ, 0 where it is the root of a negative number, and μ as appendix B has them."""
    ratio = (1 - second) * (1 + first) / ((1 + second) * (1 - first))
    mu = (1 - first) ** 2 * (1 + second) / ((1 + first) ** 2 * (1 - second))
    return math.sqrt(ratio) if ratio > 0 else 0.0, mu


def example() -> dict[str, Any]:
    """The paper's example, from eigenvalues that the solver measured."""
    disk = Disk(2, 128)
    g = currents.cosine(disk, 2)
    solver = BoundaryIntegralSolver(disk, tolerance=1e-13)
    phantom = Phantom([circle((0, 0), EXAMPLE.radius)], EXAMPLE.inside)
    data = NeumannToDirichlet(solver, phantom).apply(g)
    measured = [float(one @ wave / (wave @ wave)) for one, wave in zip(data, g, strict=True)]
    closed, printed = (
        [rule(order, EXAMPLE) for order in (1, 2)] for rule in (eigenvalue, printed_eigenvalue)
    )
    off = max(abs(one - other) for one, other in zip(measured, closed, strict=True))
    expect(
        off < 1e-12,
        f"λ_1, λ_2 = {measured[0]:.4f}, {measured[1]:.4f} are those of the closed form, to {off:.0e}",
    )
    expect(
        printed[0] < 1 < measured[0],
        f"printed are {printed[0]:.4f} and {printed[1]:.4f}: below 1, on the other side",
    )
    found = recover(*measured)
    error = max(abs(one / other - 1) for one, other in zip(found, EXAMPLE, strict=True))
    expect(error < 1e-9, f"corrected: ρ = {found.radius:.6f}, σ = {found.inside:.6f}, to {error:.0e}")
    raw, scaled = printed_recovery(*measured), printed_recovery(measured[0], 2 * measured[1])
    print(
        f"  printed, with λ: ρ = {raw[0]:.4f}, μ = {raw[1]:.4f}; with lλ_l: ρ = {scaled[0]:.4f}, μ = {scaled[1]:.4f}"
    )
    expect(not raw[0], "with λ as it stands the printed ρ is the root of a negative number")
    expect(abs(scaled[0] / EXAMPLE.radius - 1) < 1e-9, "with lλ_l for λ_l the printed ρ is right")
    expect(abs(scaled[1] / -EXAMPLE.contrast - 1) < 1e-9, "and the printed μ has the wrong sign")
    conductivity = ((1 - scaled[1]) / (1 + scaled[1])) ** 2
    print(f"  which the printed μ(σ) turns into σ = {conductivity:.4f}, where σ = {EXAMPLE.inside:g}")
    return {
        "measured": measured,
        "printed": printed,
        "corrected": found._asdict() | {"error": error},
        "contrast": EXAMPLE.contrast,
        "scaled": {"radius": scaled[0], "contrast": scaled[1], "inside": conductivity},
    }


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT / "eigenvalues.json")
    given = parser.parse_args()
    print("The sign of Λ_σ - Λ_0, and appendix B")
    torch.set_num_threads(1)
    write_json(given.out, {"positive": signs(), "bounds": bounds(), "example": example()})


if __name__ == "__main__":
    main()
