"""`eitlens evaluate` and `eitlens sweep`: how good a trained network is, at home and abroad."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from eitlens.dataset import DataConfig
    from eitlens.evaluate.score import Score
    from eitlens.models.trained import Trained
    from eitlens.train.sources import Supply

Run = Annotated[
    Path, typer.Argument(help="Folder of a run of `eitlens train`, or the name of a network of the package.")
]
Out = Annotated[Path | None, typer.Option(help="A .json file for the scores; in the run by default.")]


def evaluate(
    run: Run,
    more: Annotated[
        list[float] | None, typer.Argument(help="Further noise levels.", metavar="[TAU]...")
    ] = None,
    tau: Annotated[list[float] | None, typer.Option(help="Noise levels, as --tau 0 0.05 0.2.")] = None,
    data: Annotated[Path | None, typer.Option(help="A data set; that of the run by default.")] = None,
    weights: Annotated[str, typer.Option(help="best or last.")] = "best",
    currents: Annotated[int, typer.Option(min=0, help="Give it the first so many currents; 0 for all.")] = 0,
    limit: Annotated[int, typer.Option(min=0, help="Only the first so many test samples.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    out: Out = None,
) -> None:
    """Measure a trained network on the test split: a table, and evaluation.json, which keeps other noise levels.

    Example: eitlens evaluate runs/smoke --tau 0 0.05 0.2
    """
    from functools import partial

    from rich.console import Console

    from eitlens.cli.show import progress_bar, say
    from eitlens.device import pick_device
    from eitlens.errors import InputError
    from eitlens.evaluate import evaluation
    from eitlens.evaluate.score import Score, score
    from eitlens.figures.evaluation import reliability_curve
    from eitlens.models.trained import Trained

    place, console, folder = pick_device(device), Console(), _folder(run)
    trained = Trained.load(folder, weights, place)
    trained = trained.reading(currents) if currents else trained
    target = _target(folder, "evaluation.json", out)
    if out is None and (limit or data is not None or currents or weights != "best"):
        _check_new(target)
    supply = _supply(folder, data)
    _check_family(supply, trained)
    samples = supply.split("test", place, limit)
    count, subject = trained.currents.count, {"weights": trained.digest, "data": supply.digest}
    before = evaluation.earlier(target, weights, supply.name, count, len(samples), subject)
    if before.other and (out is not None or not before.outdated):
        raise InputError(f"{target}: holds scores of {before.other}: give these another file with --out")
    levels = list(dict.fromkeys([*(tau or []), *(more or [])])) or [0.0]
    scores = {}
    with progress_bar(console) as bar:
        for level in levels:
            task = bar.add_task(f"τ = {level:g}", total=len(samples))
            scores[level] = score(trained, samples, level, progress=partial(_advance, bar, task))
    _print(console, str(run), scores)
    if before.other:
        say(console, f"{target}: held scores of {before.other}, which these replace")
    new = [evaluation.row(found, supply.name, count, level, subject) for level, found in scores.items()]
    rows = evaluation.joined(before.rows, new)
    evaluation.write(target, folder.resolve().name, rows, weights)
    reliability_curve({row["tau"]: Score.from_dict(row) for row in rows}, target.with_suffix(".png"))
    say(console, "scores: ", target)


def sweep(
    run: Run,
    kind: Annotated[list[str] | None, typer.Option(help="Which sweeps; all by default.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples a point.")] = 200,
    tau: Annotated[float, typer.Option(min=0.0, help="Noise level where noise is not the subject.")] = 0.0,
    weights: Annotated[str, typer.Option(help="best or last.")] = "best",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    out: Out = None,
) -> None:
    """Measure a trained network on other grids, phantoms, contrasts, shapes and noises; sweep.json and .png.

    Those of other kinds that are in sweep.json stay.

    Example: eitlens sweep runs/smoke --kind noise --kind contrast --samples 16
    """
    from itertools import count

    from rich.console import Console

    from eitlens.checks import choose
    from eitlens.cli.show import progress_bar, say
    from eitlens.device import pick_device
    from eitlens.evaluate.sweep import SWEEPS, earlier, joined
    from eitlens.evaluate.sweep import sweep as measure
    from eitlens.figures.evaluation import sweep_figure
    from eitlens.files import write_json
    from eitlens.models.trained import Trained

    console, kinds = Console(), kind or list(SWEEPS)
    for name in kinds:
        choose("sweep", name, tuple(SWEEPS))
    folder = _folder(run)
    trained = Trained.load(folder, weights, pick_device(device))
    target, home = _target(folder, "sweep.json", out), _home(folder)
    before = earlier(target, kinds, samples, tau, trained.digest, named=out is not None)
    done, total = count(), sum(len(SWEEPS[name](home)) for name in kinds)
    with progress_bar(console) as bar:
        task = bar.add_task("", total=samples * total)

        def begun(name: str, value: float | str) -> None:
            bar.update(task, description=f"{name} {value}", completed=samples * next(done))

        points = measure(trained, home, kinds, samples, tau, begun)
        bar.update(task, completed=samples * total)
    for point in points:
        found = point.score.metrics
        say(
            console,
            f"{point.kind} {point.value}: Dice {found['soft_dice'].mean:.3f}, "
            f"relative L2 {found['relative_l2'].mean:.3f}, cross entropy {found['cross_entropy'].mean:.4f}",
        )
    picture, points = target.with_suffix(".png"), joined(before, points)
    write_json(target, [point.to_dict() for point in points])
    sweep_figure(points, picture, f"{folder.resolve().name}, L = {trained.currents.count}")
    say(console, "picture: ", picture)


def _folder(run: Path) -> Path:
    """A folder that is here, or that of a network of the package."""
    from eitlens import weights

    return run if weights.is_folder(str(run)) else weights.find(run)


def _target(folder: Path, name: str, out: Path | None) -> Path:
    """Where scores go, looked at before they are computed; their picture goes beside them."""
    from eitlens import weights
    from eitlens.errors import InputError
    from eitlens.files import check_writable, make_folder

    if out is None and weights.owns(folder):
        raise InputError(
            f"{folder}: a network of the package keeps the scores it came with: say where these go, as --out {name}"
        )
    target = folder / name if out is None else out
    if target.suffix != ".json":
        raise InputError(f"{target}: scores are written as JSON: give a name that ends in .json")
    for file in (target, target.with_suffix(".png")):
        check_writable(file)
    make_folder(target.parent)
    return target


def _check_new(target: Path) -> None:
    """Scores of a part of the test split, or of something else, must not stand for those of the run."""
    from eitlens.errors import InputError

    if target.exists():
        raise InputError(
            f"{target}: holds the scores of the run, which --limit, --data, --currents or --weights would replace "
            "by others: say where these go, as --out mine.json"
        )


def _advance(bar: "Progress", task: "TaskID", done: int) -> None:
    bar.update(task, completed=done)


def _supply(run: Path, data: Path | None) -> "Supply":
    """Where test samples come from: the data set given, the run's, or its recipe if that is not here."""
    from dataclasses import replace

    from eitlens.train import SourceConfig, TrainConfig
    from eitlens.train.folder import RunFolder
    from eitlens.train.sources import Supply

    if data is not None:
        return Supply.open(SourceConfig(folder=str(data)))
    source, recipe = TrainConfig.read(run / "config.json").data, RunFolder(run).recipe()
    if source.folder and recipe is not None and not Path(source.folder).exists():
        source = replace(source, folder="", stream=recipe)
    return Supply.open(source)


def _check_family(supply: "Supply", trained: "Trained") -> None:
    from eitlens.errors import InputError

    given, known = supply.currents.family, trained.features.currents.family
    if given != known:
        raise InputError(f"data of {given} currents, the network was trained with {known}: use other data")


def _home(run: Path) -> "DataConfig":
    """The recipe of what the network was trained on."""
    from eitlens.errors import InputError

    recipe = _supply(run, None).recipe
    if recipe is None:
        raise InputError(f"{run}: trained on an imported data set, which has no recipe to sweep from")
    return recipe


def _print(console: "Console", title: str, scores: "dict[float, Score]") -> None:
    from rich.table import Table

    from eitlens.paper.heads import HEADS

    count = next(iter(scores.values())).samples
    caption = "mean, median; below: 95 % bootstrap interval of the mean"
    table = Table(title=f"{title}, {count} test samples", caption=caption)
    table.add_column("metric")
    for tau in scores:
        table.add_column(f"τ = {tau:g}", justify="right")
    for name, head in HEADS.items():
        cells = (found.rows()[name] for found in scores.values())
        table.add_row(head, *(f"{s.mean:.4f}, {s.median:.4f}\n{s.low:.3f} … {s.high:.3f}" for s in cells))
    console.print(table)
