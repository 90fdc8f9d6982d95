"""The networks that come with the package: they load, weigh little, and see what they saw when they were scored."""

import json
from pathlib import Path

import pytest
import torch

from eitlens import weights
from eitlens.dataset import preset
from eitlens.evaluate.metrics import hard_dice
from eitlens.evaluate.score import SEED
from eitlens.evaluate.simulated import simulate
from eitlens.feed import Noise
from eitlens.imaging import by_posterior as sampling
from eitlens.imaging import load, shipped
from eitlens.posterior.guide import network as guides
from eitlens.weights import SHIPPED

MIB = 2**20
EXPECTED = json.loads((Path(__file__).parent / "shipped.json").read_text())
NAMES = ["flagship", "uit-small"]


def test_names() -> None:
    assert shipped() == NAMES


def test_weight() -> None:
    files = [file for file in SHIPPED.rglob("*") if file.is_file()]
    assert max(file.stat().st_size for file in files) <= 16 * MIB
    assert sum(file.stat().st_size for file in files) <= 50 * MIB


@pytest.mark.parametrize("name", NAMES)
def test_each_folder_is_whole(name: str) -> None:
    held = {file.name for file in (SHIPPED / name).iterdir()}
    for wanted in (
        "config.json",
        "features.json",
        "log.csv",
        "evaluation.json",
        "card.md",
        "calibration.json",
    ):
        assert wanted in held


def test_the_guide_is_for_what_it_is_used() -> None:
    """Four ellipses in the unit square with 200 cells a side, one to three currents."""
    folder = weights.guide()
    assert folder is not None
    assert {"guide.json", "log.jsonl", "judged.json", "card.md"} <= {file.name for file in folder.iterdir()}
    guide = guides.load(folder)
    config = guide.config
    assert (config.ellipses, config.currents, config.boundary) == (sampling._PRIOR.count, 3, 4 * 200)
    assert guide.knows(0.01)
    assert guide.knows(0.2)
    assert not guide.knows(0.3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("currents", [1, 3])
def test_three_digits_of_dice(name: str, currents: int) -> None:
    """The first test samples of `paper-disjoint` at τ = 0.05, as recorded in shipped.json."""
    recipe = preset("paper-disjoint")
    start = recipe.ranges["test"][0]
    samples = simulate(recipe, start, start + 3, torch.device("cpu"))
    noisy = Noise((0.05,)).apply(samples.difference[:, :currents], SEED, 0, samples.index)
    logits = load(name).reader(noisy)
    found = hard_dice(logits, samples.mask.float()).tolist()
    assert found == pytest.approx(EXPECTED[name][str(currents)], abs=5e-4)
