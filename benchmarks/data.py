"""How fast data are made: whole sets, the endless stream, the features.

    OMP_NUM_THREADS=2 python benchmarks/data.py --mode sets --samples 320
    PYTHONPATH=src python3 benchmarks/data.py --device cuda --mode sets stream features

Each figure is printed and appended to `results.jsonl` in the output folder as soon as it is measured. `sets`
makes part of a preset (all of it on a GPU) and extrapolates to 12,800 samples; `stream` compares block sizes
and accuracies of the boundary integral solver; `features` times noise, symmetry, extension and scaling of a
batch, and the extension in float32. What data cost a training step is measured by `train.py`.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from eitlens.dataset import DataConfig, SolverConfig, generate, preset
from eitlens.dataset.simulate import Simulator
from eitlens.device import pick_device
from eitlens.domain import Square, cosine, square_extension
from eitlens.feature import Features
from eitlens.feed import Noise, Pipeline
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import indicator

MODES = ("sets", "stream", "features")
WHOLE = 12800


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--preset", nargs="+", default=["paper-disjoint", "paper"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--samples", type=int, help="samples of a set; all on a GPU, 320 on a CPU by default")
    parser.add_argument("--blocks", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", type=Path, default=Path("out/data"))
    options = parser.parse_args()
    options.device = pick_device(options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    for mode in options.mode:
        {"sets": sets, "stream": streams, "features": features}[mode](options)


def report(options: argparse.Namespace, **figures: Any) -> None:
    """One line to the terminal, one to the file."""
    print(
        "  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items()),
        flush=True,
    )
    with (options.out / "results.jsonl").open("a") as file:
        file.write(json.dumps({"device": str(options.device), "torch": torch.__version__} | figures) + "\n")


def wait(device: torch.device) -> None:
    """Until everything that was started is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(function: Callable[[], object], device: torch.device, repeat: int = 5) -> float:
    """Median time of a call, after one to warm up."""
    function()
    times = []
    for _ in range(repeat):
        wait(device)
        start = time.perf_counter()
        function()
        wait(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def sets(options: argparse.Namespace) -> None:
    """Whole data sets, files and all, and the solving alone."""
    for name in options.preset:
        config = preset(name)
        samples = options.samples or (config.count if options.device.type == "cuda" else 320)
        shard = config.shard if options.device.type == "cuda" else 40
        part = replace(config, train=samples, validation=0, test=0, shard=min(shard, samples))
        folder = Path(tempfile.mkdtemp())
        generate(
            replace(part, train=min(80, samples), shard=min(40, samples)),
            folder / "warm",
            device=str(options.device),
        )
        start = time.perf_counter()
        generate(part, folder / "set", device=str(options.device))
        wall = time.perf_counter() - start
        size = sum(file.stat().st_size for file in (folder / "set").iterdir())
        shutil.rmtree(folder)
        report(
            options,
            mode="sets",
            preset=name,
            samples=samples,
            ms_per_sample=1e3 * wall / samples,
            whole_set_s=wall / samples * WHOLE,
            whole_set_mb=size / samples * WHOLE / 1e6,
            solving_s=solving(part, options.device) * WHOLE,
        )


def solving(config: DataConfig, device: torch.device) -> float:
    """Seconds a sample for the boundary data alone, in one batch of a shard's size."""
    simulator = Simulator.build(config, device)
    phantoms = simulator.sampler.sample(torch.arange(min(config.shard, config.count), device=device))
    taken = seconds(lambda: simulator.measure(phantoms), device, repeat=3)
    return taken / len(phantoms)


def streams(options: argparse.Namespace) -> None:
    """Sampling, solving and rasterising in blocks; 15 % of a 25 ms step is 3.75 ms a batch."""
    config = preset("paper-disjoint")
    square, device = Square(config.n), options.device
    currents = config.currents.build(square, device)
    exact = BoundaryIntegralSolver(square, tolerance=1e-10)
    solvers = {
        f"tolerance {t:g}": BoundaryIntegralSolver(square, tolerance=t) for t in (1e-9, 1e-6, 1e-5, 1e-4)
    }
    solvers |= {f"nodes {count}": BoundaryIntegralSolver(square, nodes=count) for count in (32, 48, 64, 96)}
    sampler = config.sampler.build()
    for block in options.blocks:
        index = torch.arange(block, device=device)
        phantoms = sampler.sample(index)
        reference = exact.difference(phantoms[:256], currents)
        drawing = seconds(partial(sampler.sample, index), device, 3)
        drawn = seconds(partial(indicator, square, phantoms), device, 3)
        for name, solver in solvers.items():
            solve = partial(solver.difference, phantoms, currents)
            solved = seconds(solve, device, 3)
            error = (solve()[:256] - reference).flatten(1).norm(dim=1) / reference.flatten(1).norm(dim=1)
            report(
                options,
                mode="stream",
                block=block,
                solver=name,
                error_worst=float(error.max()),
                batch_ms=1e3 * (drawing + solved + drawn) / block * options.batch,
                sampling_ms=1e3 * drawing / block * options.batch,
                solving_ms=1e3 * solved / block * options.batch,
                masks_ms=1e3 * drawn / block * options.batch,
            )


def features(options: argparse.Namespace) -> None:
    """The pipeline on a batch, and whether float32 would be enough for the extension, and faster."""
    device = options.device
    samples = Simulator.build(fast_stream(), device)(torch.arange(options.batch))
    made = Features().scaled(samples.difference)
    for name, pipeline in {
        "features": Pipeline(made),
        "noise": Pipeline(made, Noise((0.0, 0.2), "range")),
        "noise and symmetry": Pipeline(made, Noise((0.0, 0.2), "range"), augment=True),
    }.items():
        taken = seconds(partial(pipeline, samples), device)
        report(options, mode="features", what=name, batch_ms=1e3 * taken)
    double = square_extension.extend_with_gradient(samples.difference, 200)
    taken = seconds(lambda: square_extension.extend_with_gradient(samples.difference, 200), device)
    with single_precision():
        values = samples.difference.float()
        single = square_extension.extend_with_gradient(values, 200)
        fast = seconds(lambda: square_extension.extend_with_gradient(values, 200), device)
    error = max(float((s - d).norm() / d.norm()) for s, d in zip(single, double, strict=True))
    report(
        options,
        mode="features",
        what="extension",
        float64_ms=1e3 * taken,
        float32_ms=1e3 * fast,
        float32_error=error,
    )


def single_precision() -> ExitStack:
    """The constants of the harmonic extension in float32, for comparison."""
    stack = ExitStack()
    homes = {cosine: ("synthesis", "analysis"), square_extension: ("_profiles", "_along_slope", "_line")}
    for home, names in homes.items():
        for name in names:
            stack.enter_context(patch.object(home, name, in_float32(getattr(home, name))))
    return stack


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with float32 results, computed once."""
    kept: dict[tuple[Any, ...], Any] = {}

    def cast(*arguments: Any) -> Any:
        if arguments not in kept:
            value = function(*arguments)
            kept[arguments] = tuple(v.float() for v in value) if isinstance(value, tuple) else value.float()
        return kept[arguments]

    return cast


def fast_stream() -> DataConfig:
    """The disjoint phantoms, to the accuracy a network can see."""
    return replace(preset("paper-disjoint"), solver=SolverConfig("boundary-integral", 1e-5))


if __name__ == "__main__":
    main()
