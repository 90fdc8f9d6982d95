"""The shipped weights in 8 bits beside those in 16: how much their scores differ, sample by sample.

    git archive e078bfa src/eitlens/weights | tar x -C /tmp/before
    PYTHONPATH=src python3 benchmarks/eight_bits.py flagship --before /tmp/before/src/eitlens/weights --samples 2000

For every row of a network's evaluation.json both read the same test samples with the same noise, and eight_bits.json
beside it holds both Dice scores, the mean of their differences and half the width of its 95 % interval. The guide of
the posterior is compared by -log q of phantoms of its prior. The file is written after each block of samples, so that
a run may be stopped.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eitlens.dataset import Samples, preset
from eitlens.domain import Square
from eitlens.evaluate.metrics import hard_dice, soft_dice
from eitlens.evaluate.score import SEED
from eitlens.feed import Noise, simulate_range
from eitlens.files import read_json, write_json
from eitlens.models.trained import Trained
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide import network as guides
from eitlens.posterior.guide.training import Bank, Recipe, loss
from eitlens.weights import SHIPPED

FILE = "eight_bits.json"
METRICS = {"soft_dice": soft_dice, "hard_dice": hard_dice}
BLOCK = 10
"""Samples between two writings of the file: up to two minutes on a core."""
NORMAL = 1.96
"""Standard errors in half of a 95 % interval."""

Case = tuple[str, int, float]
"""Name of the data, currents, noise level."""


def main() -> None:
    """Compare one network, or the guide."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="flagship, uit-small or guide")
    parser.add_argument("--before", type=Path, required=True, help="folder of the weights in 16 bits")
    parser.add_argument("--after", type=Path, default=SHIPPED)
    parser.add_argument("--samples", type=int, default=2000)
    given = parser.parse_args()
    torch.manual_seed(0)
    compare = compare_guides if given.name == "guide" else compare_networks
    compare(given.before / given.name, given.after / given.name, given.samples)


def compare_networks(before: Path, after: Path, samples: int) -> None:
    """Write the rows of eight_bits.json, block by block."""
    pair = Trained.load(before), Trained.load(after)
    scores = read_json(after / "evaluation.json", lambda values: values["scores"], "copy it again")
    cases = [(row["data"], row["currents"], row["tau"]) for row in scores]
    found: dict[Case, list[Tensor]] = {case: [] for case in cases}
    for first in range(0, samples, BLOCK):
        data = {name: block(name, first, min(first + BLOCK, samples)) for name in {case[0] for case in cases}}
        for case, blocks in found.items():
            blocks.append(dice(pair, data[case[0]], *case[1:]))
        write_json(after / FILE, [row(case, torch.cat(blocks)) for case, blocks in found.items()])
        print(f"{after.name}: {min(first + BLOCK, samples)} samples", flush=True)


def block(name: str, first: int, stop: int) -> Samples:
    """Some of the test samples of a data set."""
    recipe = preset(name)
    start = recipe.ranges["test"][0]
    return simulate_range(recipe, start + first, start + stop, torch.device("cpu"))


def dice(pair: tuple[Trained, Trained], samples: Samples, currents: int, tau: float) -> Tensor:
    """(samples, metrics, 2): the scores of both."""
    noisy = Noise((tau,)).apply(samples.difference[:, :currents], SEED, 0, samples.index)
    logits = [trained.reading(currents)(noisy) for trained in pair]
    target = samples.mask.float()
    return torch.stack(
        [torch.stack([metric(z, target) for z in logits], -1) for metric in METRICS.values()], 1
    )


def row(case: Case, values: Tensor) -> dict[str, Any]:
    """Both means, the mean difference, and half of its interval, by metric."""
    summary: dict[str, Any] = {"data": case[0], "currents": case[1], "tau": case[2], "samples": len(values)}
    for name, pair in zip(METRICS, values.double().unbind(1), strict=True):
        summary[name] = paired(pair)
    return summary


def paired(values: Tensor) -> dict[str, float]:
    """What (n, 2) values come to: before, after, the mean change and its uncertainty."""
    before, after = values.mean(0).tolist()
    change = values[:, 1] - values[:, 0]
    error = NORMAL * float(change.std()) / len(change) ** 0.5
    numbers = {"16 bits": before, "8 bits": after, "change": float(change.mean()), "within": error}
    return {name: round(number, 6) for name, number in numbers.items()}


def compare_guides(before: Path, after: Path, samples: int) -> None:
    """Write -log q in nats, of phantoms of the prior with noise of all levels and one to three currents."""
    recipe = Recipe(phantoms=samples, seed=SEED)
    data = preset("paper-disjoint")
    domain = Square(data.n)
    currents = data.currents.build(domain, torch.device("cpu"))
    bank = Bank.simulate(domain, currents, EllipseSampler(seed=0, disjoint=True), recipe, print, 500)
    pair = guides.load(before), guides.load(after)
    values = []
    with torch.no_grad():
        for k in range(samples):
            one = bank.take(slice(k, k + 1))
            noise = [torch.Generator().manual_seed(k) for _ in pair]
            values.append([float(loss(guide, one, recipe, g)) for guide, g in zip(pair, noise, strict=True)])
    write_json(after / FILE, {"samples": samples, "nats": paired(torch.tensor(values).double())})


if __name__ == "__main__":
    main()
