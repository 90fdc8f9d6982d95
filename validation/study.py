"""What the studies share: where they write, and how they fit and assert."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

OUT = Path(__file__).parent / "out"


def fitted_order(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """The slope of log error against log mesh size, by least squares."""
    return float(np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(errors)), 1)[0])


def expect(holds: bool, claim: str) -> None:
    """Print a claim and stop the study if it does not hold."""
    print(f"  {'ok  ' if holds else 'FAIL'} {claim}", flush=True)
    if not holds:
        raise SystemExit(f"claim failed: {claim}")
