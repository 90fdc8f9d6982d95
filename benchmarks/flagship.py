"""The flagship: short runs that compare designs, and the long one whose weights are shipped.

    PYTHONPATH=src python3 benchmarks/flagship.py explore base integral adam --samples 200000 --bank 120000 --out out
    PYTHONPATH=src python3 benchmarks/flagship.py train flagship uit-small --minutes 12.5 2.8 --out out
    PYTHONPATH=src python3 benchmarks/flagship.py train both uit --minutes 14 14 --out out
    PYTHONPATH=src python3 benchmarks/flagship.py score flagship uit-small --out out
    PYTHONPATH=src python3 benchmarks/flagship.py mirrors --test 300 --out out

`mirrors` measures what the mean over mirror images brings to the shipped flagship, body by body, in mirrors.json.
`both` is the flagship on overlapping and disjoint bodies together, `uit` the paper's own network on the same bank.

All train on phantoms of the paper's distribution, simulated with the grid solver when the run begins, with another
seed than the test set's; noise, mirror images and the number of currents are new each time a sample is shown.
Results are appended to explore.jsonl, or written as evaluation.json beside the weights.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from eitlens import weights
from eitlens.dataset import Samples
from eitlens.dataset import preset as data_preset
from eitlens.dataset.config import Split
from eitlens.device import pick_device
from eitlens.evaluate import evaluation
from eitlens.evaluate.metrics import per_sample
from eitlens.evaluate.score import SEED, score
from eitlens.feed import Noise, simulate_range
from eitlens.files import write_json
from eitlens.models.trained import Trained, save_compact
from eitlens.train import NetworkConfig, TrainConfig, preset
from eitlens.train.loop import train
from eitlens.train.supply import Supply

LEVELS = (0.0, 0.05, 0.2)
_TOGETHER = 10  # bodies between which the file is written
SHOWN = ("hard_dice", "soft_dice", "cross_entropy", "paper_l2")

BASE = replace(preset("flagship"), batch=256, schedule=replace(preset("flagship").schedule, lr=1e-3))


def _network(**settings: Any) -> TrainConfig:
    return replace(BASE, network=NetworkConfig("flagship", settings))


DESIGNS = {
    "base": BASE,
    "integral": _network(softmax=False),
    "adam": replace(BASE, optimiser="adam"),
    "fast": replace(BASE, schedule=replace(BASE.schedule, lr=2e-3)),
    "narrow": _network(width=256, heads=4),
    "wide": _network(width=384, heads=6),
    "shallow": _network(layers=5),
    "plain-data": _network(tokens=1, waves=1, amplitudes=1),
    "flagship": preset("flagship"),
    "uit-small": preset("uit-small"),
    "both": preset("flagship-both"),
    "uit": preset("uit-endless"),
}


def main() -> None:
    """Explore, or train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("explore", "train", "score", "mirrors"))
    parser.add_argument("designs", nargs="*", default=["base"], help=f"of {', '.join(DESIGNS)}")
    parser.add_argument("--samples", type=int, default=200_000, help="explore: samples shown to each")
    parser.add_argument("--minutes", type=float, nargs="+", default=[15.0], help="train: each, by the clock")
    parser.add_argument("--bank", type=int, default=350_000)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.0)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--work", type=Path, default=Path("runs/flagship"))
    parser.add_argument("--out", type=Path, default=Path("out/flagship"))
    parser.add_argument(
        "--toy", action="store_true", help="a tiny network and compilation off, to try the script"
    )
    given = parser.parse_args()
    if given.mode == "mirrors":
        mirrors(given)
        return
    for design in given.designs:
        (given.out / design).mkdir(parents=True, exist_ok=True)
    _keep_banks()
    for design, minutes in zip(given.designs, given.minutes * len(given.designs), strict=False):
        run, out = given.work / design, given.out / design
        if given.mode == "score":
            _scores(given, out, out, given.test)
            continue
        config = _config(given, DESIGNS[design], minutes)
        start = time.monotonic()
        result = train(config, run, given.device, observers=(_tell,))
        assert result is not None
        seconds = time.monotonic() - start
        record = {"design": design, "seconds": seconds, "result": result, "config": config.to_dict()}
        if given.mode == "train":
            _bring(run, out)
        else:
            record["scores"] = _scores(given, run, out, min(given.test, 500))
        with (given.out / f"{given.mode}.jsonl").open("a") as stream:
            stream.write(json.dumps(record) + "\n")


def _config(given: argparse.Namespace, design: TrainConfig, minutes: float) -> TrainConfig:
    length = {"samples": given.samples} if given.mode == "explore" else {"samples": 0, "minutes": minutes}
    config = replace(design, data=replace(design.data, bank=given.bank), **length)
    if given.batch and config.input == "gaussian":
        config = replace(config, batch=given.batch)
    if given.lr and config.input == "gaussian":
        config = replace(config, schedule=replace(config.schedule, lr=given.lr))
    if given.toy:
        tiny = {"modes": 64, "width": 64, "layers": 2, "heads": 2, "hidden": 64, "fine": 16}
        network = replace(config.network, settings=config.network.settings | tiny)
        if config.input == "harmonic":
            network = NetworkConfig("uit-small", {"resolution": 32})
            config = replace(config, batch=4)
        stream = config.data.stream if design is DESIGNS["both"] else data_preset("paper-disjoint")
        assert stream is not None
        source = replace(config.data, block=32, validation=16, stream=stream)
        config = replace(
            config, network=network, data=source, compile="off", precision="32", validate_every=10
        )
    return config


def _scores(given: argparse.Namespace, run: Path, out: Path, count: int) -> list[dict[str, Any]]:
    device = pick_device(given.device)
    trained = Trained.load(run, "best", device)
    rows = []
    sets = ("paper", "paper-disjoint") if given.mode == "score" else ("paper",)
    for currents, name in [(c, name) for name in sets for c in (3, 1, 2)]:
        # Designs are compared on validation samples; the test set is for the networks that are shipped.
        samples = _samples(name, "test" if given.mode == "score" else "validation", count, device)
        for tau in LEVELS:
            found = score(trained.reading(currents), samples, tau)
            rows.append(evaluation.row(found, name, currents, tau))
            shown = " ".join(f"{key} {found.metrics[key].mean:.4f}" for key in SHOWN)
            print(name, f"L={currents} τ={tau:g}", shown, f"cal {found.calibration.mean:.4f}", flush=True)
        evaluation.write(out / "evaluation.json", run.name, rows)
    return rows


def mirrors(given: argparse.Namespace) -> None:
    """What the mean over mirror images changes: the metrics of each body with it less those without."""
    device = pick_device(given.device)
    one = Trained.open(weights.find("flagship"), device)
    rows: dict[str, dict[str, list[float]]] = {}
    samples = _samples("paper-disjoint", "test", given.test, device)
    for start in range(0, given.test, _TOGETHER):
        part = samples[start : start + _TOGETHER]
        for currents, tau in ((c, tau) for c in (3, 1) for tau in LEVELS):
            reader = one.reading(currents)
            noisy = Noise((tau,)).apply(part.difference[:, :currents], SEED, 0, part.index)
            truth, known = part.mask.float(), rows.setdefault(f"{currents}, τ = {tau:g}", {})
            plain, mean = (
                per_sample(each(noisy), truth) for each in (reader, replace(reader, symmetries=True))
            )
            for name in SHOWN[:3]:
                known.setdefault(name, []).extend((mean[name] - plain[name]).tolist())
        write_json(
            given.out / "mirrors.json", {row: paired(values) for row, values in rows.items()}, indent=1
        )
    print((given.out / "mirrors.json").read_text(), flush=True)


def paired(values: dict[str, list[float]]) -> dict[str, Any]:
    """Mean and standard error of each metric's differences."""
    parts = {name: torch.tensor(each, dtype=torch.float64) for name, each in values.items()}
    told = {
        name: {"gain": float(part.mean()), "error": float(part.std() / len(part) ** 0.5)}
        for name, part in parts.items()
    }
    return {"bodies": len(next(iter(parts.values())))} | told


_SIMULATED: dict[str, Samples] = {}


def _samples(name: str, split: Split, count: int, device: torch.device) -> Samples:
    if name not in _SIMULATED:
        recipe = data_preset(name)
        start, _ = recipe.ranges[split]
        _SIMULATED[name] = simulate_range(recipe, start, start + count, device)
    return _SIMULATED[name]


def _bring(run: Path, out: Path) -> None:
    """8-bit weights, what they are fed with, and the log."""
    save_compact(run, "best", out)
    for name in ("config.json", "data.json", "git.json", "result.json", "log.csv"):
        (out / name).write_bytes((run / name).read_bytes())


def _keep_banks() -> None:
    """Simulate each bank once, however many designs are trained on it."""
    banks: dict[tuple[str, int, int], Samples] = {}
    make = Supply.bank

    def bank(supply: Supply, seed: int, device: torch.device) -> Samples:
        key = (supply.name, supply.config.bank, seed)
        if key not in banks:
            start = time.monotonic()
            banks[key] = make(supply, seed, device)
            print(f"simulated {key[1]} samples of {key[0]} in {time.monotonic() - start:.1f} s", flush=True)
        return banks[key]

    Supply.bank = bank  # type: ignore[method-assign,assignment]


def _tell(row: dict[str, float]) -> None:
    keys = ("step", "seconds", "loss", "images_per_second", "cross_entropy", "hard_dice")
    if "hard_dice" in row or int(row["step"]) % 100 == 0:
        print(" ".join(f"{key} {row[key]:.5g}" for key in keys if key in row), flush=True)


if __name__ == "__main__":
    main()
