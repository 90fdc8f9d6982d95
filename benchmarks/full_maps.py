"""Images of σ on the disk from full boundary maps, the tasks of de Hoop, Kovachki, Lassas and Nelsen: data to scores.

    PYTHONPATH=src python3 benchmarks/full_maps.py generate --task shape --samples 9500
    PYTHONPATH=src python3 benchmarks/full_maps.py train --task shape --samples 9500 --minutes 3
    PYTHONPATH=src python3 benchmarks/full_maps.py score --task shape --samples 9500
    PYTHONPATH=src python3 benchmarks/full_maps.py all --minutes 3              # the three tasks, one after the other
    PYTHONPATH=src python3 benchmarks/full_maps.py linear --task lognormal      # without a network, on a CPU
    PYTHONPATH=src python3 benchmarks/full_maps.py simulator --task lognormal   # its errors and its speed
    PYTHONPATH=src python3 benchmarks/full_maps.py all --toy --device cpu       # all of it, tiny, in a minute

`generate` simulates what is not there yet, test and validation too; more than 9,500 `--samples` stand for endless data.
`train` goes on from its checkpoint. `score` writes results/full_maps/TASK_SAMPLES.json with one entry a noise level,
`linear` and `simulator` write TASK_linear.json and TASK_simulator.json beside it. What was learned on the way:
benchmarks/full_maps.md; the page: docs/full_maps.md.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from full_maps_data import (
    BLOCK,
    SEED,
    TEST,
    TRAINING,
    VALIDATION,
    Coded,
    Resolution,
    coded,
    generate,
    moved,
    noisy_input,
    read,
)
from full_maps_heads import HEADS, Head, relative_l1
from full_maps_network import FullMap, LinearParts, at_nodes, linear_parts, network_config
from safetensors.torch import load_file, save_file
from tank import keep, resume
from torch import Tensor, nn

from eitlens.device import pick_device
from eitlens.feature.noisy_maps import WhiteCode
from eitlens.forward.rings import Rings
from eitlens.phantom.disk_images import NODES, TASKS, DiskTask, task_of
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.schedule import Schedule

LEVELS = (0.0, 0.01, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)
_LOUDEST = 0.32  # a little above the loudest that is scored
_CLEAN = 0.5  # of the samples in training have no noise; the others have levels `_LOUDEST` u², u uniform
_NEWTON_STEPS = 5
TOY: dict[str, Any] = {
    "samples": 100,
    "minutes": 0.05,
    "modes": 60,
    "batch": 8,
    "every": 5,
    "test": 8,
    "check": 2,
    "rings": 8,
    "angles": 32,
    "waves": 12,
    "nodes": 64,
}
TINY = {"width": 64, "layers": 1, "heads": 2, "hidden": 64, "fine": 8, "grid": 8}
SMALL = {"width": 128, "layers": 3, "heads": 4, "hidden": 128, "fine": 24, "grid": 16}


def data(given: argparse.Namespace, task: DiskTask) -> Path:
    """Where the simulated samples of a task are."""
    folder: Path = given.out / "data" / task.name
    return folder


def run(given: argparse.Namespace, task: DiskTask) -> Path:
    """Where the network for a task is."""
    folder: Path = given.out / f"{task.name}_{given.samples}"
    return folder


def training(given: argparse.Namespace) -> list[range]:
    """The training samples: those of the publication, and more from 10,000 on."""
    few = range(min(given.samples, len(TRAINING)))
    return (
        [few, range(TEST.stop, TEST.stop + given.samples - len(TRAINING))]
        if len(few) < given.samples
        else [few]
    )


def make(given: argparse.Namespace, task: DiskTask, device: torch.device) -> None:
    """Simulate the samples of training, validation and test."""
    how = Resolution(given.rings, given.angles, given.waves, given.nodes)
    tests = [range(part.start, part.start + BLOCK) if given.toy else part for part in (VALIDATION, TEST)]
    for samples in [*training(given), *tests]:
        generate(data(given, task), task, samples, how, device, given.chunk)


def shown(given: argparse.Namespace, task: DiskTask, device: torch.device) -> tuple[WhiteCode, Coded]:
    """The training samples as codes, and the code fitted to them."""
    parts = [read(data(given, task), samples, device) for samples in training(given)]
    code = WhiteCode.fit(parts[0].maps(), given.modes)
    each = [coded(code, part) for part in parts]
    return code, Coded(*(torch.cat(part) for part in zip(*map(tuple, each), strict=True)))


def fitted(code: WhiteCode, head: Head, known: Coded, grid: int, side: int | None) -> LinearParts:
    """The linear estimators, of the published training samples alone: more change nothing."""
    few = slice(len(TRAINING))
    return linear_parts(code, known.z[few], head.targets(known.log_sigma[few].float().exp()), grid, side)


def created(
    given: argparse.Namespace, head: Head, code: WhiteCode, known: Coded, device: torch.device
) -> FullMap:
    """The network, which begins with linear estimates."""
    torch.manual_seed(given.seed)
    config = network_config(head, code, given.settings)
    network = FullMap(config, head)
    network.begin_linear(*fitted(code, head, known, config.grid, network.side))
    return network.to(device)


def batches(
    given: argparse.Namespace, task: DiskTask, code: WhiteCode, known: Coded, pixels: int, first: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and σ without end, each a function of the seed and the step."""
    device = known.z.device
    for step in range(first, 1 << 62):
        draw = torch.Generator(device=device).manual_seed(given.seed * 1_000_003 + step)
        rows = torch.randint(len(known.z), (given.batch,), generator=draw, device=device)
        part = known[rows]
        z, sigma = moved(code, part, pixels, task.sharp, draw)
        u = torch.rand(2, given.batch, generator=draw, dtype=torch.float64, device=device)
        level = torch.where(u[0] < given.clean, 0.0, _LOUDEST * u[1].square())
        yield noisy_input(code, z, level * part.norm, draw), sigma


def in_disk(pixels: int, device: torch.device) -> Tensor:
    """The pixels of the disk."""
    place = (torch.arange(pixels, device=device) + 0.5) * (2 / pixels) - 1
    return (place[:, None].square() + place.square()) < 1


def train(given: argparse.Namespace, task: DiskTask, device: torch.device) -> None:
    """Train for some minutes by the clock, or go on."""
    out, head = run(given, task), HEADS[task.name]
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    code, known = shown(given, task, device)
    network = created(given, head, code, known, device).train()
    print(f"{len(known.z)} samples, {code.size} modes after {time.monotonic() - start:.1f} s", flush=True)
    average = Average(network, 0.998)
    optimisers = optimiser.create_muon(network.parameters(), 1e-2)
    schedule = Schedule(lr=given.lr, start=20.0, peak=0.1)
    elapsed, step = resume(out, network, average, optimisers)
    write_code(given, out, code, step, elapsed)
    if device.type == "cuda" and not given.plain:
        for region in network.regions():
            region.compile(mode="default", dynamic=False)
    inside, total = in_disk(network.side, device), torch.zeros((), device=device)
    session, end, first = time.monotonic() - elapsed, 60 * given.minutes, step
    for inputs, sigma in batches(given, task, code, known, network.side, step):
        if (now := time.monotonic() - session) >= end:
            break
        optimiser.adjust(optimisers, *schedule(now / end))
        network.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            outputs = network.pixels(inputs)
        loss = head.loss(outputs.float(), sigma, inside)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for each in optimisers:
            each.step()
        average.update(step)
        total += loss.detach()
        step += 1
        if step % given.every == 0:
            speed = given.batch * (step - first) / max(now - elapsed, 1e-9)
            row = {
                "step": step,
                "seconds": now,
                "loss": float(total) / given.every,
                "samples_per_second": speed,
            }
            total.zero_()
            print(json.dumps(row), flush=True)
            with (out / "log.jsonl").open("a") as stream:
                stream.write(json.dumps(row) + "\n")
        if step % given.kept == 0:
            keep(out, network, average, optimisers, now, step)
    elapsed = time.monotonic() - session
    keep(out, network, average, optimisers, elapsed, step)
    write_code(given, out, code, step, elapsed)


def write_code(given: argparse.Namespace, out: Path, code: WhiteCode, step: int, elapsed: float) -> None:
    """Write the code of the maps and what made the weights."""
    save_file({name: part.contiguous() for name, part in code.tensors().items()}, out / "code.safetensors")
    told = {
        name: getattr(given, name)
        for name in ("samples", "modes", "batch", "lr", "clean", "seed", "settings")
    }
    told |= {"steps": step, "minutes": elapsed / 60}
    (out / "run.json").write_text(json.dumps(told, indent=1) + "\n")


def opened(given: argparse.Namespace, task: DiskTask, device: torch.device) -> tuple[FullMap, WhiteCode]:
    """The trained network and its code."""
    out, head = run(given, task), HEADS[task.name]
    code = WhiteCode.from_tensors(load_file(out / "code.safetensors"))
    settings = json.loads((out / "run.json").read_text())["settings"]
    network = FullMap(network_config(head, code, settings), head)
    network.load_state_dict(load_file(out / "average.safetensors"))
    return network.to(device).eval(), code


@torch.no_grad()
def score(given: argparse.Namespace, task: DiskTask, device: torch.device) -> None:
    """Score the test samples at every noise level, and write the results."""
    network, code = opened(given, task, device)
    index = range(TEST.start, TEST.start + given.test)
    known = coded(code, read(data(given, task), index, device))
    truth = task.images(torch.arange(index.start, index.stop, device=device))
    told = json.loads((run(given, task) / "run.json").read_text())
    result: dict[str, Any] = {"task": task.name, "device": device_name(device)} | told
    result |= {"simulation": json.loads((data(given, task) / "simulation.json").read_text()), "noise": {}}
    for level in LEVELS:
        draw = torch.Generator(device=device).manual_seed(round(1000 * level))
        inputs = noisy_input(code, known.z, level * known.norm, draw)
        outputs = torch.cat([symmetric(network, code, part) for part in torch.split(inputs, given.chunk)])
        result["noise"][f"{level:g}"] = row = relative_l1(HEADS[task.name].sigma(outputs), truth)
        print(
            task.name,
            given.samples,
            level,
            {name: round(value, 4) for name, value in row.items()},
            flush=True,
        )
    write(given, f"{task.name}_{given.samples}", result)


def symmetric(network: FullMap, code: WhiteCode, inputs: Tensor) -> Tensor:
    """Outputs at the nodes, averaged over quarter turns and mirror images of the body."""
    count, device = code.size, inputs.device
    spread = inputs[:, count : 2 * count]
    total = torch.zeros((), device=device)
    for mirror in (False, True):
        for quarter in range(4):
            z = inputs[:, -count:].double()
            z = code.mirrored(z) if mirror else z
            z = code.turned(
                z, torch.full((len(z),), quarter * torch.pi / 2, dtype=z.dtype, device=device)
            ).float()
            both = torch.cat([torch.asinh(z), spread, torch.zeros_like(z[:, :1]), z], -1)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                found = network.pixels(both)
            found = at_nodes(found.float(), NODES).rot90(-quarter, (2, 3))
            total = total + (found.flip(3) if mirror else found)
    return total / 8


def write(given: argparse.Namespace, name: str, result: dict[str, Any]) -> None:
    """Write a result file: a toy's beside its weights."""
    folder = given.out if given.toy else given.results
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def device_name(device: torch.device) -> str:
    """What the result files call a device."""
    return (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"CPU, threads: {torch.get_num_threads()}"
    )


@torch.no_grad()
def linear(given: argparse.Namespace, task: DiskTask, device: torch.device) -> None:
    """Score linear estimates at every noise level; of a smooth σ without noise, Newton steps from there as well."""
    head = HEADS[task.name]
    code, known = shown(given, task, device)
    index = range(TEST.start, TEST.start + given.test)
    test = coded(code, read(data(given, task), index, device))
    truth = task.images(torch.arange(index.start, index.stop, device=device))
    mean, modes = fitted(code, head, known, 8, None)[2:]
    simulation = json.loads((data(given, task) / "simulation.json").read_text())
    result: dict[str, Any] = {"task": task.name, "samples": given.samples, "device": device_name(device)}
    result |= {"modes": code.size, "simulation": simulation, "noise": {}}
    for level in LEVELS:
        draw = torch.Generator(device=device).manual_seed(round(1000 * level))
        z = noisy_input(code, test.z, level * test.norm, draw)[:, -code.size :].double()
        estimates = mean + torch.tensordot(z, modes, 1)
        result["noise"][f"{level:g}"] = row = relative_l1(head.linear_sigma(estimates), truth)
        print(task.name, "linear", level, {name: round(value, 4) for name, value in row.items()}, flush=True)
    if not task.sharp:
        grid = Rings(simulation["rings"], simulation["angles"], task.reach, task.sharp)
        result["newton"] = newton(grid, code, test.z, truth, mean[0], modes[:, 0], simulation["waves"])
    write(given, f"{task.name}_linear", result)


def simulator(given: argparse.Namespace, task: DiskTask, device: torch.device) -> None:
    """Errors of the maps of a few samples, relative to those on twice as fine rings, and samples a second."""
    images = task.images(torch.arange(given.check, device=device))
    fine = Rings(2 * given.rings, 2 * given.angles, task.reach, task.sharp).differences(images, given.waves)
    result: dict[str, Any] = {"task": task.name, "device": device_name(device), "samples": given.check}
    result |= {"error": {}, "samples_per_second": {}}
    for divisor in (2, 1):
        grid = Rings(given.rings // divisor, given.angles // divisor, task.reach, task.sharp)
        waves = min(given.waves, grid.angles // 2 - 1)
        grid.differences(images, waves)
        start = time.monotonic()
        found = grid.differences(images, waves)
        result["samples_per_second"][grid.rings] = given.check / (
            float(found.sum() * 0) + time.monotonic() - start
        )
        keep_waves = torch.cat([torch.arange(waves), given.waves + torch.arange(waves)])
        part = fine[:, keep_waves[:, None], keep_waves]
        error = (found - part).square().sum((1, 2)).sqrt() / part.square().sum((1, 2)).sqrt()
        result["error"][grid.rings] = float(error.mean())
    result["load"] = round(os.getloadavg()[0], 1)
    print(json.dumps(result), flush=True)
    write(given, f"{task.name}_simulator", result)


def newton(
    grid: Rings, code: WhiteCode, z: Tensor, truth: Tensor, mean: Tensor, modes: Tensor, waves: int
) -> list[dict[str, float]]:
    """Scores after each step log σ ← log σ + B (z - z(σ)), B the linear estimator: Newton with one derivative."""
    inside = (
        torch.hypot(*torch.meshgrid(*[torch.linspace(-1, 1, NODES, dtype=z.dtype)] * 2, indexing="ij")) <= 1
    )
    log_sigma, scores = mean + torch.tensordot(z, modes, 1), []
    for step in range(_NEWTON_STEPS + 1):
        sigma = torch.where(inside.to(z.device), log_sigma.exp(), 1.0)
        scores.append(relative_l1(sigma, truth))
        print("Newton step", step, scores[-1], flush=True)
        if step < _NEWTON_STEPS:
            seen = torch.cat(
                [code.coordinates(grid.differences(part, waves)) for part in torch.split(sigma, BLOCK)]
            )
            log_sigma = log_sigma + torch.tensordot(z - seen, modes, 1)
    return scores


def main() -> None:
    """Generate, train, score, or all in turn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("generate", "train", "score", "linear", "simulator", "all"))
    parser.add_argument("--task", choices=tuple(TASKS), help="all of them when left out")
    parser.add_argument("--out", type=Path, default=Path("out/full_maps"))
    parser.add_argument("--results", type=Path, default=Path("results/full_maps"))
    parser.add_argument("--samples", type=int, default=len(TRAINING), help="for training, a multiple of 100")
    parser.add_argument("--minutes", type=float, default=3.0, help="of training, by the clock")
    parser.add_argument("--modes", type=int, default=512)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--clean", type=float, default=_CLEAN, help="part of the samples without noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test", type=int, default=len(TEST))
    parser.add_argument("--check", type=int, default=4, help="samples that are simulated more finely")
    parser.add_argument("--every", type=int, default=50, help="steps from row to row of the log")
    parser.add_argument("--kept", type=int, default=1000, help="steps from checkpoint to checkpoint")
    parser.add_argument(
        "--chunk", type=int, default=50, help="samples that are simulated, or imaged, at once"
    )
    parser.add_argument("--rings", type=int, default=64)
    parser.add_argument("--angles", type=int, default=256)
    parser.add_argument("--waves", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=128, help="a side of the images in training")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--plain", action="store_true", help="without compilation")
    parser.add_argument("--small", action="store_true", help="a network for a CPU")
    parser.add_argument("--toy", action="store_true", help="tiny, to try the script")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the network, as JSON")
    given = parser.parse_args()
    if given.toy:
        vars(given).update(TOY | {"out": given.out / "toy", "settings": TINY | given.settings})
    elif given.small:
        given.settings = SMALL | given.settings
    torch.set_float32_matmul_precision("high")
    modes = {
        "generate": (make,),
        "train": (train,),
        "score": (score,),
        "linear": (linear,),
        "simulator": (simulator,),
        "all": (make, simulator, linear, train, score),
    }
    device = pick_device(given.device)
    for name in [given.task] if given.task else TASKS:
        for each in modes[given.mode]:
            each(given, task_of(name, SEED), device)


if __name__ == "__main__":
    main()
