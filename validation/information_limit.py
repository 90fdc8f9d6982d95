"""The information limit: how good an image of the paper's phantoms can be at all, from the posterior itself.

Without arguments: the tables of `docs/posterior_notebook.md` and their plot from the files in
`results/information_limit`, and every claim about them. The files come from the parts, which want a GPU:

    python validation/information_limit.py table --device cuda        # 48 phantoms, six cells
    python validation/information_limit.py calibration --device cuda  # 128 draws of the prior
    python validation/information_limit.py cost --device cuda         # single measurements until R-hat < 1.05
    python validation/information_limit.py disk                       # against quadrature, on a CPU
    python validation/information_limit.py compare                    # shipped networks and DSM, on a CPU
    python validation/information_limit.py rescore                    # what the kept means decide, again, on a CPU
    python validation/information_limit.py gallery                    # pictures of three phantoms, on a CPU

A cell of the table or a calibration that has its file already is left alone, so that a run cut short goes on where it
was.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from limit import costs, files, kept, pictures, report, runs
from limit.claims import SECONDS, every
from limit.disk import against_quadrature
from limit.measurements import CELLS, PHANTOMS, Cell, measured, same
from limit.scores import of_direct_sampling, of_logits, of_mean

from eitlens import imaging, weights
from eitlens.phantom import EllipseSampler
from eitlens.posterior import Settings
from eitlens.posterior.guide import network as guides
from eitlens.posterior.guide.proposals import ProposalDensity
from eitlens.posterior.sampler.settings import GUIDED, GUIDED_ON_A_GPU

PAGE = Path(__file__).parents[1] / "docs" / "posterior_notebook.md"
SETTINGS = ("ensembles", "levels", "warmup", "least", "most", "manifold_steps", "tries", "top", "ladders")


def table(options: argparse.Namespace) -> None:
    """The cells that have no file yet."""
    for cell in CELLS:
        if options.only in (None, cell.name) and not files.exists(f"{cell.name}.json"):
            settings, device = _settings(runs.TABLE, options), torch.device(options.device)
            runs.fill(cell, options.limit or PHANTOMS, device, settings, options.seconds, _guide(options))


def calibration(options: argparse.Namespace) -> None:
    """Ranks of 128 draws."""
    prior = EllipseSampler(seed=20260101, count=options.ellipses, disjoint=True)
    draws = runs.Draws(options.first, options.limit or 128, prior, options.cells, options.tau)
    if not files.exists(draws.file):
        # The shipped guide knows four ellipses and the finest boundary.
        guide = _guide(options) if (options.ellipses, options.cells) == (4, 200) else None
        standard = runs.ALONE if guide is None else runs.CALIBRATION
        settings, device = _settings(standard, options), torch.device(options.device)
        runs.calibrate(draws, device, settings, options.seconds, guide)


def cost(options: argparse.Namespace) -> None:
    """Single measurements."""
    device = torch.device(options.device)
    settings = _settings(GUIDED_ON_A_GPU if device.type == "cuda" else GUIDED, options)
    seconds = options.seconds or SECONDS[device.type]
    runs.cost(options.limit or 1, device, settings, seconds, _guide(options), options.workers)


def one_disk(options: argparse.Namespace) -> None:
    """The posterior of one disk's centre against quadrature; minutes on a CPU."""
    settings = Settings(ensembles=32, levels=5, warmup=40, least=400, most=400)
    files.write("disk.json", against_quadrature(4, _settings(settings, options)))


def compare(options: argparse.Namespace) -> None:
    """Direct sampling and networks on the measurements of each cell that has been computed."""
    readers = {Path(name).name: imaging.load(name).reader for name in options.network or imaging.shipped()}
    for cell, limit in report.cells():
        samples = measured(cell, 0, limit["phantoms"], torch.device("cpu"))
        if not same(samples, limit["data"]):
            raise SystemExit(
                f"{cell.name}.json was made from other measurements: make it again (part `table`)"
            )
        found = files.read(f"{cell.name}_compared.json") or {}
        found["direct sampling"] = of_direct_sampling(cell, samples)
        for name, reader in readers.items():
            if reader.fewest <= cell.currents:
                found[name] = of_logits(reader(samples.noisy).double(), samples.truth)
        files.write(f"{cell.name}_compared.json", found)


def rescore(options: argparse.Namespace) -> None:
    """Scores of the mean images as they were kept: for when the way from samples to probabilities has changed."""
    for cell, limit in report.cells():
        truth = measured(cell, 0, limit["phantoms"], torch.device("cpu")).truth.double()
        found = [of_mean(*each) for each in zip(kept.load(cell).mean, limit["ess"], truth, strict=True)]
        limit["scores"] |= {name: [one[name] for one in found] for name in found[0]}
        files.write(f"{cell.name}.json", limit | {"rescored": "from the kept means"})


def gallery(options: argparse.Namespace) -> None:
    """An easy, a typical and an ambiguous phantom, from the kept samples and images of a cell."""
    given = options.network or [imaging.DEFAULT]
    pictures.gallery(Cell(options.currents, options.tau), given[0], PAGE)


def claims() -> None:
    """The tables and the plot, and what must hold: all claims are printed, then the first that fails is named."""
    print("The information limit")
    costs.write(PAGE)
    if list(report.cells()):
        report.write(PAGE, PAGE.parent / "images" / "information_limit.png")
    else:
        print("  no result files of the table yet: run the part `table` on a GPU first")
    found = list(every())
    for claim in found:
        print(f"  {'ok  ' if claim.holds else 'FAIL'} {claim.text}")
    failed = [claim.text for claim in found if not claim.holds]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(found)} claims fail, the first: {failed[0]}")


def _guide(options: argparse.Namespace) -> ProposalDensity | None:
    folder = options.guide or weights.guide()
    return None if folder is None else guides.load(folder, options.device)


def _settings(standard: Settings, options: argparse.Namespace) -> Settings:
    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    return replace(standard, **given)


PARTS = {
    "table": table,
    "calibration": calibration,
    "cost": cost,
    "disk": one_disk,
    "compare": compare,
    "rescore": rescore,
    "gallery": gallery,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, help="phantoms or draws, instead of 48, 128, 1")
    parser.add_argument("--seconds", type=float, help="time for each cell, the calibration or a measurement")
    for name in SETTINGS:
        parser.add_argument(f"--{name}", type=float if name == "top" else int, help="as in `Settings`")
    parser.add_argument("--workers", type=int, default=1, help="processes on a CPU, for the part `cost`")
    parser.add_argument("--only", choices=[cell.name for cell in CELLS], help="one cell of the table")
    parser.add_argument("--ellipses", type=int, default=4, help="of the calibration")
    parser.add_argument("--cells", type=int, default=200, help="of the calibration's grid")
    parser.add_argument("--first", type=int, default=0, help="of the calibration's draws")
    parser.add_argument(
        "--network",
        action="append",
        help="a shipped network or a folder, instead of all shipped (gallery: instead of flagship)",
    )
    parser.add_argument("--guide", type=Path, help="folder of a guide, instead of the shipped one")
    parser.add_argument("--tau", type=float, default=0.05, help="of the calibration or the gallery")
    parser.add_argument("--currents", type=int, default=1, help="of the gallery")
    return parser


def main() -> None:
    """Run a part, or check the claims."""
    options = _parser().parse_args()
    if options.part is None:
        claims()
    else:
        PARTS[options.part](options)


if __name__ == "__main__":
    main()
