"""Many worlds: the scores of a network, what its input is worth, and how fast bodies are simulated.

    eitlens train --preset worlds --minutes 18 --out runs/worlds --no-test
    PYTHONPATH=src python3 benchmarks/worlds.py score runs/worlds --out results/worlds.json
    PYTHONPATH=src python3 benchmarks/worlds.py rates --count 2048 --device cuda
    PYTHONPATH=src python3 benchmarks/worlds.py prior --count 4096 --cells 32
    PYTHONPATH=src python3 benchmarks/worlds.py contrast --count 48

`score` writes every row of `worlds_rows.py`, also of a network that gives no classes, such as `flagship`, and goes on
with a file that is there. `rates` says how long bodies of each world take. `prior` compares the code of data of unit
size with the plain one, `contrast` says how much of the contrast the data of the paper's bodies carry, linearised.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from worlds_rows import Row, Scorer, rows

from eitlens import weights
from eitlens.dataset import DataConfig, preset
from eitlens.dataset.simulate import Simulator
from eitlens.device import pick_device
from eitlens.domain import Square
from eitlens.evaluate.score import SEED
from eitlens.feature import Codes, InputRecipe
from eitlens.feature.scaled import ScaledCodes
from eitlens.feed import simulate_range
from eitlens.files import write_json
from eitlens.forward import BoundaryIntegralSolver, add_noise, add_white_noise
from eitlens.forward.currents import CurrentsConfig
from eitlens.models.trained import Trained
from eitlens.phantom import Ellipse, EllipseSampler
from eitlens.phantom.batch import PhantomBatch, of_rows
from eitlens.phantom.worlds import WORLDS

_STEP = 1e-4  # of difference quotients: nine digits are right, so four are left
_LEVELS = (0.01, 0.05, 0.2)
_QUIET, _SOLVER = 0.1, 1e-4
"""Nodes where f - f0 nearly vanishes have the noise of a tenth of its size; no solver is better than 10⁻⁴ of it."""
_SPREAD = (0.5, 0.5, 0.5, 0.5, 1.0, 2.0)
"""Prior deviations of centre, log semi-axes, angle and log contrast: much wider than what the data leave."""


def main() -> None:
    """Do one of the commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("score", "rates", "prior", "contrast"))
    parser.add_argument("run", nargs="?", default="flagship", help="score: folder of a run or a shipped name")
    parser.add_argument("--count", type=int, default=2000, help="bodies of each row")
    parser.add_argument("--cells", type=int, default=200, help="rates, prior: cells a side")
    parser.add_argument("--only", nargs="*", help="score: groups of rows")
    parser.add_argument("--symmetries", action="store_true", help="score: means over mirror images")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    result = {"score": scores, "rates": rates, "prior": prior, "contrast": contrast}[given.mode](given)
    if given.out is not None and given.mode != "score":
        write_json(given.out, result, indent=1)


def scores(given: argparse.Namespace) -> dict[str, Any]:
    """Score a network on every row; a row is written when it is done."""
    folder = Path(given.run) if Path(given.run).is_dir() else weights.find(given.run)
    trained = replace(Trained.open(folder, pick_device(given.device)), symmetries=given.symmetries)
    head = {"network": folder.resolve().name, "weights": trained.digest, "symmetries": given.symmetries}
    found: list[dict[str, Any]] = []
    if given.out is not None and given.out.exists():
        before = json.loads(given.out.read_text())
        found = before["rows"] if {name: before.get(name) for name in head} == head else []
    there, scorer = {row["name"] for row in found}, Scorer(trained, given.count)
    for row in rows():
        if row.name not in there and (not given.only or row.group in given.only):
            found.append(_scored(scorer, row))
            if given.out is not None:
                write_json(given.out, head | {"rows": found}, indent=1)
    reached = [bar["reached"] for row in found for bar in row["bars"].values()]
    print(f"{sum(reached)} of {len(reached)} bars are reached", flush=True)
    return head | {"rows": found}


def _scored(scorer: Scorer, row: Row) -> dict[str, Any]:
    start = time.monotonic()
    found: dict[str, Any] = scorer(row)
    shown = " ".join(f"{name} {value['mean']:.4f}" for name, value in found["metrics"].items())
    bars = " ".join(
        f"[{name}: {'reached' if bar['reached'] else 'missed'}]" for name, bar in found["bars"].items()
    )
    print(f"{row.name} ({time.monotonic() - start:.1f} s): {shown} {bars}", flush=True)
    return found


def rates(given: argparse.Namespace) -> dict[str, Any]:
    """How many bodies of each world are simulated in a second, with their σ; on a CPU in a second of one core."""
    device, found = pick_device(given.device), dict[str, Any]()
    for world in (*WORLDS, "all"):
        recipe = _of_world(world, given.cells)
        simulator = Simulator.build(recipe, device)
        simulator(torch.arange(min(given.count, 2)))
        clock = time.monotonic if device.type == "cuda" else time.process_time
        start = clock()
        for index in torch.split(torch.arange(given.count), 2048 if device.type == "cuda" else 16):
            simulator(index)
        _wait(device)
        found[world] = given.count / (clock() - start)
        print(f"{world}: {found[world]:.1f} bodies a second", flush=True)
    return {"device": str(device), "cells": given.cells, "bodies": given.count, "rates": found}


def _of_world(world: str, cells: int) -> DataConfig:
    recipe = replace(preset("worlds"), n=cells)
    sampler = recipe.sampler if world == "all" else replace(recipe.sampler, worlds=(world,))
    return replace(recipe, sampler=sampler)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def prior(given: argparse.Namespace) -> dict[str, Any]:
    """What the code leaves of noise, with data of unit size and plain, on bodies not used for the fit."""
    device, cells = pick_device(given.device), given.cells
    recipe = _of_world("all", cells)
    # A tenth of the error of a coarse grid.
    recipe = replace(recipe, solver=replace(recipe.solver, tolerance=1e-4))
    samples = simulate_range(recipe, 0, given.count, device)
    held = min(512, given.count // 4)
    fit, test, index = samples.difference[:-held], samples.difference[-held:], samples.index[-held:]
    some = test.abs().amax((1, 2)) > 0
    test, index = test[some], index[some]
    settings = InputRecipe(n=cells, currents=CurrentsConfig(count=3))
    scaled, plain = ScaledCodes.fitted(settings, lambda _: fit), Codes.fitted(settings, lambda _: fit)
    known: dict[str, Any] = {"bodies": given.count, "cells": cells, "held out": len(test), "noises": {}}
    for name, noisy in _noises(test, index):
        errors = (
            _relative(data, test)
            for data in (noisy, _fit(scaled, noisy), plain.prior.data(plain.code(noisy).mean))
        )
        known["noises"][name] = dict(
            zip(("data", "unit size", "plain"), map(_quantiles, errors), strict=True)
        )
        print(name, known["noises"][name], flush=True)
    return known


def _noises(clean: Tensor, index: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The data with each kind of noise."""
    yield "none", clean
    for tau in _LEVELS:
        yield f"τ = {tau:g}", add_noise(clean, tau, SEED, index)
    for decibel in (40.0, 20.0):
        yield f"white, {decibel:g} dB", add_white_noise(clean, decibel, SEED, index)


def _fit(codes: ScaledCodes, data: Tensor) -> Tensor:
    """The data that a code stands for."""
    unit, size = codes.scaled(data)
    code = codes.codes.prior.code(unit)
    return codes.codes.prior.data(code.mean) * (size * codes.size)[:, None, None]


def _relative(found: Tensor, clean: Tensor) -> Tensor:
    return ((found - clean).square().sum((1, 2)) / clean.square().sum((1, 2))).sqrt()


def _quantiles(errors: Tensor) -> dict[str, float]:
    return {"median": float(errors.median()), "90 %": float(errors.quantile(0.9))}


def contrast(given: argparse.Namespace) -> dict[str, Any]:
    """The deviation of log contrast that the paper's noise leaves, in the Gaussian approximation at the truth.

    Free are centre, semi-axes and angle of each ellipse, and one contrast for all or one for each.
    """
    body = Square(given.cells)
    samples = EllipseSampler(preset("paper-disjoint").sampler.seed, disjoint=True)
    start = preset("paper-disjoint").ranges["test"][0]
    batch = samples.batch(start, start + given.count)
    found: dict[str, Any] = {"bodies": given.count, "cells": given.cells, "rows": []}
    slopes = [_slopes(body, rows_) for rows_ in batch.groups[0].parameters]
    for currents in (1, 3):
        for tau in _LEVELS:
            each = [_deviations(part, currents, tau) for part in slopes]
            one, apart = (torch.cat(parts) for parts in zip(*each, strict=True))
            row: dict[str, Any] = {"currents": currents, "tau": tau}
            row |= {"one for all": _quantiles(one), "one for each": _quantiles(apart)}
            print(row, flush=True)
            found["rows"].append(row)
    return found


def _slopes(body: Square, ellipses: Tensor) -> tuple[Tensor, Tensor]:
    """The data of a body, and their slopes in centre, log semi-axes, angle and log contrast of each ellipse."""
    count = len(ellipses)
    moves = _STEP * torch.eye(6 * count, dtype=torch.float64).view(-1, count, 6)
    moves = torch.cat([moves.new_zeros(1, count, 6), moves])
    scaled = ellipses + moves[..., :5]
    scaled[..., 2:4] = ellipses[:, 2:4] * moves[..., 2:4].exp()
    whole = of_rows(Ellipse, scaled, 10.0, 1.0)
    inside = 10.0 * moves[..., 5].exp()
    bodies = PhantomBatch((replace(whole.groups[0], inside=inside),), whole.outside)
    data = BoundaryIntegralSolver(body, 1e-10).difference(bodies, CurrentsConfig(count=3).build(body))
    return data[0], (data[1:] - data[0]) / _STEP


def _deviations(slopes: tuple[Tensor, Tensor], currents: int, tau: float) -> tuple[Tensor, Tensor]:
    """Of log contrast, one for all ellipses and one for each."""
    data, jacobian = slopes[0][:currents], slopes[1][:, :currents]
    size = data.square().mean(-1, keepdim=True)
    noise = (tau**2 * (data.square() + _QUIET**2 * size) + _SOLVER**2 * size).sqrt()
    rows_ = torch.unflatten((jacobian / noise).flatten(1), 0, (-1, 6))
    prior_ = data.new_tensor(_SPREAD)
    shared = torch.cat([rows_[:, :5].flatten(0, 1), rows_[:, 5].sum(0, keepdim=True)])
    spreads = (torch.cat([prior_[:5].repeat(len(rows_)), prior_[5:]]), prior_.repeat(len(rows_)))
    one, each = (
        torch.linalg.inv(part @ part.T + torch.diag(spread**-2)).diagonal().sqrt()
        for part, spread in zip((shared, rows_.flatten(0, 1)), spreads, strict=True)
    )
    return one[-1:], each[5::6]


if __name__ == "__main__":
    main()
