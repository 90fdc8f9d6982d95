"""How fast training is, with the library alone.

    PYTHONPATH=src python3 benchmarks/train.py --device cuda --network uit --batch 64

Times the training step on one fixed batch, then with samples from memory and from the stream made into
features as they are in training, and the parts alone; results are printed and appended to speed.jsonl. Real runs
are `eitlens train` and, for the paper's table, `eitlens benchmark table1 --train`.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from eitlens.dataset import preset as data_preset
from eitlens.device import float32_products
from eitlens.feed import Example, Noise
from eitlens.train import NetworkConfig, SourceConfig, TrainConfig, preset
from eitlens.train.examples import ExampleFeed
from eitlens.train.folder import RunFolder
from eitlens.train.loop import Loop
from eitlens.train.processes import Processes
from eitlens.train.setup import TrainingParts, create_network, prepare
from eitlens.train.sources import MemorySource
from eitlens.train.supply import Supply


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--network", default="uit")
    parser.add_argument("--currents", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--compile", default="default")
    parser.add_argument("--preset", default="paper-disjoint", help="the data")
    parser.add_argument("--out", type=Path, default=Path("out/train"))
    parser.add_argument("--steps", type=int, default=60, help="steps timed")
    parser.add_argument("--block", type=int, default=512, help="samples simulated at once")
    parser.add_argument("--tau", type=float, nargs="+", default=[0.0])
    parser.add_argument("--average", type=float, default=0.0)
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--lr", type=float, default=1e-3)
    speed(parser.parse_args())


def speed(given: argparse.Namespace) -> None:
    """Images a second of the step alone, of the whole loop, and of the parts."""
    stream = SourceConfig(stream=data_preset(given.preset), currents=given.currents, block=given.block)
    config = _config(given, replace(stream, validation=64))
    processes, supply = Processes.join(config.precision, given.device), Supply.open(config.data)
    with (
        tempfile.TemporaryDirectory() as folder,
        float32_products(config.precision != "32", same_shapes=True),
    ):
        run = RunFolder(Path(folder) / "run")
        run.begin(config)
        setup = prepare(config, processes, supply, create_network(config, given.currents), None)
        loop = Loop(config, run, setup, ())
        rates = {"stream and step": _loop_rate(loop, setup, given)}
        rates |= _parts(loop, setup, supply, config, given)
        setup.examples.close()
    whole = rates["stream and step"]
    bare = rates["step alone"]
    rates["share of data in percent"] = 100 * (1 - whole / bare)
    record = {key: str(value) for key, value in vars(given).items()} | {"images_per_second": rates}
    _say(given.out, record)


def _parts(
    loop: Loop, setup: TrainingParts, supply: Supply, config: TrainConfig, given: argparse.Namespace
) -> dict[str, float]:
    fixed = setup.examples(0)
    loop.setup = replace(setup, examples=_Fixed(fixed))  # type: ignore[arg-type]
    rates = {"step alone": _loop_rate(loop, setup, given)}
    samples = supply.split("validation", setup.device)
    pipeline = setup.examples.pipeline
    if len(samples) >= config.batch:
        source = MemorySource(samples, config.batch, 0, setup.processes)
        loop.setup = replace(setup, examples=ExampleFeed(source, pipeline, setup.device))
        rates["memory and step"] = _loop_rate(loop, setup, given)
        loop.setup.examples.close()
        batch = source(0).samples
        rates["features alone"] = _rate(lambda _: pipeline(batch, 1), given, setup.device)
    blocks = max(1, 4 * given.block // config.batch)
    first = 10**6 * blocks
    rates["simulating alone"] = _rate(lambda k: setup.examples.source(first + k), given, setup.device, blocks)
    return rates


class _Fixed:
    """The same example for ever."""

    def __init__(self, example: Example) -> None:
        self._example = example

    def __call__(self, step: int) -> Example:
        return self._example


def _loop_rate(loop: Loop, setup: TrainingParts, given: argparse.Namespace) -> float:
    return _rate(lambda _: loop.step(), given, setup.device)


def _rate(
    function: Callable[[int], object], given: argparse.Namespace, device: torch.device, steps: int = 0
) -> float:
    steps = steps or given.steps
    for k in range(max(3, steps // 10)):
        function(k)
    _wait(device)
    start = time.perf_counter()
    for k in range(steps):
        function(k + 1000)
    _wait(device)
    return float(given.batch * steps / (time.perf_counter() - start))


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _config(given: argparse.Namespace, source: SourceConfig) -> TrainConfig:
    paper = replace(preset("paper"), data=source, epochs=0.0, samples=10**9)
    return replace(
        paper,
        name=f"{given.network}-{given.currents}",
        network=NetworkConfig(given.network),
        noise=Noise(tuple(given.tau)),
        schedule=replace(paper.schedule, lr=given.lr),
        batch=given.batch,
        precision=given.precision,
        compile=given.compile,
        average=given.average,
        augment=given.augment,
        scale=given.scale,
    )


def _say(out: Path, record: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "speed.jsonl").open("a") as stream:
        stream.write(json.dumps(record) + "\n")
    json.dump(record, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
