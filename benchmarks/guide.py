"""The guide of the posterior: training, and how often its proposals would be accepted.

    PYTHONPATH=src python3 benchmarks/guide.py train --out out/guide
    PYTHONPATH=src python3 benchmarks/guide.py judge --out out/guide

Trained on phantoms of `paper-disjoint` with another seed than the data sets', and judged on its first test phantoms:
the share of independent proposals q(u | y, s) that Metropolis and Hastings would accept in equilibrium at each level
s, and the effective size of importance sampling. Both are written to judged.json beside the weights.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor

from eitlens.dataset.presets import preset
from eitlens.dataset.simulate import Simulator
from eitlens.device import pick_device
from eitlens.domain import Square
from eitlens.evaluate.score import SEED
from eitlens.feed import Noise
from eitlens.forward.currents import project
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide import network as guides
from eitlens.posterior.guide.network import GuideConfig
from eitlens.posterior.guide.training import Bank, Recipe, train_guide
from eitlens.posterior.model.coordinates import from_numbers, in_order
from eitlens.posterior.model.likelihood import FLOOR, Likelihood
from eitlens.posterior.model.target import Target

PRIOR = EllipseSampler(seed=0, disjoint=True)
DATA = preset("paper-disjoint")
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.005)
TOY = GuideConfig(width=32, layers=1, heads=2, hidden=64, modes=16)


def main() -> None:
    """Train or judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("train", "judge"))
    parser.add_argument("--phantoms", type=int, default=Recipe.phantoms)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--batch", type=int, default=Recipe.batch)
    parser.add_argument("--lr", type=float, default=Recipe.lr)
    parser.add_argument("--measurements", type=int, default=48)
    parser.add_argument("--draws", type=int, default=2048)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("out/guide"))
    parser.add_argument("--toy", action="store_true", help="a tiny network, to try the script")
    given = parser.parse_args()
    device = pick_device(given.device)
    torch.set_float32_matmul_precision("high")
    if given.mode == "train":
        config = TOY if given.toy else GuideConfig()
        train(
            config,
            Recipe(given.phantoms, steps=given.steps, batch=given.batch, lr=given.lr),
            given.out,
            device,
        )
    else:
        judge(given.out, given.measurements, given.draws, device)


def train(config: GuideConfig, recipe: Recipe, out: Path, device: torch.device) -> None:
    """Simulate, train, write the weights and log.jsonl."""
    began, domain = time.monotonic(), Square(DATA.n)
    out.mkdir(parents=True, exist_ok=True)

    def told(step: int, loss: float, held: float) -> None:
        row = {"step": step, "loss": loss, "held_out": held, "seconds": round(time.monotonic() - began, 1)}
        print(row, flush=True)
        with (out / "log.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def simulated(count: int) -> None:
        print(f"{count} phantoms, {time.monotonic() - began:.0f} s", flush=True)

    at_once = 50_000 if device.type == "cuda" else 500
    bank = Bank.simulate(domain, DATA.currents.build(domain, device), PRIOR, recipe, simulated, at_once)
    guides.save(train_guide(config, bank, recipe, told), out)


@torch.no_grad()
def judge(out: Path, measurements: int, draws: int, device: torch.device) -> None:
    """Acceptance and effective size on test phantoms, by currents, noise and level."""
    guide, domain = guides.load(out, device), Square(DATA.n)
    first = DATA.ranges["test"][0]
    samples = Simulator.build(DATA, device)(torch.arange(first, first + measurements))
    rows = []
    for tau in (0.05, 0.2, 0.01):
        noisy = project(Noise((tau,)).apply(samples.difference, SEED, 0, samples.index).double())
        for count in (1, 3):
            given = DATA.currents.build(domain, device)[:count]
            taus = noisy.new_full((measurements,), tau)
            target = Target.build(domain, given, PRIOR, Likelihood(noisy[:, :count], taus), 0.01 * tau)
            for level in (*LEVELS, FLOOR * tau):
                ratio = weights(guide, target, noisy, level, draws)
                tried = {"measurements": measurements, "draws": draws}
                rows.append({"tau": tau, "currents": count, "level": level} | summary(ratio) | tried)
                print(rows[-1], flush=True)
    (out / "judged.json").write_text(json.dumps(rows, indent=1) + "\n")


def weights(guide: guides.Guide, target: Target, noisy: Tensor, level: float, draws: int) -> Tensor:
    """The log of posterior over proposal, up to a constant, of `draws` proposals for each measurement."""
    likelihood, count = target.likelihood, target.likelihood.measured.shape[1]
    levels = noisy.new_full((len(noisy),), level)
    reading = guide.read(noisy[:, :count], likelihood.tau, levels)
    blank, nothing = (
        noisy.new_zeros(len(noisy), guide.config.numbers).float(),
        torch.zeros_like(levels).long(),
    )
    generator = torch.Generator(noisy.device).manual_seed(0)
    numbers, density, _ = guide.renew(reading, blank, nothing, draws, generator)
    z = from_numbers(numbers.double())
    possible = target.coordinates.allowed(z) & in_order(target.domain, target.coordinates, z)
    owner = torch.nonzero(possible)[:, 0]
    value = torch.full_like(z[..., 0], -torch.inf)
    if len(owner):
        predicted = target.data(z[possible])[:, None]
        value[possible] = likelihood.taken(owner).value(predicted, levels[owner])[:, 0]
    return value - density.double().sum(-1)


def summary(ratio: Tensor, compared: int = 512) -> dict[str, float]:
    """Medians over the measurements."""
    weight = torch.softmax(ratio, -1).nan_to_num()
    squares = weight.square().sum(-1)
    effective = torch.where(squares > 0, 1 / squares, 0)  # none where no proposal is possible
    few, own = ratio[:, :compared], weight[:, :compared]
    accepted = torch.exp((few[:, None, :] - few[:, :, None]).clamp(max=0)).nan_to_num()
    rate = (own[:, :, None] * accepted).mean(-1).sum(-1) / own.sum(-1).clamp(min=1e-300)
    return {
        "accepted": float(rate.median()),
        "effective": float(effective.median()),
        "possible": float(torch.isfinite(ratio).double().mean()),
    }


if __name__ == "__main__":
    main()
