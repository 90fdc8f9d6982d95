"""Direct sampling as a layer of attention, before and after training; docs/direct_sampling.md quotes the result file.

    python validation/learned_index.py [--out results/learned_index.json]
    python validation/learned_index.py --bodies 200000 --cells 64 --epochs 30 --device cuda --out FILE

The first takes three minutes on one core, the second is for a GPU. Bodies of four ellipses that do not touch, contrast
10, data by boundary integrals. Training, validation and test bodies come from three seeds. The epoch that is kept and
the threshold of an image, before and after, are chosen by validation; the test set is only scored. Before the training
the two numbers that make logits of an index are fitted.
"""

import argparse
import copy
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from study import OUT, expect
from torch import Tensor
from torch.nn import functional as fn

from eitlens.classical.dsm import direct_sampling
from eitlens.classical.index_attention import boundary_norm, dipoles, sizes
from eitlens.classical.learned_index import PAPER, PARTS, Exponents, LearnedIndex, Part, principal_components
from eitlens.domain import Square
from eitlens.evaluate.metrics import area_under_curve, cross_entropy, hard_dice
from eitlens.figures.style import outline, picture, show_field
from eitlens.files import write_json
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.phantom import EllipseSampler, indicator, level_set

EQUAL = Exponents(1.0, 1.0)
SEEDS = {"training": 101, "validation": 102, "test": 103}
CURRENTS, AT_ONCE, BATCH = 3, 500, 64
RANK = {1: 40, 3: 60}
"""Principal components by number of currents: the last has a thousandth of the spread of the first, or less."""
RATE, FIT_RATE, FIT_STEPS, RISE = 1e-3, 0.05, 300, 0.2
THRESHOLDS = torch.linspace(0.5, 0.99, 50)
"""Shares of the nodes that an image leaves outside, tried on the validation bodies."""
NOISE = 0.02
"""On 128 boundary nodes as much, frequency by frequency, as 0.05 on the paper's 800."""


class Bodies(NamedTuple):
    """Data (B, 3, N) and indicators (B, nx, ny)."""

    data: Tensor
    truth: Tensor


class Case(NamedTuple):
    """A layer to be trained: its currents, what it begins as, what may change, and the noise."""

    currents: int = 1
    exponents: Exponents = PAPER
    parts: tuple[Part, ...] = PARTS
    tau: float = 0.0


CASES = {
    "one": Case(),
    "three": Case(currents=3),
    "equal": Case(exponents=EQUAL),
    "noise": Case(tau=NOISE),
    "value": Case(parts=("value",)),
    "key": Case(parts=("key",)),
}


def simulate(square: Square, kind: str, count: int, device: torch.device) -> Bodies:
    """Bodies of a seed of their own."""
    sampler, solver = (
        EllipseSampler(seed=SEEDS[kind], disjoint=True),
        BoundaryIntegralSolver(square, tolerance=1e-5),
    )
    g = currents.cosine(square, CURRENTS).to(device)
    data, truth = [], []
    for start in range(0, count, AT_ONCE):
        batch = sampler.batch(start, min(start + AT_ONCE, count), device)
        data.append(solver.difference(batch, g))
        truth.append(indicator(square, batch))
    return Bodies(torch.cat(data), torch.cat(truth).float())


def given(bodies: Bodies, case: Case, epoch: int) -> Bodies:
    """What the layer is given in an epoch."""
    data = bodies.data[:, : case.currents]
    noisy = add_noise(data, case.tau, seed=epoch) if case.tau else data
    return Bodies(noisy.float(), bodies.truth)


@torch.no_grad()
def logits(layer: LearnedIndex, bodies: Bodies) -> Tensor:
    """The images of all bodies."""
    return torch.cat([layer(part) for part in torch.split(bodies.data, AT_ONCE)])


def best_threshold(images: Tensor, truth: Tensor) -> float:
    """The logit above which a node counts as inside, with the largest mean Dice score."""
    tried = torch.quantile(images.flatten()[:: max(1, images.numel() // 10**6)], THRESHOLDS.to(images))
    found = [float(hard_dice(images - level, truth).mean()) for level in tried]
    return float(tried[found.index(max(found))])


def scores(layer: LearnedIndex, validation: Bodies, test: Bodies) -> dict[str, float]:
    """Scores on the test bodies."""
    level = best_threshold(logits(layer, validation), validation.truth)
    images = logits(layer, test)
    return {
        "dice": float(hard_dice(images - level, test.truth).mean()),
        "cross_entropy": float(cross_entropy(images, test.truth).mean()),
        "auc": sum(area_under_curve(*both) for both in zip(images, test.truth.bool(), strict=True))
        / len(images),
    }


def fit(layer: LearnedIndex, bodies: Bodies) -> None:
    """Make logits of the index of direct sampling: a factor and a constant."""
    optimiser = torch.optim.Adam([layer.gain, layer.bias], FIT_RATE)
    for step in range(FIT_STEPS):
        some = torch.arange(step * BATCH, (step + 1) * BATCH, device=bodies.data.device) % len(bodies.data)
        descend(layer, optimiser, Bodies(bodies.data[some], bodies.truth[some]))


def descend(layer: LearnedIndex, optimiser: torch.optim.Optimizer, bodies: Bodies) -> float:
    """One step."""
    loss = fn.binary_cross_entropy_with_logits(layer(bodies.data), bodies.truth)
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()
    return float(loss.detach())


def train(
    layer: LearnedIndex, case: Case, training: Bodies, validation: Bodies, epochs: int
) -> tuple[LearnedIndex, int]:
    """The layer of the epoch with the least cross entropy in validation, and that epoch."""
    groups, peaks = ([layer.learned[part] for part in case.parts], [layer.gain, layer.bias]), [RATE, FIT_RATE]
    rates = [{"params": group, "lr": peak} for group, peak in zip(groups, peaks, strict=True)]
    optimiser, steps = torch.optim.Adam(rates), len(training.data) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, peaks, epochs * steps, pct_start=RISE)
    order, best, kept = torch.Generator().manual_seed(1), float("inf"), (layer, 0)
    for epoch in range(epochs):
        shown = given(training, case, 1 + epoch)
        for some in torch.split(torch.randperm(len(shown.data), generator=order)[: steps * BATCH], BATCH):
            descend(layer, optimiser, Bodies(shown.data[some], shown.truth[some]))
            schedule.step()
        loss = float(cross_entropy(logits(layer, validation), validation.truth).mean())
        if loss < best:
            best, kept = loss, (copy.deepcopy(layer), 1 + epoch)
    return kept


def study(
    square: Square, sets: dict[str, Bodies], epochs: int
) -> tuple[dict[str, Any], dict[str, list[Tensor]]]:
    """Scores of each case before and after, and images of three test bodies."""
    record, images = {}, {}
    for name, case in CASES.items():
        start = time.perf_counter()
        training, validation, test = (given(bodies, case, 0) for bodies in sets.values())
        components = principal_components(sets["training"].data[:, : case.currents], RANK[case.currents])
        layer = LearnedIndex(square, components.cpu(), case.exponents).to(training.data.device)
        fit(layer, training)
        before, shown = scores(layer, validation, test), [layer.index(test.data[:3]).mean(1).detach()]
        layer, epoch = train(layer, case, sets["training"], validation, epochs)
        after = scores(layer, validation, test)
        images[name] = [*shown, torch.sigmoid(logits(layer, test)[:3])]
        record[name] = {"before": before, "after": after, "epoch": epoch}
        told = ", ".join(f"{key} {before[key]:.4f} → {after[key]:.4f}" for key in before)
        print(f"  {name}: {told}, epoch {epoch} ({time.perf_counter() - start:.0f} s)", flush=True)
    return record, images


def missing_term(square: Square, test: Bodies) -> dict[str, float]:
    """By how much the index changes without the term that the paper's eq. 41 leaves out."""
    matrices = sizes(dipoles(square), boundary_norm(square, PAPER.s))
    data = test.data[:AT_ONCE, :1].cpu()
    whole = direct_sampling(square, data, *PAPER)
    _, dx, dy = square.extend_with_gradient(data[:, 0])
    d = torch.stack([dx.flatten(1), dy.flatten(1)], -1)
    squares = torch.einsum("bia,iac,bic->bi", d, matrices, d) / torch.einsum(
        "bia,iaa->bi", d.square(), matrices
    )
    off = (squares.clamp(min=0).sqrt() - 1).abs().reshape(whole.shape)[:, 1:-1, 1:-1]
    return {"median": float(off.median()), "most": float(off.max())}


def draw(square: Square, images: dict[str, list[Tensor]], path: Path) -> None:
    """Three test bodies, the first of their seed, before and after, with one current and with three."""
    batch = EllipseSampler(seed=SEEDS["test"], disjoint=True).batch(0, 3)
    titles = ("direct sampling", "trained", "direct sampling, L = 3", "trained, L = 3")
    columns = [column for name in ("one", "three") for column in images[name]]
    with picture(path, 3, 4, 2.2) as axes:
        for row, panels in enumerate(axes):
            level = level_set(Square(200), batch.phantom(row))
            for k, (panel, column) in enumerate(zip(panels, columns, strict=True)):
                image = column[row].reshape(square.shape).cpu()
                show_field(
                    panel, image, titles[k] if row == 0 else "", bar=False, limits=(0, float(image.max()))
                )
                outline(panel, level)
                panel.set(xticks=[], yticks=[])


def assess(record: dict[str, Any]) -> None:
    """Expect what the page says."""
    for name, row in record.items():
        gain = row["after"]["dice"] - row["before"]["dice"]
        expect(gain > 0.05, f"{name}: training makes Dice better by {gain:.3f}")
    expect(
        record["three"]["after"]["dice"] > record["one"]["after"]["dice"], "three currents show more than one"
    )


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bodies", type=int, default=8000, help="of the training")
    parser.add_argument("--cells", type=int, default=32, help="of the grid, a side")
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT / "learned_index.json")
    options = parser.parse_args()
    print("Direct sampling as attention, before and after training")
    torch.manual_seed(0)
    square, device = Square(options.cells), torch.device(options.device)
    counts = {"training": options.bodies, "validation": 500, "test": 1000}
    sets = {kind: simulate(square, kind, count, device) for kind, count in counts.items()}
    record, images = study(square, sets, options.epochs)
    settings = {"cells": options.cells, "epochs": options.epochs, "bodies": counts}
    write_json(options.out, settings | {"cases": record, "missing": missing_term(square, sets["test"])})
    draw(square, images, OUT / "learned-index.png")
    assess(record)


if __name__ == "__main__":
    main()
