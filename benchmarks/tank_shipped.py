"""The folder of weights of a trained tank network: its weights in 8 bits, its calibration and its scores.

    PYTHONPATH=src python3 benchmarks/tank_shipped.py make out/tank
    PYTHONPATH=src python3 benchmarks/tank_shipped.py levels DATA

The temperature and the limit of the misfit come from simulated tanks of one seed, the scores from those of another.
Devices are random ones (`eitlens.feed.fleet`), a new one for each few bodies. `levels` scores the shipped network on
simulated tanks of the Kuopio challenge, whose folder is DATA, at each of its seven levels. Scores go to
results/tank.json.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tank import PIXELS, WAVES, objects, opened, probabilities
from tank_measured import LEVELS, devices
from torch import Tensor
from torch.nn import functional as fn

from eitlens import models
from eitlens.evaluate.calibration import reliability
from eitlens.evaluate.ktc import ktc_score
from eitlens.feature.maps import MapPrior, packed
from eitlens.feed.fleet import Fleet
from eitlens.feed.tanks import Bodies, TankExample, Uncertain, examples, labels
from eitlens.files import write_json
from eitlens.imaging.tank_imager import FAINT, WEIGHTS
from eitlens.measure.map_code import Doubt, MappedReadings
from eitlens.models.tank import LARGEST_SIGMA, Tank, read_output
from eitlens.weights import MAPS

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[1]
SHIPPED, SCORES = ROOT / "src/eitlens/weights/tank", ROOT / "results/tank.json"
SEEDS, EACH, BLOCK = (1, 2), 8, 32
"""Of the calibration and of the scores; bodies of each device; bodies solved at once."""
TANKS, DIRECTIONS = 256, 16
"""Of the levels: random electrodes; samples of changes, which the shipped network's code does not know."""
TEMPERATURES = torch.linspace(0.7, 1.5, 33)
MISFIT = 0.99  # of simulated tanks have a smaller one

NORMAL = 1.6449  # deviations to either side hold 90 %


def simulated(prior: MapPrior, seed: int, count: int, pixels: int) -> tuple[TankExample, Tensor]:
    """Codes of random bodies through random devices, what they are, and the misfits of the codes."""
    bank = Bodies.simulated(objects(10_000 + seed, wide=True), count, WAVES, CPU, BLOCK)
    draw, parts, misfits = torch.Generator().manual_seed(seed), [], []
    for rows in torch.split(torch.arange(len(bank.maps)), EACH):
        device = Fleet().device(prior, draw, Uncertain())
        angle = 2 * torch.pi * torch.rand(len(rows), generator=draw, dtype=torch.float64)
        maps, outlines = bank.moved(rows, angle, torch.zeros(len(rows), dtype=torch.bool))
        y = device.differences(maps, Uncertain(), draw)
        readings = MappedReadings(y, device.reading, device.empty, Doubt())
        code = readings.code()
        misfits.append(readings.misfit(code)[readings.size > FAINT])
        parts.append(TankExample(packed(code), *labels(outlines, bank.log_sigma[rows], pixels)))
    return TankExample(*(torch.cat(part) for part in zip(*parts, strict=True))), torch.cat(misfits)


@torch.no_grad()
def outputs_of(network: Tank, code: Tensor) -> Tensor:
    """The five numbers of every pixel."""
    return torch.cat([network.pixels(part) for part in torch.split(code, 16)])


def inside(pixels: int) -> Tensor:
    """The pixels of the tank."""
    place = (torch.arange(pixels) + 0.5) * (2 / pixels) - 1
    return (place[:, None].square() + place.square()) < 1


def entropies(logits: Tensor, classes: Tensor, there: Tensor, temperatures: Tensor) -> Tensor:
    """The cross entropy at each temperature."""
    return torch.stack(
        [fn.cross_entropy(logits / t, classes, reduction="none")[:, there].mean() for t in temperatures]
    )


def scored(outputs: Tensor, example: TankExample, temperature: float) -> dict[str, Any]:
    """The scores of the outputs on what they should show."""
    there = inside(outputs.shape[-1])
    found, classes = read_output(outputs, temperature), example.classes
    chosen = torch.where(there, found.probabilities.argmax(1), 0)
    present = [(kind, (classes == kind).flatten(1).any(1)) for kind in (1, 2)]
    dice = [
        2
        * ((chosen == k) & (classes == k)).sum((1, 2))[seen]
        / ((chosen == k).sum((1, 2)) + (classes == k).sum((1, 2)))[seen]
        for k, seen in present
    ]
    objects_there = (classes > 0) & there
    truth = example.log_sigma.clamp(-LARGEST_SIGMA, LARGEST_SIGMA)
    miss = ((found.log_sigma - truth).abs() / found.deviation)[objects_there]
    return {
        "cross_entropy": float(entropies(outputs[:, :3], classes, there, torch.tensor([temperature]))[0]),
        "score": float(ktc_score(classes, chosen).mean()),
        "dice_resistive": float(dice[0].mean()),
        "dice_conductive": float(dice[1].mean()),
        "calibration_error": {
            name: reliability(
                found.probabilities[:, k][:, there].logit(), (classes == k)[:, there].float()
            ).error()
            for k, name in enumerate(("background", "resistive", "conductive"))
        },
        "log_sigma_error": float((found.log_sigma - truth)[objects_there].abs().median()),
        "log_sigma_in_90": float((miss < NORMAL).double().mean()),
    }


def by_level(data: Path, count: int) -> dict[str, Any]:
    """The mean score of the shipped network on simulated tanks of the challenge at each level, and 21 tanks' worth."""
    network = Tank.of(models.load(SHIPPED / WEIGHTS))
    prior = MapPrior.from_tensors(load_file(SHIPPED / MAPS))
    bank = Bodies.simulated(objects(20_000 + SEEDS[1]), count, WAVES, CPU, BLOCK)
    rows, found = torch.arange(len(bank.maps)), {}
    for level, device in enumerate(devices(data, prior, CPU, TANKS, DIRECTIONS, SEEDS[1]), 1):
        draw = torch.Generator().manual_seed(level)
        unaware = replace(device, changes=device.changes[:0])
        example = examples(bank, rows, [unaware], Uncertain(), PIXELS, draw)
        seen = probabilities(network, example.code).argmax(1)
        found[f"level_{level}"] = float(ktc_score(example.classes, seen).mean())
        print(f"level {level}: {found[f'level_{level}']:.3f}", flush=True)
    return {"bodies": len(rows)} | found | {"of_21": 21 / LEVELS * sum(found.values())}


def make(run: Path, count: int) -> dict[str, Any]:
    """Write the folder of weights from a run; the scores."""
    trained, prior = opened(run, CPU)
    told = json.loads((run / "tank.json").read_text())
    network = Tank.of(models.create("tank", modes=prior.size, **told["settings"]))
    network.load_state_dict(trained.state_dict())
    SHIPPED.mkdir(parents=True, exist_ok=True)
    models.save(network, SHIPPED / WEIGHTS, compact=True)
    save_file({name: part.contiguous() for name, part in prior.tensors().items()}, SHIPPED / MAPS)
    ranges = {name: getattr(Fleet(), name) for name in ("electrodes", "coverage", "impedance")}
    write_json(SHIPPED / "config.json", told | {"devices": ranges})
    (SHIPPED / "log.jsonl").write_text((run / "log.jsonl").read_text())
    shipped = Tank.of(models.load(SHIPPED / WEIGHTS))
    pixels = 8 * network.config.grid
    example, misfits = simulated(prior, SEEDS[0], count, pixels)
    outputs, there = outputs_of(shipped, example.code), inside(pixels)
    best = TEMPERATURES[entropies(outputs[:, :3], example.classes, there, TEMPERATURES).argmin()]
    temperature, limit = round(float(best), 3), float(misfits.quantile(MISFIT))
    write_json(SHIPPED / "calibration.json", {"temperature": temperature, "misfit": limit})
    example, _ = simulated(prior, SEEDS[1], count, pixels)
    exact, kept = outputs_of(network, example.code), outputs_of(shipped, example.code)
    rows = {"bodies": count, "seed": SEEDS[1], "before_calibration": scored(exact, example, 1.0)}
    return rows | {
        "32_bits": scored(exact, example, temperature),
        "8_bits": scored(kept, example, temperature),
    }


def main() -> None:
    """Write the folder, or score the levels."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("make", "levels"))
    parser.add_argument("folder", type=Path, help="of the run, or of the challenge")
    parser.add_argument("--bodies", type=int, default=256)
    given = parser.parse_args()
    if given.mode == "make":
        rows = make(given.folder, given.bodies)
    else:
        rows = json.loads(SCORES.read_text()) | {"challenge": by_level(given.folder, given.bodies)}
    write_json(SCORES, rows)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
