"""The network for round tanks: training on simulated tanks, of the Kuopio challenge and of any device, and its scores.

    PYTHONPATH=src python3 benchmarks/tank.py train --data ktc --minutes 9 --out out/tank
    PYTHONPATH=src python3 benchmarks/tank.py score --data ktc --out out/tank
    PYTHONPATH=src python3 benchmarks/tank.py train --data ktc --toy --minutes 1 --device cpu --out out/toy

DATA is the challenge's folder (training/, evaluation/), which is not part of the package. Half of what the network is
shown is read by the challenge's device, half by random ones (`eitlens.feed.fleet`). In every second chunk of examples
the codes of the challenge's device do not know how its readings change on their own (`ReadingDevice.changes`). Bodies
are simulated when the run begins (`eitlens.feed.tanks`). A run that is started again goes on from its checkpoint.
`score` writes scores of simulated tanks and of the four training targets by level, and the segmentations of the
evaluation.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tank_measured import LEVELS, devices, measured_codes, targets
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.device import pick_device
from eitlens.domain import Disk
from eitlens.evaluate.ktc import ktc_score
from eitlens.feature.maps import MapPrior
from eitlens.feed.fleet import Fleet
from eitlens.feed.tanks import Bodies, ReadingDevice, TankExample, Uncertain, examples
from eitlens.models.tank import CLASSES, LARGEST_SIGMA, LOG_DEVIATIONS, Tank, tank_config
from eitlens.phantom.objects import ObjectSampler
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.schedule import Schedule

WAVES, MODES, PIXELS = 32, 256, 256
SHARES = (1, 1, 1, 1, 1, 2, 2)
"""Parts of a batch that the levels get: the later ones lose most."""
_SIGMA_SHARE = 0.02  # of the likelihood of log σ in the loss: the classes are what is scored
_TEST_PAIRS, _FEW = (
    256,
    16,
)  # electrodes of simulated tests; samples of changes that are then replaced by stored ones
_TEST_BLOCK = 32
_EMPTY = 50  # one tank in so many has nothing in it
_DEVICES, _SHOWN, _NEW = 64, 9, 2  # random devices that are kept, shown in a chunk, and replaced after it
_CHUNK = 8  # batches whose examples are made at once and mixed: many small solves are slow
_KEPT = 180.0  # seconds from one checkpoint to the next
TOY = {"bank": 256, "block": 64, "fit": 512, "pairs": 16, "changes": 128, "batch": 36, "test": 16, "every": 5}
SMALL = {"width": 64, "layers": 2, "heads": 2, "hidden": 64, "fine": 16, "grid": 16}


def objects(seed: int, wide: bool = False) -> ObjectSampler:
    """What is put into the challenge's tank, of plastic and metal; or `wide`, into any tank, of any material."""
    resistive, conductive = ((0.001, 0.5), (2.0, 999.0)) if wide else ((0.005, 0.16), (4.0, 160.0))
    return ObjectSampler(
        seed,
        Disk(4),
        size=(0.1, 0.5),
        gap=0.03,
        resistive=resistive,
        conductive=conductive,
        crowded=True,
        huddled=0.4,
    )


def simulated(sampler: ObjectSampler, given: argparse.Namespace, device: torch.device) -> Bodies:
    """The tanks of a sampler, a few of them empty."""
    bank = Bodies.simulated(sampler, given.bank, WAVES, device, given.block)
    bank.maps[::_EMPTY], bank.log_sigma[::_EMPTY] = 0.0, 0.0
    return bank


class Devices:
    """Random devices, of which a chunk of examples gets some; a few are replaced each time."""

    def __init__(self, prior: MapPrior, draw: torch.Generator, count: int) -> None:
        self.prior, self.draw = prior, draw
        self.known = [self.new() for _ in range(count)]

    def new(self) -> ReadingDevice:
        """One random device."""
        return Fleet().device(self.prior, self.draw, Uncertain())

    def some(self, chunk: int) -> list[ReadingDevice]:
        """Those of this chunk."""
        count = len(self.known)
        for k in range(_NEW):
            self.known[(_NEW * chunk + k) % count] = self.new()
        return [self.known[(_SHOWN * chunk + k) % count] for k in range(_SHOWN)]


def chunk_of(
    banks: Sequence[Bodies],
    devices: Sequence[Sequence[ReadingDevice]],
    batch: int,
    pixels: int,
    draw: torch.Generator,
) -> list[TankExample]:
    """Mixed batches, half of each from the bodies and devices of the challenge, half from any."""
    parts = []
    for bank, shown in zip(banks, devices, strict=True):
        rows = torch.randint(len(bank.maps), (_CHUNK * batch // 2,), generator=draw, device=bank.maps.device)
        parts.append(examples(bank, rows, shown, Uncertain(), pixels, draw))
    order = torch.randperm(_CHUNK * batch, generator=draw, device=draw.device)
    mixed = (torch.split(torch.cat(part)[order], batch) for part in zip(*parts, strict=True))
    return [TankExample(*each) for each in zip(*mixed, strict=True)]


def in_disk(pixels: int, device: torch.device) -> Tensor:
    """The pixels of the tank."""
    place = (torch.arange(pixels, device=device) + 0.5) * (2 / pixels) - 1
    return (place[:, None].square() + place.square()) < 1


def loss_of(outputs: Tensor, example: TankExample, inside: Tensor) -> Tensor:
    """Cross entropy of the classes, and a little of the likelihood of log σ."""
    logits, mean, log_deviation = torch.split(outputs, [CLASSES, 1, 1], 1)
    entropy = fn.cross_entropy(logits, example.classes, reduction="none")[:, inside].mean()
    truth = example.log_sigma[:, None].clamp(-LARGEST_SIGMA, LARGEST_SIGMA)
    log_deviation = log_deviation.clamp(*LOG_DEVIATIONS)
    miss = ((mean - truth) * torch.exp(-log_deviation)).square() / 2 + log_deviation
    return entropy + _SIGMA_SHARE * miss[:, 0, inside].mean()


def train(given: argparse.Namespace, device: torch.device) -> None:
    """Train for some minutes by the clock, or go on."""
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    banks = [simulated(objects(given.seed + wide, bool(wide)), given, device) for wide in (0, 1)]
    print(f"{[len(bank.maps) for bank in banks]} bodies after {time.monotonic() - start:.1f} s", flush=True)
    prior = MapPrior.fit(torch.cat([bank.maps[: given.fit] for bank in banks]).double(), MODES)
    known = devices(given.data, prior, device, given.pairs, given.changes, given.seed)
    fleet = Devices(prior, torch.Generator(device=device).manual_seed(given.seed), _DEVICES)
    print(f"{given.pairs} pairs of electrodes after {time.monotonic() - start:.1f} s", flush=True)
    shown_to = [one for one, share in zip(known, SHARES, strict=True) for _ in range(share)]
    unaware = [replace(one, changes=one.changes[:0]) for one in shown_to]
    torch.manual_seed(given.seed)
    network = Tank(tank_config(prior.size, **given.settings))
    network.begin_with(prior)
    network.to(device).train()
    average = Average(network, 0.998)
    optimisers = optimiser.create_muon(network.parameters(), 1e-2)
    schedule = Schedule(lr=given.lr, start=20.0, peak=0.1)
    elapsed, first = resume(out, network, average, optimisers)
    save_file({name: part.contiguous() for name, part in prior.tensors().items()}, out / "prior.safetensors")
    changes = {str(k): one.changes.cpu().contiguous() for k, one in enumerate(known)}
    save_file(changes, out / "changes.safetensors")
    if device.type == "cuda" and not given.plain:
        for region in network.regions():
            region.compile(mode="default", dynamic=False)
    pixels = 8 * network.config.grid
    inside, losses, step = in_disk(pixels, device), torch.zeros((), device=device), first
    ready: list[TankExample] = []
    session = last = time.monotonic()
    began, end, stop = session - elapsed, 60 * given.minutes, start + 60 * given.session
    while (now := time.monotonic() - began) < end and time.monotonic() < stop:
        rate, beta1 = schedule(now / end)
        optimiser.adjust(optimisers, rate, beta1)
        if not ready:
            draw = torch.Generator(device=device).manual_seed(given.seed * 1_000_003 + step)
            chunk = step // _CHUNK
            shown = (unaware if chunk % 2 else shown_to, fleet.some(chunk))
            ready = chunk_of(banks, shown, given.batch, pixels, draw)
        example = ready.pop()
        network.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16):
            outputs = network.pixels(example.code)
        loss = loss_of(outputs, example, inside)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for each in optimisers:
            each.step()
        average.update(step)
        losses += loss.detach()
        step += 1
        if step % given.every == 0:
            speed = given.batch * (step - first) / (time.monotonic() - session)
            row = {
                "step": step,
                "seconds": now,
                "loss": float(losses) / given.every,
                "images_per_second": speed,
            }
            losses.zero_()
            print(json.dumps(row), flush=True)
            with (out / "log.jsonl").open("a") as stream:
                stream.write(json.dumps(row) + "\n")
        if time.monotonic() - last > _KEPT:
            last = time.monotonic()
            keep(out, network, average, optimisers, now, step)
            describe(given, prior, step, now)
    elapsed = time.monotonic() - began
    keep(out, network, average, optimisers, elapsed, step)
    describe(given, prior, step, elapsed)


def describe(given: argparse.Namespace, prior: MapPrior, step: int, elapsed: float) -> None:
    """Write what made the weights."""
    told = {name: getattr(given, name) for name in ("settings", "seed", "bank", "batch", "lr", "pairs")}
    told |= {"modes": prior.size, "steps": step, "minutes": elapsed / 60, "spread": Uncertain()._asdict()}
    (given.out / "tank.json").write_text(json.dumps(told, indent=1) + "\n")


def keep(out: Path, network: nn.Module, average: Average, optimisers: Any, elapsed: float, step: int) -> None:
    """Write a checkpoint, and the mean of the weights."""
    parts = {f"network/{name}": part for name, part in network.state_dict().items()}
    parts |= {f"optimiser/{name}": part for name, part in optimiser.to_tensors(optimisers).items()}
    parts |= {"elapsed": torch.tensor(elapsed), "step": torch.tensor(step)}
    for name, tensors in (("average", average.network.state_dict()), ("checkpoint", parts)):
        here = {key: part.detach().cpu().contiguous() for key, part in tensors.items()}
        save_file(here, out / f"{name}.partial")
        (out / f"{name}.partial").replace(out / f"{name}.safetensors")


def resume(out: Path, network: nn.Module, average: Average, optimisers: Any) -> tuple[float, int]:
    """Put the checkpoint back, if there is one; its clock and its step."""
    if not (out / "checkpoint.safetensors").exists():
        return 0.0, 0
    state = load_file(out / "checkpoint.safetensors")

    def part(name: str) -> dict[str, Tensor]:
        return {key.removeprefix(name): value for key, value in state.items() if key.startswith(name)}

    network.load_state_dict(part("network/"))
    average.network.load_state_dict(load_file(out / "average.safetensors"))
    optimiser.from_tensors(optimisers, part("optimiser/"))
    return float(state["elapsed"]), int(state["step"])


def opened(out: Path, device: torch.device) -> tuple[Tank, MapPrior]:
    """The trained network and its prior."""
    told = json.loads((out / "tank.json").read_text())
    network = Tank(tank_config(told["modes"], **told["settings"]))
    network.load_state_dict(load_file(out / "average.safetensors"))
    return network.to(device).eval(), MapPrior.from_tensors(load_file(out / "prior.safetensors"))


@torch.no_grad()
def probabilities(network: Tank, code: Tensor) -> Tensor:
    """The classes' probabilities (B, 3, 256, 256), [i, j] at x_i and y_j; background outside the tank."""
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
    """Score simulated tanks and the training targets by level; write the segmentations of the evaluation."""
    network, prior = opened(given.out, device)
    known = devices(given.data, prior, device, _TEST_PAIRS, _FEW, given.seed + 99)
    changes = load_file(given.out / "changes.safetensors", device=str(device))
    known = [replace(one, changes=changes[str(k)]) for k, one in enumerate(known)]
    bank = Bodies.simulated(objects(given.seed + 12345), given.test, WAVES, device, _TEST_BLOCK)
    rows = torch.arange(len(bank.maps), device=device)
    result: dict[str, Any] = {"simulated": [], "training": []}
    for level in range(1, LEVELS + 1):
        draw = torch.Generator(device=device).manual_seed(level)
        example = examples(bank, rows, known[level - 1 : level], Uncertain(), PIXELS, draw)
        found = probabilities(network, example.code).argmax(1)
        result["simulated"].append(float(ktc_score(example.classes, found).mean()))
    each = [round(3 * value, 2) for value in result["simulated"]]
    print("simulated", each, "of 21:", round(3 * sum(result["simulated"]), 2), flush=True)
    codes, names = measured_codes(given.data, known)
    classes = probabilities(network, codes).argmax(1).cpu().numpy().astype(np.uint8)
    images = {name: np.rot90(image) for name, image in zip(names, classes, strict=True)}
    truths = targets(given.data)
    for level in range(1, LEVELS + 1):
        seen = [images[f"training_{level}_{k}"].astype(np.int64) for k in range(1, len(truths) + 1)]
        row = ktc_score(torch.tensor(np.stack(truths)), torch.tensor(np.stack(seen))).tolist()
        result["training"].append(row)
        mean = sum(row) / len(row)
        print("training, level", level, [round(value, 3) for value in row], round(mean, 3), flush=True)
    kept = {name: image for name, image in images.items() if name.startswith("level")}
    np.savez_compressed(given.out / "segmentations.npz", **kept)
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
    parser.add_argument("--session", type=float, default=1e9, help="minutes until this process stops")
    parser.add_argument("--bank", type=int, default=400_000, help="bodies")
    parser.add_argument("--block", type=int, default=2048, help="bodies that are solved at once")
    parser.add_argument("--fit", type=int, default=16_384, help="bodies that the modes are made of")
    parser.add_argument("--pairs", type=int, default=2048, help="random electrodes")
    parser.add_argument("--changes", type=int, default=4096, help="samples of what changes readings")
    parser.add_argument("--batch", type=int, default=252)
    parser.add_argument("--test", type=int, default=512)
    parser.add_argument("--every", type=int, default=50, help="steps from row to row of the log")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=20261119)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--plain", action="store_true", help="without compilation")
    parser.add_argument("--toy", action="store_true", help="tiny, to try the script")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the network, as JSON")
    given = parser.parse_args()
    if given.toy:
        vars(given).update(TOY | {"settings": SMALL | given.settings})
    torch.set_float32_matmul_precision("high")
    (train if given.mode == "train" else score)(given, pick_device(given.device))


if __name__ == "__main__":
    main()
