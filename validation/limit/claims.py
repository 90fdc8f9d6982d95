"""Claims that must hold of the result files, one by one. What has no file yet claims nothing."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from limit import report
from limit.files import read
from limit.measurements import CELLS, PHANTOMS

# Where phantoms happen to agree, what is left of the sampler's error still counts.
_LEAST_ERROR = 0.005
SECONDS = {"cuda": 120, "cpu": 900}
CALIBRATIONS = {
    "one ellipse": ("1",),
    "one ellipse, again": ("1_repeated", "1_from_128", "1_from_256"),
    "two ellipses": ("2",),
    "four ellipses": ("4",),
}
"""The files of each, whose draws are counted together."""
_DRAWS = 100


class Claim(NamedTuple):
    """A sentence, and whether it holds."""

    holds: bool
    text: str


def every() -> Iterator[Claim]:
    """Check all claims."""
    yield from disk()
    for name, parts in CALIBRATIONS.items():
        yield from calibration(name, parts)
    yield from cost()
    if list(report.cells()):
        yield from limit()
        yield from nobody_better()


def disk() -> Iterator[Claim]:
    """Check one disk against quadrature."""
    found = read("disk.json") or {}
    for name in ("cdf_x", "cdf_y", "width_x", "width_y"):
        if name in found:
            yield Claim(found[name] < 0.02, f"one disk: {name} is {found[name]:.4f} off quadrature (bar 2 %)")


def calibration(name: str, parts: tuple[str, ...]) -> Iterator[Claim]:
    """Uniform ranks, function by function, of all draws; the smallest p is named with how small chance makes it."""
    files = [found for part in parts if (found := read(f"calibration_{part}.json")) is not None]
    if not files:
        return
    name, found, bar = f"calibration, {name}", _together(files), 0.01
    chosen = report.converged(found)
    yield Claim(found["draws"] >= _DRAWS, f"{name}: {found['draws']} draws, {chosen.sum()} of them converged")
    p = {function: report.uniform(ranks) for function, ranks in found["ranks"].items()}
    for function, value in p.items():
        apart = report.uniform(list(np.asarray(found["ranks"][function])[chosen])) if chosen.sum() else np.nan
        text = f"{name}: ranks of {function} uniform, p = {value:.3f}, of the converged {apart:.3f}"
        yield Claim(value > bar, text)
    least = min(p, key=lambda function: p[function])
    chance = 1 - (1 - bar) ** len(p)
    text = f"the smallest p of {len(p)} functions is {p[least]:.3f} ({least}); below {bar} by chance: {chance:.0%}"
    yield Claim(p[least] > bar, f"{name}: {text}")


def _together(files: list[dict[str, Any]]) -> dict[str, Any]:
    """The draws of several calibrations as if of one."""
    return {
        "draws": sum(each["draws"] for each in files),
        "ranks": {name: _joined(each["ranks"][name] for each in files) for name in files[0]["ranks"]},
    } | {name: _joined(each[name] for each in files) for name in ("rhat", "arrived")}


def _joined(lists: Iterable[list[Any]]) -> list[Any]:
    return [value for values in lists for value in values]


def cost() -> Iterator[Claim]:
    """Single measurements in time: that it holds means for most of them, and the text says for how many."""
    for device, most in SECONDS.items():
        found = read(f"cost_{device}.json")
        if found is None:
            continue
        rows = found["measurements"]
        agreed = [bool(report.converged(row).all()) for row in rows]
        seconds = [row["seconds"] for row, good in zip(rows, agreed, strict=True) if good]
        count = sum(value < most for value in seconds)
        times = f"; seconds of those that converged: {_range(seconds)}" if seconds else ""
        text = (
            f"cost on {found['device']}: R-hat < 1.05 within {most} s for {count} of {len(rows)} measurements"
        )
        yield Claim(2 * count > len(rows), text + times)


def limit() -> Iterator[Claim]:
    """The table is whole, and the posterior does what it expects of itself."""
    found = dict(report.cells())
    missing = [cell.name for cell in CELLS if cell not in found]
    yield Claim(not missing, f"all {len(CELLS)} cells are there{_but(missing)}")
    for cell, values in found.items():
        count, agreed = values["phantoms"], report.converged(values).sum()
        yield Claim(count >= PHANTOMS, f"{cell.name}: {count} phantoms, {agreed} of them converged")
        if agreed >= report.FEWEST:
            value, error = report.surprise(values)
            holds = abs(value) < 3 * max(error, _LEAST_ERROR)
            text = "reached above what the posteriors expect of themselves"
            yield Claim(holds, f"{cell.name}: Dice {value:+.4f} ± {error:.4f} {text}")


def nobody_better() -> Iterator[Claim]:
    """No method beats the limit on any metric by more than two standard errors."""
    for cell, values in report.cells():
        alone = len(report.methods(cell, values)) == 1
        yield Claim(not alone, f"{cell.name}: compared with other methods (part `compare`)")
    for rival in report.rivals():
        value, error = rival.gain
        text = f"{rival.method} does not beat the limit in {rival.metric}: {value:+.4f} ± {error:.4f}"
        yield Claim(value <= 2 * error, f"{rival.cell.name}: {text}")


def _range(values: list[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}, median {np.median(values):.0f}"


def _but(missing: list[str]) -> str:
    return f", but {', '.join(missing)}" if missing else ""
