"""Theorem 2, frequency bootstrapping: what of it holds, by the numbers that docs/theory.md quotes.

python validation/theorem2.py [--out results/theorem2.json]
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from study import OUT, expect, fitted_order

from eitlens.classical.theorem2 import (
    coefficient,
    error,
    gain,
    kernel_error,
    outside_channels,
    pointwise_error,
    spectra,
)
from eitlens.files import write_json
from eitlens.paper.figures.theorems import SIZES, bootstrapping

POINTS, SMALL = 2000, 0.01
FREQUENCIES = (2, 4, 6, 8, 10, 12, 14, 16)
MOST = 100
"""Channels that are tried until an error is below `SMALL`."""
KERNEL_POINTS = 300  # of a matrix, for its norm to four digits
REACHED = range(4, 10)
"""Frequencies that are wanted from 3."""


def by_channels() -> None:
    """The two constructions, against numbers found by another implementation."""
    for a, count, figure in ((3, 8, 5.4e-2), (3, 12, 4.1e-4), (3, 16, 1.1e-6), (5, 16, 4e-4)):
        got = error(a, count, POINTS, "rank two")
        expect(
            abs(math.log(got / figure)) < math.log(1.2),
            f"rank two, a={a}, N={count}: {got:.2g} (notes {figure:g})",
        )
    for a, count, figure in ((3, 16, 2.2e-2), (3, 20, 2.3e-4), (5, 28, 3.4e-4)):
        got = error(a, count, POINTS, "taylor")
        expect(
            abs(math.log(got / figure)) < math.log(1.3),
            f"Taylor, a={a}, N={count}: {got:.2g} (notes {figure:g})",
        )


def too_few() -> dict[str, dict[str, float]]:
    """Errors with the statement's N = a - 1 channels."""
    found = {
        str(a): {
            "attention": error(a, a - 1, POINTS, "rank two"),
            "taylor": error(a, a - 1, POINTS, "taylor"),
            "kernel": kernel_error(a, a - 1, KERNEL_POINTS),
            "pointwise": pointwise_error(a - 1, POINTS, a + 1),
        }
        for a in FREQUENCIES
    }
    least = {name: min(row[name] for row in found.values()) for name in ("attention", "kernel", "pointwise")}
    expect(
        least["attention"] > 0.97, f"N = a - 1: error {least['attention']:.2f} at least, as without an output"
    )
    expect(
        least["kernel"] > 0.97, f"N = a - 1: error of the kernel {least['kernel']:.2f} at least, not small"
    )
    expect(
        least["pointwise"] > 0.85,
        f"N = a - 1: no combination of channels is nearer than {least['pointwise']:.2f}",
    )
    return found


def channels_needed() -> dict[str, Any]:
    """The channels that an error of `SMALL` takes: of attention, of its Taylor series, of a pointwise map."""
    ways: dict[str, Callable[[int, int], float]] = {
        "attention": lambda a, count: error(a, count, POINTS, "rank two"),
        "taylor": lambda a, count: error(a, count, POINTS, "taylor"),
        "pointwise": lambda a, count: pointwise_error(count, POINTS, a + 1),
    }
    rows = {
        str(a): {name: next(n for n in range(1, MOST) if way(a, n) < SMALL) for name, way in ways.items()}
        for a in FREQUENCIES
    }
    first, last = (rows[str(a)] for a in (FREQUENCIES[0], FREQUENCIES[-1]))
    slopes = {name: (last[name] - first[name]) / (FREQUENCIES[-1] - FREQUENCIES[0]) for name in ways}
    expect(
        abs(slopes["attention"] / (math.pi / 2) - 1) < 0.15,
        f"{slopes['attention']:.2f} channels for each unit of frequency, about π/2",
    )
    expect(
        abs(slopes["taylor"] / (math.e * math.pi / 2) - 1) < 0.05,
        f"by Taylor {slopes['taylor']:.2f}, about eπ/2",
    )
    expect(
        all(row["attention"] == row["pointwise"] for row in rows.values()),
        "a pointwise map takes as many channels",
    )
    left = max(outside_channels(3, 20, POINTS, one) for one in ("rank two", "taylor"))
    expect(left < 1e-12, f"the output lies in the span of the channels, to {left:.0e}")
    return {"rows": rows, "slope": slopes}


def printed_bound() -> dict[str, float]:
    """By what factor the error of the Taylor kernel outgrows the printed (2π)^N / (N! √N) with each channel."""
    found = {}
    for a in (3, 5, 7):
        ratio = [
            kernel_error(a, n, KERNEL_POINTS, "taylor") * math.factorial(n) * n**0.5 / (2 * math.pi) ** n
            for n in (24, 32)
        ]
        found[str(a)] = (ratio[1] / ratio[0]) ** (1 / 8)
        expect(
            abs(found[str(a)] / ((a + 1) / 4) - 1) < 0.01,
            f"a={a}: the printed bound is outgrown by {found[str(a)]:.3f} a channel",
        )
    return found


def parity() -> dict[str, dict[str, float]]:
    """What each kernel makes of sin 3x."""
    found = {
        str(b): {"gain": coefficient(3, b), "product": error(3, 40, POINTS, "rank one", b)} for b in REACHED
    }
    for b in REACHED:
        expect(
            abs(found[str(b)]["gain"] - gain(3, b)) < 1e-6, f"sin 3x to sin {b}x: {found[str(b)]['gain']:.3f}"
        )
        expect(found[str(b)]["product"] < 1e-8, f"by one product: error {found[str(b)]['product']:.0e}")
    return found


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT / "theorem2.json")
    given = parser.parse_args()
    print("Theorem 2: frequency bootstrapping")
    by_channels()
    mesh = [error(3, 20, m, "rank two") for m in SIZES]
    order = -fitted_order(SIZES, mesh)
    expect(abs(order - 2) < 0.05 and mesh[-1] < 1e-4, f"mesh: order {order:.2f}, {mesh[-1]:.1e} at M=200")
    record = {
        "few": too_few(),
        "needed": channels_needed(),
        "bound": printed_bound(),
        "parity": parity(),
        "mesh": {"order": order},
    }
    _, convolved, attended = spectra(3)
    expect(
        convolved[4] < 1e-12 < 0.1 < attended[4],
        f"frequency 4 from 3: convolution {convolved[4]:.0e}, attention {attended[4]:.2f}",
    )
    write_json(given.out, record)
    bootstrapping(OUT / "theorem2.png")


if __name__ == "__main__":
    main()
