"""The runs that need a GPU: the table, the calibration, the cost of one measurement. Each writes its file."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from eitlens import posterior
from eitlens.domain import Square
from eitlens.evaluate.score import SEED
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.phantom import EllipseSampler
from eitlens.posterior import PosteriorResult, Settings
from eitlens.posterior.guide.proposals import ProposalDensity
from eitlens.posterior.sampler.diagnostics import functions
from eitlens.posterior.sampler.settings import GUIDED
from limit import kept
from limit.files import write
from limit.measurements import Cell, fingerprint, measured, prior, recipe
from limit.scores import best

TABLE = replace(GUIDED, least=150, most=600)
CALIBRATION = replace(GUIDED, ensembles=2, least=300, most=300)
ALONE = Settings(ensembles=2, levels=28, warmup=160, least=400, most=400)
"""Of a calibration for which there is no guide."""
_KEPT_SAMPLES = 32
_RANKED = 9
"""Draws of each posterior that a truth is ranked among: hardly more are independent of each other, and those that are
not crowd the ranks at both ends (Talts et al., section 5). There are ten ranks then, and ten bins in `report.uniform`.
"""


def fill(
    cell: Cell,
    count: int,
    device: torch.device,
    settings: Settings,
    seconds: float | None,
    guide: ProposalDensity | None = None,
) -> None:
    """Fill one cell of the table, all phantoms at once: their scores, and samples and images for pictures."""
    domain = Square(recipe(cell).n)
    samples = measured(cell, 0, count, device)
    given = recipe(cell).currents.build(domain, device)
    result = posterior.sample(
        samples.noisy, domain, given, cell.tau, prior(), settings, _printer(cell.name), seconds, guide
    )
    found = [result.images(k) for k in range(count)]
    scores = [
        best(image, float(ess), truth.double())
        for image, ess, truth in zip(found, result.diagnostics.ess, samples.truth, strict=True)
    ]
    picked = torch.stack([result.picked(k, _KEPT_SAMPLES) for k in range(count)])
    means, sets = torch.stack([image.mean for image in found]), torch.stack([image.dice for image in found])
    kept.save(cell, kept.Kept(picked, means, sets))
    write(
        f"{cell.name}.json",
        {
            "currents": cell.currents,
            "tau": cell.tau,
            "phantoms": count,
            "settings": vars(settings),
            "guided": guide is not None,
            "data": fingerprint(samples),
        }
        | {"scores": {name: [s[name] for s in scores] for name in scores[0]}}
        | _diagnosed(result),
    )


@dataclass(frozen=True)
class Draws:
    """Draws and measurements of the calibration: one current, on a square of so many cells.

    Draws other than the first 128 go to a file of their own, named after the first of them.
    """

    first: int
    count: int
    prior: EllipseSampler
    cells: int
    tau: float

    @property
    def file(self) -> str:
        """Name of the result file."""
        return f"calibration_{self.prior.count}{f'_from_{self.first}' if self.first else ''}.json"


def calibrate(
    draws: Draws,
    device: torch.device,
    settings: Settings,
    seconds: float | None,
    guide: ProposalDensity | None = None,
) -> None:
    """Simulation-based calibration: the rank of the truth among samples of its own posterior is uniform.

    Talts, Betancourt, Simpson, Vehtari, Gelman, arXiv:1804.06788. For each function of the inclusion.
    """
    domain, tau = Square(draws.cells), draws.tau
    number = torch.arange(draws.first, draws.first + draws.count, device=device)
    batch, given = draws.prior.sample(number), currents.cosine(domain, 1).to(device)
    noisy = add_noise(BoundaryIntegralSolver(domain).difference(batch, given), tau, SEED, number)
    result = posterior.sample(
        noisy, domain, given, tau, draws.prior, settings, _printer("calibration"), seconds, guide
    )
    truth = functions(batch.groups[0].parameters, noisy.new_zeros(draws.count))[:, :-1]
    drawn = _apart(result.rows, _RANKED)
    below = functions(drawn, drawn.new_zeros(drawn.shape[:2]))[..., :-1] < truth[:, None]
    rank = (below.sum(1) + 0.5) / (_RANKED + 1)
    write(
        draws.file,
        {"first": draws.first, "draws": draws.count, "ellipses": draws.prior.count, "tau": tau}
        | {"currents": 1, "cells": draws.cells}
        | {"settings": vars(settings), "guided": guide is not None, "ranked_among": _RANKED}
        | {"ranks": {n: rank[:, i].tolist() for i, n in _named(draws.prior.count)}}
        | _diagnosed(result),
    )


def cost(
    count: int,
    device: torch.device,
    settings: Settings,
    seconds: float,
    guide: ProposalDensity | None = None,
    workers: int = 1,
) -> None:
    """Sample one measurement after the other, L = 1, τ = 0.05, until R-hat < 1.05: seconds and R-hat."""
    cell = Cell(1, 0.05)
    domain = Square(recipe(cell).n)
    given = recipe(cell).currents.build(domain, device)
    samples = measured(cell, 0, count, device)
    rows: list[dict[str, Any]] = []
    for k in range(count):
        result = posterior.sample(
            samples.noisy[k],
            domain,
            given,
            cell.tau,
            prior(),
            settings,
            _printer(f"cost {k}"),
            seconds,
            guide,
            workers,
        )
        rows.append({"seconds": result.diagnostics.seconds} | _diagnosed(result))
        write(
            f"cost_{device.type}.json",
            {
                "device": _machine(device, workers),
                "settings": vars(settings),
                "guided": guide is not None,
                "measurements": rows,
            },
        )


def _machine(device: torch.device, workers: int) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{workers} CPU core{'s' if workers > 1 else ''}"


def _apart(rows: Tensor, count: int) -> Tensor:
    """Take so many draws of every measurement, as far apart in time as there are: ensemble after ensemble."""
    place = (torch.arange(count, device=rows.device) + 0.5) / count * rows.shape[1]
    return rows[:, place.long()]


def _named(ellipses: int) -> list[tuple[int, str]]:
    whole = ["area", "x moment", "y moment", "xx moment", "xy moment", "yy moment"]
    each = [f"{what} {k + 1}" for what in ("x", "y", "size") for k in range(ellipses)]
    return list(enumerate(whole + each))


def _diagnosed(result: PosteriorResult) -> dict[str, Any]:
    found = result.diagnostics
    return {
        "seconds": found.seconds,
        "rhat": found.rhat.tolist(),
        "ess": found.ess.tolist(),
        "acceptance": found.acceptance.tolist(),
        "sweeps": found.sweeps,
        "trips": found.trips.tolist(),
        "barrier": found.barrier.tolist(),
        "arrived": found.arrived.tolist(),
        "misfit": torch.einsum("ms,ms->m", result.weight, result.misfit).tolist(),
    }


def _printer(name: str) -> Callable[[float, str], None]:
    began = time.monotonic()

    def show(part: float, text: str) -> None:
        print(f"  {name}: {part:4.0%} {text}, {time.monotonic() - began:.0f} s", flush=True)

    return show
