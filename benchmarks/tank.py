"""The network for the measured tank of the Kuopio challenge: training on simulated tanks, and its scores.

    PYTHONPATH=src python3 benchmarks/tank.py train --data ktc --minutes 9 --out out/tank
    PYTHONPATH=src python3 benchmarks/tank.py score --data ktc --out out/tank
    PYTHONPATH=src python3 benchmarks/tank.py train --data ktc --toy --out out/toy

DATA is the challenge's folder (training/, evaluation/), which is not part of the package. Bodies are simulated when the
run begins, with boundary integrals; electrodes, instrument, place, level and noise are new each time a body is shown.
A run that is started again goes on from its last checkpoint. `score` writes scores of simulated tanks and of the four
training targets by level, and the segmentations of the evaluation.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import torch
from safetensors.torch import load_file, save_file
from tank_world import (
    ELECTRODES,
    LEVELS,
    NOMINAL_WIDTH,
    Bodies,
    Challenge,
    Coder,
    Spread,
    World,
    bodies,
    labels,
    layouts,
    moved_batch,
)
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.device import pick_device
from eitlens.electrodes.waves import empty_tank
from eitlens.evaluate.ktc import ktc_score
from eitlens.feature.maps import MapPrior, packed
from eitlens.models.tank import CLASSES, Tank, tank_config
from eitlens.phantom.objects import ObjectSampler
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.schedule import Schedule

WAVES, MODES, PIXELS = 32, 256, 256
NOMINAL = (1.26, 1e-4)
"""Effective over nominal width and the contact impedance of the electrodes that the code is made with."""
LEVEL_WEIGHTS = (1.0, 1.0, 1.0, 1.0, 1.2, 1.4, 1.6)
"""How often a level is trained: the later ones lose most."""
LARGEST_SIGMA = math.log(200)
_SIGMA_SHARE = 0.02  # of the likelihood of log σ in the loss: the classes are what is scored


def world(data: Path, device: torch.device, count: int, seed: int) -> tuple[World, Challenge]:
    """The challenge with random electrodes."""
    reference = scipy.io.loadmat(data / "training/ref.mat")
    challenge = Challenge.of(reference["Injref"], reference["Mpat"]).to(device)
    return World(challenge, layouts(count, WAVES, Spread(), device, seed), Spread()), challenge


def nominal(device: torch.device) -> Any:
    """The electrodes that the code is made with."""
    angles = math.pi / 2 + 2 * math.pi / ELECTRODES * torch.arange(
        ELECTRODES, dtype=torch.float64, device=device
    )
    width, contact = (
        torch.full_like(angles, value) for value in (NOMINAL[0] * NOMINAL_WIDTH / 2, NOMINAL[1])
    )
    return empty_tank(angles, width, contact, WAVES)


class Examples:
    """Codes and labels of random samples of a bank."""

    def __init__(
        self, bank: Bodies, world: World, coder: Coder, pixels: int, levels: tuple[int, ...] = ()
    ) -> None:
        self.bank, self.world, self.coder, self.pixels, self.levels = bank, world, coder, pixels, levels

    @torch.no_grad()
    def __call__(self, rows: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """The code, the classes and log σ of these bodies."""
        device, count = rows.device, len(rows)
        draw = torch.Generator(device=device).manual_seed(seed)
        angle = 2 * math.pi * torch.rand(count, generator=draw, dtype=torch.float64, device=device)
        mirror = torch.rand(count, generator=draw, device=device) < 0.5
        pair = torch.randint(len(self.world.pairs.water.resistance), (count,), generator=draw, device=device)
        if self.levels:
            level = torch.tensor(self.levels, device=device)[
                torch.arange(count, device=device) % len(self.levels)
            ]
        else:
            weights = torch.tensor(LEVEL_WEIGHTS, device=device)
            level = 1 + torch.multinomial(weights, count, replacement=True, generator=draw)
        maps, batch = moved_batch(self.bank, rows, angle, mirror)
        code = self.coder(self.world.readings(maps, pair, level, draw))
        target, sigma = labels(batch, self.pixels)
        return packed(code), target, sigma


def in_disk(pixels: int, device: torch.device) -> Tensor:
    """The pixels of the tank."""
    place = (torch.arange(pixels, device=device) + 0.5) * (2 / pixels) - 1
    return (place[:, None].square() + place.square()) < 1


def loss_of(outputs: Tensor, target: Tensor, sigma: Tensor, inside: Tensor) -> Tensor:
    """Cross entropy of the classes, and a little of the likelihood of log σ."""
    logits, mean, log_deviation = (
        outputs[:, :CLASSES],
        outputs[:, CLASSES],
        outputs[:, CLASSES + 1].clamp(-4, 3),
    )
    entropy = fn.cross_entropy(logits, target, reduction="none")[:, inside].mean()
    truth = sigma.clamp(-LARGEST_SIGMA, LARGEST_SIGMA)
    miss = ((mean - truth) * torch.exp(-log_deviation)).square() / 2 + log_deviation
    return entropy + _SIGMA_SHARE * miss[:, inside].mean()


def train(given: argparse.Namespace, device: torch.device) -> None:
    """Train for some minutes by the clock, or go on."""
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    sampler = ObjectSampler(seed=given.seed)
    bank = bodies(sampler, given.bank, WAVES, device, given.block)
    print(f"{given.bank} bodies after {time.monotonic() - start:.1f} s", flush=True)
    tanks, _ = world(given.data, device, given.layouts, given.seed)
    print(f"{given.layouts} pairs of electrodes after {time.monotonic() - start:.1f} s", flush=True)
    prior = MapPrior.fit(bank.maps[: given.fit].double(), MODES)
    coder = Coder.fitted(tanks, prior, nominal(device), given.seed + 1, given.changes, 64)
    torch.manual_seed(given.seed)
    network = Tank(tank_config(prior.size, **given.settings))
    network.begin_with(prior)
    network.to(device).train()
    average = Average(network, 0.998)
    optimisers = optimiser.create_muon(network.parameters(), 1e-2)
    schedule = Schedule(lr=given.lr, start=20.0, peak=0.1)
    elapsed, step = resume(out, network, average, optimisers)
    save_file({k: v.contiguous() for k, v in prior.tensors().items()}, out / "prior.safetensors")
    save_file(
        {"changes": coder.changes.cpu().contiguous(), "drift": coder.drift.cpu().contiguous()},
        out / "coder.safetensors",
    )
    pixels = 8 * network.config.grid
    examples, inside = Examples(bank, tanks, coder, pixels), in_disk(pixels, device)
    if device.type == "cuda" and not given.plain:
        for region in network.regions():
            region.compile(mode="default", dynamic=False)
    began, total, losses, shown = (
        time.monotonic() - elapsed,
        60 * given.minutes,
        torch.zeros((), device=device),
        0,
    )
    session = time.monotonic()
    while (now := time.monotonic() - began) < total and time.monotonic() - start < 60 * given.session:
        rate, beta1 = schedule(now / total)
        optimiser.adjust(optimisers, rate, beta1)
        draw = torch.Generator(device=device).manual_seed(given.seed + 7 + step)
        rows = torch.randint(len(bank.maps), (given.batch,), generator=draw, device=device)
        code, target, sigma = examples(rows, given.seed * 1_000_003 + step)
        network.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            outputs = network.pixels(code)
        loss = loss_of(outputs, target, sigma, inside)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for each in optimisers:
            each.step()
        average.update(step)
        losses += loss.detach()
        step, shown = step + 1, shown + 1
        if step % given.every == 0:
            speed = given.batch * shown / (time.monotonic() - session)
            row = {
                "step": step,
                "seconds": now,
                "loss": float(losses) / given.every,
                "images_per_second": speed,
                "lr": rate,
            }
            losses.zero_()
            print(json.dumps(row), flush=True)
            with (out / "log.jsonl").open("a") as stream:
                stream.write(json.dumps(row) + "\n")
    keep(out, network, average, optimisers, time.monotonic() - began, step)
    description = {
        "settings": given.settings,
        "modes": prior.size,
        "seed": given.seed,
        "bank": given.bank,
        "batch": given.batch,
        "steps": step,
        "minutes": (time.monotonic() - began) / 60,
        "spread": Spread()._asdict(),
        "done": now >= total,
    }
    (out / "tank.json").write_text(json.dumps(description, indent=1) + "\n")


def keep(out: Path, network: nn.Module, average: Average, optimisers: Any, elapsed: float, step: int) -> None:
    """A checkpoint, and the mean of the weights."""
    state = {f"network/{k}": v.detach().cpu().contiguous() for k, v in network.state_dict().items()}
    state |= {
        f"optimiser/{k}": v.detach().cpu().contiguous() for k, v in optimiser.to_tensors(optimisers).items()
    }
    state |= {"elapsed": torch.tensor(elapsed), "step": torch.tensor(step)}
    save_file(state, out / "checkpoint.partial")
    (out / "checkpoint.partial").replace(out / "checkpoint.safetensors")
    save_file(
        {k: v.detach().cpu().contiguous() for k, v in average.network.state_dict().items()},
        out / "average.safetensors",
    )


def resume(out: Path, network: nn.Module, average: Average, optimisers: Any) -> tuple[float, int]:
    """The clock and the step of the checkpoint, if there is one."""
    if not (out / "checkpoint.safetensors").exists():
        return 0.0, 0
    state = load_file(out / "checkpoint.safetensors")
    network.load_state_dict(
        {k.removeprefix("network/"): v for k, v in state.items() if k.startswith("network/")}
    )
    average.network.load_state_dict(load_file(out / "average.safetensors"))
    optimiser.from_tensors(
        optimisers, {k.removeprefix("optimiser/"): v for k, v in state.items() if k.startswith("optimiser/")}
    )
    return float(state["elapsed"]), int(state["step"])


def opened(out: Path, device: torch.device) -> tuple[Tank, MapPrior]:
    """The trained network and its prior."""
    told = json.loads((out / "tank.json").read_text())
    network = Tank(tank_config(told["modes"], **told["settings"]))
    network.load_state_dict(load_file(out / "average.safetensors"))
    return network.to(device).eval(), MapPrior.from_tensors(load_file(out / "prior.safetensors"))


@torch.no_grad()
def probabilities(network: Tank, code: Tensor) -> Tensor:
    """(B, 3, 256, 256), [i, j] at x_i, y_j; background outside the tank."""
    with torch.autocast(code.device.type, torch.bfloat16, enabled=code.device.type == "cuda"):
        outputs = torch.cat([network.pixels(part) for part in torch.split(code, 32)])
    found = outputs[:, :CLASSES].float()
    if found.shape[-1] != PIXELS:
        found = fn.interpolate(found, size=(PIXELS, PIXELS), mode="bilinear", align_corners=False)
    found = found.softmax(1)
    outside = ~in_disk(PIXELS, code.device)
    found[:, 0, outside], found[:, 1:, outside] = 1.0, 0.0
    return found


def score(given: argparse.Namespace, device: torch.device) -> None:
    """Scores of simulated tanks and of the training targets by level; the segmentations of the evaluation."""
    from tank_measured import measured_codes, targets

    network, prior = opened(given.out, device)
    tanks, challenge = world(given.data, device, min(given.layouts, 256), given.seed + 99)
    parts = load_file(given.out / "coder.safetensors", device=str(device))
    electrodes = nominal(device)
    density = electrodes.density
    reading = prior.read(
        challenge.basis @ density.mT, (challenge.channels @ density.mT)[None], electrodes.drawn
    )
    coder = Coder(prior, reading, parts["drift"], parts["changes"])
    bank = bodies(ObjectSampler(seed=given.seed + 12345), given.test, WAVES, device, given.block)
    rows = torch.arange(given.test, device=device)
    result: dict[str, Any] = {"simulated": [], "training": []}
    for level in range(1, LEVELS + 1):
        examples = Examples(bank, tanks, coder, PIXELS, (level,))
        code, target, _ = examples(rows, 5)
        found = probabilities(network, code).argmax(1)
        result["simulated"].append(float(ktc_score(target, found).mean()))
    print(
        "simulated",
        [round(3 * value, 2) for value in result["simulated"]],
        round(3 * sum(result["simulated"]), 2),
        flush=True,
    )
    codes, names = measured_codes(given.data, challenge, coder, device)
    found = probabilities(network, packed(codes)).argmax(1)
    images = {
        name: np.rot90(image.cpu().numpy().astype(np.uint8)) for name, image in zip(names, found, strict=True)
    }
    truths = targets(given.data)
    for level in range(1, LEVELS + 1):
        row = [
            float(
                ktc_score(
                    torch.tensor(truths[k - 1]),
                    torch.tensor(images[f"training_{level}_{k}"].astype(np.int64)),
                )
            )
            for k in range(1, 5)
        ]
        result["training"].append(row)
        print(
            "training, level", level, [round(value, 3) for value in row], round(sum(row) / 4, 3), flush=True
        )
    np.savez_compressed(
        given.out / "segmentations.npz", **{n: v for n, v in images.items() if n.startswith("level")}
    )
    (given.out / "scores.json").write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """Train or score."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("train", "score"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0, help="of training in all, by the clock")
    parser.add_argument(
        "--session", type=float, default=1e9, help="minutes until this process keeps its state and ends"
    )
    parser.add_argument("--bank", type=int, default=400_000)
    parser.add_argument("--block", type=int, default=2048)
    parser.add_argument("--fit", type=int, default=16_384)
    parser.add_argument("--layouts", type=int, default=2048)
    parser.add_argument("--changes", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--test", type=int, default=512)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=20261119)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--plain", action="store_true", help="without compilation")
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--settings", type=json.loads, default={})
    given = parser.parse_args()
    if given.toy:
        small = {"width": 64, "layers": 2, "heads": 2, "hidden": 64, "fine": 16, "grid": 16}
        sizes = {
            "bank": 512,
            "block": 64,
            "fit": 512,
            "layouts": 16,
            "changes": 128,
            "batch": 16,
            "test": 16,
            "every": 5,
        }
        vars(given).update(sizes | {"settings": small | given.settings})
    device = pick_device(given.device)
    torch.set_float32_matmul_precision("high")
    (train if given.mode == "train" else score)(given, device)


if __name__ == "__main__":
    main()
