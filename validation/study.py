"""What the studies share: where they write, what networks are tried on, and how they fit and assert."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eitlens.dataset import DataConfig, preset
from eitlens.imaging import Imager, shipped
from eitlens.phantom import PhantomBatch

OUT = Path(__file__).parent / "out"


class Subject(NamedTuple):
    """A trained network, the paper's recipe and test phantoms of it, and where the results go."""

    imager: Imager
    recipe: DataConfig
    batch: PhantomBatch
    out: Path


def subject(title: str, file: str, phantoms: int) -> Subject:
    """What the command line asks for; without a network the study ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?")
    parser.add_argument("--phantoms", type=int, default=phantoms)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT / file)
    given = parser.parse_args()
    print(title)
    if given.model is None and not shipped():
        print("  no trained network is installed: give the folder of a run")
        raise SystemExit
    imager, recipe = Imager.load(given.model, given.device), preset("paper")
    start = recipe.ranges["test"][0]
    batch = recipe.sampler.build().batch(start, start + given.phantoms)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    return Subject(imager, recipe, batch, given.out)


def fitted_order(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """The slope of log error against log mesh size, by least squares."""
    return float(np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(errors)), 1)[0])


def expect(holds: bool, claim: str) -> None:
    """Print a claim and stop the study if it does not hold."""
    print(f"  {'ok  ' if holds else 'FAIL'} {claim}", flush=True)
    if not holds:
        raise SystemExit(f"claim failed: {claim}")
