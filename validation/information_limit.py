"""The information limit: how good an image of the paper's phantoms can be at all, from the posterior itself.

Without arguments: the table of `docs/posterior.md` and its plot from the files in `results/information_limit`,
and every claim about them. The files come from the parts, which want a GPU:

    python validation/information_limit.py table --device cuda        # 48 phantoms, six cells
    python validation/information_limit.py calibration --device cuda  # 128 draws of the prior
    python validation/information_limit.py cost --device cuda         # single measurements until R-hat < 1.05
    python validation/information_limit.py disk                       # against quadrature, on a CPU
    python validation/information_limit.py compare                    # shipped networks and DSM, on a CPU

A part that has its file already is left alone, so that a run cut short goes on where it was.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from limit import report, runs
from limit.disk import against_quadrature
from limit.measurements import CELLS, PHANTOMS, measured
from limit.scores import of_direct_sampling, of_logits
from study import OUT, expect

from eitlens import imaging
from eitlens.classical.posterior import Settings
from eitlens.classical.posterior.guided import Guide
from eitlens.models import guide as guides
from eitlens.phantom import EllipseSampler

PAGE = Path(__file__).parents[1] / "docs" / "posterior.md"


def table(options: argparse.Namespace) -> None:
    """The cells that have no file yet."""
    for cell in CELLS:
        if not (runs.RESULTS / f"{cell.name}.json").exists():
            settings, device = _settings(runs.TABLE, options), torch.device(options.device)
            runs.fill(cell, options.limit or PHANTOMS, device, settings, options.seconds, _guide(options))


def calibration(options: argparse.Namespace) -> None:
    """Ranks of 128 draws."""
    if not (runs.RESULTS / f"calibration_{options.ellipses}.json").exists():
        settings, device = _settings(runs.CALIBRATION, options), torch.device(options.device)
        prior = EllipseSampler(seed=20260101, count=options.ellipses, disjoint=True)
        draws = runs.Draws(options.limit or 128, prior, options.cells, options.tau)
        runs.calibrate(draws, device, settings, options.seconds, _guide(options))


def cost(options: argparse.Namespace) -> None:
    """Single measurements."""
    settings = _settings(runs.COST, options)
    device = torch.device(options.device)
    runs.cost(options.limit or 1, device, settings, options.seconds or 120.0, _guide(options))


def one_disk(options: argparse.Namespace) -> None:
    """The posterior of one disk's centre against quadrature; minutes on a CPU."""
    settings = Settings(islands=32, levels=5, warmup=40, least=400, most=400)
    runs.write("disk.json", against_quadrature(4, _settings(settings, options)))


def compare(options: argparse.Namespace) -> None:
    """Direct sampling and networks on the measurements of each cell that has been computed."""
    readers = {Path(name).name: imaging.load(name).reader for name in options.network or imaging.shipped()}
    for cell, limit in report.cells():
        samples = measured(cell, 0, limit["phantoms"], torch.device("cpu"))
        found = report.read(f"{cell.name}_compared.json") or {}
        found["direct sampling"] = of_direct_sampling(cell, samples)
        for name, reader in readers.items():
            if reader.fewest <= cell.currents:
                found[name] = of_logits(reader.logits(samples.noisy).double(), samples.truth)
        runs.write(f"{cell.name}_compared.json", found)


def claims() -> None:
    """The table and the plot, and what must hold."""
    print("The information limit")
    disk = report.read("disk.json") or {}
    for name in disk.keys() & {"cdf_x", "cdf_y", "width_x", "width_y"}:
        expect(disk[name] < 0.02, f"one disk: {name} is {disk[name]:.4f} off quadrature (bar 2 %)")
    if not list(report.cells()):
        print("  no result files yet: run the part `table` on a GPU first")
        return
    report.write(PAGE, OUT / "information_limit.png")
    for cell, limit in report.cells():
        expected, reached = (
            report.mean(limit["scores"]["expected_dice"]),
            report.mean(limit["scores"]["hard_dice"]),
        )
        error = max(reached.error, 0.005)
        expect(
            abs(expected.value - reached.value) < 3 * error,
            f"{cell.name}: the posterior expects Dice {expected.value:.3f} of itself and reaches {reached.value:.3f}",
        )
    for rival in report.rivals():
        expect(
            rival.gain.value <= 2 * rival.gain.error,
            f"{rival.cell.name}: {rival.method} does not beat the limit in {rival.metric}: "
            f"{rival.gain.value:+.4f} ± {rival.gain.error:.4f}",
        )
    for ellipses in (1, 2, 4):
        found = report.read(f"calibration_{ellipses}.json")
        for name, ranks in (found or {"ranks": {}})["ranks"].items():
            p = report.uniform(ranks)
            expect(p > 0.01, f"{ellipses} ellipses: ranks of {name} uniform, p = {p:.3f}")


def _guide(options: argparse.Namespace) -> Guide | None:
    return None if options.guide is None else guides.load(options.guide, options.device)


def _settings(standard: Settings, options: argparse.Namespace) -> Settings:
    names = ("islands", "levels", "warmup", "least", "most")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return replace(standard, **given)


def main() -> None:
    """Run a part, or check the claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"table": table, "calibration": calibration, "cost": cost, "compare": compare, "disk": one_disk}
    parser.add_argument("part", nargs="?", choices=parts)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, help="phantoms or draws, instead of 48, 128, 1")
    parser.add_argument("--seconds", type=float, help="time for each cell, the calibration or a measurement")
    parser.add_argument("--islands", type=int, help="ladders a measurement")
    parser.add_argument("--levels", type=int, help="levels of a ladder")
    parser.add_argument("--warmup", type=int, help="sweeps of the warm-up")
    parser.add_argument("--least", type=int, help="sweeps after it, at least")
    parser.add_argument("--most", type=int, help="sweeps after it, at most")
    parser.add_argument("--ellipses", type=int, default=4, help="of the calibration")
    parser.add_argument("--cells", type=int, default=200, help="of the calibration's grid")
    parser.add_argument(
        "--network", action="append", help="a shipped network or a folder, instead of all shipped"
    )
    parser.add_argument("--guide", type=Path, help="folder of a guide (benchmarks/guide.py), to begin from")
    parser.add_argument("--tau", type=float, default=0.05, help="of the calibration")
    options = parser.parse_args()
    if options.part is None:
        claims()
    else:
        parts[options.part](options)


if __name__ == "__main__":
    main()
