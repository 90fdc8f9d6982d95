"""How long a training will take on the GPU, alone: from the logs of those that were trained there.

The speed at which the upper tenth of a log begins is taken for that of the network alone: most runs shared the GPU.
A batch of 10 leaves the GPU idle between kernels. UIT was trained with batches of 32 and of 10, and its ratio is
taken for networks that were not.

The published recipe drops entries of the M × M kernels, which so have to be formed: 2 bytes an entry, written and
read about ten times in a step at the speed of the memory, and two products more. For UIT that is a third of its time
with batches of 10. A kernel of our own that makes its mask as it goes would save the memory's share, 2.4 minutes a
cell; the softmax takes PyTorch's, which does so.
"""

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from eitlens.files import read_json
from eitlens.models.registry import NETWORKS
from eitlens.paper.cells import Cell
from eitlens.paper.markdown import number, table
from eitlens.paper.queue import Job, Wish
from eitlens.paper.training import Plan

_BEGIN = 1.4  # minutes to compile, read, validate 50 times and score, as UIT took alone
_BANDWIDTH, _BYTES = 4.3e12, 2  # of an H200 in bytes a second; of an entry in bfloat16
_PRODUCTS = 5e14  # operations a second in products of matrices in bfloat16
_PASSES = 10  # forward 3: product, dropout, product; backward 7: the same again with two more products
_REFERENCE = Cell("uit", 0.0)  # trained with batches of 32 and of 10


def minutes(job: Job, plan: Plan) -> float | None:
    """Minutes of a job on a GPU of its own; None for a network that was never trained there."""
    recipe = job.plan(plan).recipe(job.cell)
    samples = recipe.epochs * plan.data.train
    seconds = _seconds(plan.results, job.cell.preset, recipe.batch)
    if seconds is None:
        return None
    if recipe.network.faithful:
        seconds += _kernel_seconds(job.cell.preset)
    return _BEGIN + samples * seconds / 60


def _seconds(results: Path, preset: str, batch: int) -> float | None:
    """Seconds an image; a batch that the network was not trained with is paid as by UIT."""
    known = _speeds(results, preset)
    if batch in known:
        return 1 / known[batch]
    reference = _speeds(results, _REFERENCE.preset)
    common = next((size for size in known if size in reference), None)
    if common is None or batch not in reference:
        return None
    return reference[common] / reference[batch] / known[common]


@cache
def _speeds(results: Path, preset: str) -> dict[int, float]:
    """The highest speed of a network by batch, over all of its logs."""
    found: dict[int, float] = {}
    for log in results.glob(f"**/{preset}/*/log.csv"):
        if not (log.parent / "config.json").exists():
            continue
        batch = read_json(log.parent / "config.json", lambda values: int(values["batch"]), "copy it again")
        found[batch] = max(found.get(batch, 0.0), _upper_tenth(log))
    return found


def _upper_tenth(log: Path) -> float:
    with log.open(encoding="utf-8", newline="") as stream:
        speeds = sorted(float(row["images_per_second"]) for row in csv.DictReader(stream))
    return speeds[int(0.9 * len(speeds))] if speeds else 0.0


def _kernel_seconds(preset: str) -> float:
    """Seconds an image that a training loses by forming its kernels, 0 where it has none to form."""
    config = NETWORKS[preset].config
    if getattr(config, "evaluation", "") != "reassociated" or not hasattr(config, "sizes"):
        return 0.0
    levels = zip(config.sizes[1:], config.widths[:-1], strict=True)  # M = size², d = width of the finer grid
    entries = {size: config.heads * size**4 for size in config.sizes[1:]}
    operations = sum(3 * 4 * entries[size] * depth for size, depth in levels)  # backward twice the forward
    return float(_PASSES * _BYTES * sum(entries.values()) / _BANDWIDTH + operations / _PRODUCTS)


def plan_table(plan: Plan, wanted: Sequence[Wish]) -> str:
    """The queue as a table: what each job answers, its minutes alone, and those of all that are before it."""
    rows, total = [], 0.0
    for wish in wanted:
        for job in wish.jobs:
            if job.done(plan):
                continue
            needed = minutes(job, plan)
            total += needed or 0.0
            rows.append([f"`{job}`", wish.why, number(needed, form=".1f"), f"{total:.0f}"])
    return table(["job", "what it answers", "minutes alone", "with all before it"], rows, left=2)
