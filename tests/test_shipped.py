"""The networks that come with the package: they load, weigh little, and see what they saw when they were scored."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from eitlens import weights
from eitlens.dataset import preset
from eitlens.evaluate.metrics import hard_dice
from eitlens.evaluate.score import SEED
from eitlens.feed import Noise, simulate_range
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
    assert sum(file.stat().st_size for file in files) <= 45 * MIB  # the tracked tree travels to a GPU in 64


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


def first_scores(name: str, currents: int) -> list[float]:
    """Dice of the first test samples of `paper-disjoint` at τ = 0.05."""
    recipe = preset("paper-disjoint")
    start = recipe.ranges["test"][0]
    samples = simulate_range(recipe, start, start + 3, torch.device("cpu"))
    noisy = Noise((0.05,)).apply(samples.difference[:, :currents], SEED, 0, samples.index)
    found: list[float] = hard_dice(load(name).reader(noisy), samples.mask.float()).tolist()
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("currents", [1, 3])
def test_three_digits_of_dice(name: str, currents: int) -> None:
    """As recorded in shipped.json."""
    assert first_scores(name, currents) == pytest.approx(EXPECTED[name][str(currents)], abs=5e-4)


@pytest.mark.parametrize("name", NAMES)
def test_weights_in_8_bits_score_as_those_in_16_did(name: str) -> None:
    """The rows of evaluation.json are of 16-bit weights: eight_bits.json has each of them again, with both."""
    scores = json.loads((SHIPPED / name / "evaluation.json").read_text())["scores"]
    rows = json.loads((SHIPPED / name / "eight_bits.json").read_text())
    assert [_case(row) for row in rows] == [_case(row) for row in scores]
    for row in rows:
        for metric in ("soft_dice", "hard_dice"):
            assert abs(row[metric]["change"]) <= 0.001, _case(row)


def _case(row: dict[str, Any]) -> tuple[str, int, float]:
    return row["data"], row["currents"], row["tau"]


def test_the_guide_in_8_bits_is_as_good() -> None:
    """Its -log q of phantoms, of about -50 nats, is larger by less than a twentieth of a nat."""
    nats = json.loads((SHIPPED / "guide" / "eight_bits.json").read_text())["nats"]
    assert nats["8 bits"] - nats["16 bits"] < 0.05


if __name__ == "__main__":  # writes shipped.json anew, after a change of the weights
    scores = {name: {str(count): first_scores(name, count) for count in (1, 3)} for name in NAMES}
    rounded = {
        name: {c: [round(x, 5) for x in row] for c, row in rows.items()} for name, rows in scores.items()
    }
    (Path(__file__).parent / "shipped.json").write_text(json.dumps(rounded, indent=1) + "\n")
