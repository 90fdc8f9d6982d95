"""How fast training is, and a first real run, with the library alone.

    PYTHONPATH=src python3 benchmarks/train.py speed --device cuda --network uit --batch 64
    PYTHONPATH=src python3 benchmarks/train.py run --data data/disjoint --network uit --currents 1 --batch 64 \
        --epochs 50 --run runs/uit --out results/uit

`speed` times the training step on one fixed batch, then with samples from memory and from the stream made
into features as they are in training, and the parts alone; results are printed and appended to speed.jsonl.
`run` makes the data set if it is not there, trains by the paper's recipe (started again, it goes on), scores
the best weights on the test split and brings home 16-bit weights, log, result and evaluation.
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

from eitlens.data import Dataset, Example, Noise, generate, pick_device
from eitlens.data import preset as data_preset
from eitlens.evaluate.score import score
from eitlens.evaluate.trained import Trained, save_compact
from eitlens.figures.training import learning_curve
from eitlens.train import NetworkConfig, SourceConfig, TrainConfig, preset
from eitlens.train.fabric import create_fabric, float32_products
from eitlens.train.folder import RunFolder, read_log, write_json
from eitlens.train.loop import Loop, train
from eitlens.train.setup import Setup, create_network, prepare
from eitlens.train.sources import Examples, FolderSource, Supply


def main() -> None:
    """Measure, or train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("speed", "run"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--network", default="uit")
    parser.add_argument("--currents", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--compile", default="default")
    parser.add_argument("--preset", default="paper-disjoint", help="the data")
    parser.add_argument("--out", type=Path, default=Path("out/train"))
    parser.add_argument("--steps", type=int, default=60, help="speed: steps timed")
    parser.add_argument("--block", type=int, default=512, help="speed: samples simulated at once")
    parser.add_argument("--tau", type=float, nargs="+", default=[0.0])
    parser.add_argument("--test-tau", type=float, nargs="+", help="those of training by default")
    parser.add_argument("--data", type=Path, default=Path("data/set"), help="run: folder of the data set")
    parser.add_argument("--run", type=Path, default=Path("runs/run"), help="run: folder of the run")
    parser.add_argument("--epochs", type=float, default=50)
    parser.add_argument("--minutes", type=float, default=0.0, help="run: instead of epochs")
    parser.add_argument("--stop-after", type=float, default=float("inf"))
    parser.add_argument("--average", type=float, default=0.0)
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--lr", type=float, default=1e-3)
    given = parser.parse_args()
    (speed if given.mode == "speed" else run)(given)


def speed(given: argparse.Namespace) -> None:
    """Images a second of the step alone, of the whole loop, and of the parts."""
    stream = SourceConfig(stream=data_preset(given.preset), currents=given.currents, block=given.block)
    config = _config(given, replace(stream, validation=64), samples=10**9)
    fabric, supply = create_fabric(config.precision, given.device), Supply.open(config.data)
    with tempfile.TemporaryDirectory() as folder, float32_products(config.precision):
        run = RunFolder(Path(folder) / "run")
        run.begin(config)
        setup = prepare(config, fabric, supply, create_network(config, given.currents), None)
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
    loop: Loop, setup: Setup, supply: Supply, config: TrainConfig, given: argparse.Namespace
) -> dict[str, float]:
    fixed = setup.examples(0)
    loop.setup = replace(setup, examples=_Fixed(fixed))  # type: ignore[arg-type]
    rates = {"step alone": _loop_rate(loop, setup, given)}
    samples = supply.split("validation", setup.device)
    pipeline = setup.examples._pipeline
    if len(samples) >= config.batch:
        source = FolderSource(samples, config.batch, 0, setup.part)
        loop.setup = replace(setup, examples=Examples(source, pipeline, setup.device))
        rates["memory and step"] = _loop_rate(loop, setup, given)
        loop.setup.examples.close()
        batch = source(0).samples
        rates["features alone"] = _rate(lambda _: pipeline(batch, 1), given, setup.device)
    blocks = max(1, 4 * given.block // config.batch)
    first = 10**6 * blocks
    rates["simulating alone"] = _rate(
        lambda k: setup.examples._source(first + k), given, setup.device, blocks
    )
    return rates


class _Fixed:
    """The same example for ever."""

    def __init__(self, example: Example) -> None:
        self._example = example

    def __call__(self, step: int) -> Example:
        return self._example


def _loop_rate(loop: Loop, setup: Setup, given: argparse.Namespace) -> float:
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


def run(given: argparse.Namespace) -> None:
    """Data, training, evaluation, and what to bring home."""
    generate(data_preset(given.preset), given.data, device=given.device)
    source = SourceConfig(folder=str(given.data), currents=given.currents)
    length = {"minutes": given.minutes} if given.minutes else {"epochs": given.epochs}
    config = _config(given, source, **length)
    result = train(config, given.run, given.device, given.stop_after, (_tell,))
    given.out.mkdir(parents=True, exist_ok=True)
    learning_curve(read_log(given.run / "log.csv"), given.run / "learning_curve.png")
    if result is not None:
        _evaluate(given, config)
    for name in ("best", "last"):
        save_compact(given.run, name, given.out)
    for file in (*given.run.glob("*.json"), given.run / "log.csv", given.run / "learning_curve.png"):
        (given.out / file.name).write_bytes(file.read_bytes())
    print("finished" if result else "stopped: the same command goes on")


def _evaluate(given: argparse.Namespace, config: TrainConfig) -> None:
    device = pick_device(given.device)
    trained = Trained.load(given.run, "best", device)
    samples = Dataset.open(given.data).split("test", device)
    scores = []
    for tau in given.test_tau or given.tau:
        found = score(trained, samples, tau)
        scores.append({"tau": tau} | found.to_dict())
        print(
            tau,
            {name: f"{row.mean:.4f} ({row.low:.4f} … {row.high:.4f})" for name, row in found.rows().items()},
        )
    write_json(given.run / "evaluation.json", {"run": config.name, "scores": scores})


def _config(given: argparse.Namespace, source: SourceConfig, **length: Any) -> TrainConfig:
    paper = replace(preset("paper"), data=source, **({"epochs": 0.0} | length))
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


def _tell(row: dict[str, float]) -> None:
    if "soft_dice" in row:
        keys = ("step", "seconds", "loss", "images_per_second", "cross_entropy", "paper_l2", "soft_dice")
        print(" ".join(f"{key} {row[key]:.5g}" for key in keys), flush=True)


def _say(out: Path, record: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "speed.jsonl").open("a") as stream:
        stream.write(json.dumps(record) + "\n")
    json.dump(record, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
