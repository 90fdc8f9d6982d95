"""`eitlens evaluate`: how good a trained network is on its test split."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say
from eitlens.cli.trained_run import Out, Run, open_supply, run_folder, score_file, score_lock
from eitlens.errors import InputError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from eitlens.evaluate.score import Score


def evaluate(
    run: Run,
    more: Annotated[
        list[float] | None, typer.Argument(help="Further noise levels.", metavar="[TAU]...")
    ] = None,
    tau: Annotated[list[float] | None, typer.Option(help="Noise levels, such as --tau 0 0.05 0.2.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of a data set; by default that of the training.")
    ] = None,
    weights: Annotated[str, typer.Option(help="Which weights: best or last.")] = "best",
    currents: Annotated[
        int, typer.Option(min=0, help="Use only the first so many currents; 0 means all.")
    ] = 0,
    limit: Annotated[
        int, typer.Option(min=0, help="Use only the first so many test samples; 0 means all.")
    ] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    out: Out = None,
) -> None:
    """Score a trained network on its test data. Prints a table and adds the scores to evaluation.json.

    Example: eitlens evaluate runs/smoke --tau 0 0.05 0.2
    """
    from eitlens.device import pick_device
    from eitlens.evaluate import evaluation
    from eitlens.evaluate.score import Score, score
    from eitlens.figures.evaluation import reliability_curve
    from eitlens.models.trained import Trained

    place, console, folder = pick_device(device), Console(), run_folder(run)
    trained = Trained.load(folder, weights, place)
    trained = trained.reading(currents) if currents else trained
    target = score_file(folder, "evaluation.json", out)
    if out is None and (limit or data is not None or currents or weights != "best"):
        _check_new(target)
    supply = open_supply(folder, data)
    given, known = supply.currents.family, trained.features.currents.family
    if given != known:
        raise InputError(f"data of {given} currents, the network was trained with {known}: use other data")
    samples = supply.split("test", place, limit)
    count, subject = trained.currents.count, {"weights": trained.digest, "data": supply.digest}

    def before() -> evaluation.Earlier:
        found = evaluation.earlier(target, weights, supply.name, count, len(samples), subject)
        if found.other and (out is not None or not found.outdated):
            raise InputError(f"{target}: holds scores of {found.other}: give these another file with --out")
        return found

    before()  # what cannot be kept is said before the work
    levels = list(dict.fromkeys([*(tau or []), *(more or [])])) or [0.0]
    scores = {}
    with progress_bar(console) as bar:
        for level in levels:
            task = bar.add_task(f"τ = {level:g}", total=len(samples))

            def advance(done: int, task: "TaskID" = task) -> None:
                bar.update(task, completed=done)

            scores[level] = score(trained, samples, level, progress=advance)
    _print(console, str(run), scores)
    new = [evaluation.row(found, supply.name, count, level, subject) for level, found in scores.items()]
    with score_lock(target):  # another process may have added scores meanwhile
        held = before()
        rows = evaluation.joined(held.rows, new)
        evaluation.write(target, folder.resolve().name, rows, weights)
        reliability_curve({row["tau"]: Score.from_dict(row) for row in rows}, target.with_suffix(".png"))
    if held.other:
        say(console, f"{target}: held scores of {held.other}, which these replaced")
    say(console, "scores: ", target)


def _check_new(target: Path) -> None:
    """Refuse to replace the scores of the run by scores of a part of the test split, or of something else."""
    if target.exists():
        raise InputError(
            f"{target}: holds the scores of the run, which --limit, --data, --currents or --weights would replace "
            "by others: say where these go, as --out mine.json"
        )


def _print(console: Console, title: str, scores: "dict[float, Score]") -> None:
    from rich.table import Table

    from eitlens.evaluate.phases import HEADS as PHASES
    from eitlens.paper.markdown import HEADS

    count = next(iter(scores.values())).samples
    caption = "mean, median; below: 95 % bootstrap interval of the mean"
    table = Table(title=f"{title}, {count} test samples", caption=caption)
    table.add_column("metric")
    for tau in scores:
        table.add_column(f"τ = {tau:g}", justify="right")
    known = next(iter(scores.values())).rows()
    for name, head in (HEADS | {key: text for key, text in PHASES.items() if key in known}).items():
        cells = (found.rows()[name] for found in scores.values())
        table.add_row(head, *(f"{s.mean:.4f}, {s.median:.4f}\n{s.low:.3f} … {s.high:.3f}" for s in cells))
    console.print(table)
