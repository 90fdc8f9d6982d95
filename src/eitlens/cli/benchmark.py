"""`eitlens benchmark`: the paper's tables from result files, and the trainings and timings behind them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console

from eitlens.cli.models import NODES, measured
from eitlens.cli.queue import queue, refuse_changes
from eitlens.cli.show import say
from eitlens.cli.train_options import budget
from eitlens.cli.train_report import CURVE, draw_curve, observer, progress_bar
from eitlens.errors import InputError
from eitlens.files import check_writable, make_folder, write_json, write_text

if TYPE_CHECKING:
    import torch

    from eitlens.paper.cells import Cell
    from eitlens.paper.training import Outcome, Plan
    from eitlens.train.config import Compile, Precision

benchmark = typer.Typer(
    help="The paper's tables, ours beside the paper's.\n\nExample: eitlens benchmark table1",
    no_args_is_help=True,
)

benchmark.command()(queue)

Root = Annotated[
    Path, typer.Option(help="Folder of the repository: its results are read, its docs/results.md is written.")
]


@benchmark.command()
def table1(
    cells: Annotated[
        list[str] | None,
        typer.Argument(
            help="Cells of the table to train, such as uit/0.05; by default all that are missing."
        ),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train missing cells by the paper's recipe.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so many minutes; the same command continues.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    check: Annotated[
        str | None,
        typer.Option(help="Score a cell again from its weights, such as flagship/3/0.05."),
    ] = None,
    variant: Annotated[str, typer.Option(help="A changed recipe: see docs/findings.md.")] = "plain",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Train with another seed; the result goes to results/seeds.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Samples in each step.")] = 32,
    precision: Annotated[str, typer.Option(help="32, tf32 or bf16.")] = "bf16",
    compile: Annotated[  # noqa: A002
        str, typer.Option(help="off, default, reduce-overhead or max-autotune.")
    ] = "reduce-overhead",
    runs: Annotated[Path, typer.Option(help="Folder of the data set and the runs.")] = Path("runs/table1"),
    keep: Annotated[Path | None, typer.Option(help="Folder for 8-bit weights of finished cells.")] = None,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="Train with changes that no commit names.")
    ] = False,
    root: Root = Path("."),
) -> None:
    """Write Table 1 and all that belongs to it to docs/results.md; with --train, train its missing cells first.

    Two processes of the same command share the work: one alone does not fill a large GPU.

    Example: eitlens benchmark table1 --train --minutes 9 --device cuda
    """
    if check is not None:
        raise typer.Exit(_check(check, root / "results", [*([keep] if keep else []), runs], device))
    if train:
        from eitlens.device import pick_device
        from eitlens.paper.cells import SEED
        from eitlens.paper.training import Plan

        pick_device(device)  # one that is not there would fail cell by cell
        words = cast("Precision", precision), cast("Compile", compile)
        chosen = SEED if seed is None else seed
        plan = Plan(root / "results", runs, variant, chosen, device, batch, *words, keep=keep)
        _train(plan, cells or [], minutes, unclean)
    elif cells:
        from eitlens.errors import InputError

        raise InputError(f"cells {', '.join(cells)} are given without --train: add it to train them")
    _write(root)


@benchmark.command()
def table2(
    names: Annotated[list[str] | None, typer.Argument(help="Networks to measure; all by default.")] = None,
    machine: Annotated[str | None, typer.Option(help="Name of this machine in the table.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Images in each forward pass.")] = 1,
    device: Annotated[str, typer.Option(help="Where to time: auto, cpu, cuda or cuda:k.")] = "cpu",
    timed: Annotated[
        bool,
        typer.Option("--time/--no-time", help="Measure the speed, or only count and keep earlier speeds."),
    ] = True,
    root: Root = Path("."),
) -> None:
    """Count and time every network on this machine, keep the numbers in results/table2, write docs/results.md.

    Example: eitlens benchmark table2 --machine "my laptop"
    """
    from eitlens.device import pick_device
    from eitlens.paper.table2 import to_json, with_speeds

    place = pick_device(device)
    title = machine or _machine(place)
    target = root / "results" / "table2" / f"{''.join(c if c.isalnum() else '-' for c in title.lower())}.json"
    check_writable(target)
    costs = measured(names, NODES, batch, str(place), timed)
    costs = costs if timed else with_speeds(costs, target)
    make_folder(target.parent)
    write_json(target, to_json(title, batch, costs))
    _write(root)


def _check(text: str, results: Path, places: list[Path], device: str) -> int:
    """Print the recorded scores beside those made again; 1 where they differ."""
    from eitlens.device import pick_device
    from eitlens.paper.check import ALIKE, check, subject
    from eitlens.paper.markdown import HEADS

    console, one = Console(), subject(text, results, places)
    say(console, f"{text}: {one.data.test:,} test samples are simulated and scored again")
    found = check(one, pick_device(device))
    for row in found:
        verdict = "" if row.holds else f", more than {ALIKE:g} apart"
        say(console, f"{HEADS[row.metric]}: recorded {row.recorded:.4f}, again {row.found:.4f}{verdict}")
    return 0 if all(row.holds for row in found) else 1


def _train(plan: "Plan", given: list[str], minutes: float | None, unclean: bool) -> None:
    from eitlens.paper.cells import Cell, wanted
    from eitlens.paper.training import RESERVE, fill, missing

    cells = [Cell.parse(text) for text in given] or wanted()
    plan.recipe(cells[0])  # checks the options before anything is simulated
    console, limit, left = Console(), budget("--minutes", minutes), missing(plan, cells)
    if left and not unclean:
        refuse_changes()
    say(console, f"{len(left)} of {len(cells)} cells are missing")
    if left and limit <= RESERVE:
        say(
            console,
            f"--minutes {limit:g} is too short to begin one: the last {RESERVE:g} are kept for scoring",
        )
    elif left and not (plan.data_folder / "manifest.json").exists():
        say(console, f"first {plan.data.count:,} samples are simulated: ", plan.data_folder)
    with progress_bar(console) as bar:

        def tell(cell: "Cell", outcome: "Outcome", why: str) -> None:
            say(console, f"{cell}: {outcome} {why}")
            if outcome == "finished":
                draw_curve(cell.folder(plan.table))

        found = fill(plan, cells, limit, lambda cell: (observer(bar, plan.recipe(cell)),), tell)
    if "failed" in found.values():
        raise typer.Exit(1)


def _write(root: Path) -> None:
    from eitlens.paper.cards import cards, refresh_card
    from eitlens.paper.classical import refresh_classical
    from eitlens.paper.page import Places, compose
    from eitlens.paper.quotes import refresh

    places = Places(root)
    if not places.results.is_dir():
        raise InputError(f"{places.results}: no such folder: give the repository with --root")
    # A training that was killed after its last step has not drawn its own.
    for file in places.results.glob("**/log.csv"):
        if not (file.parent / CURVE).exists():
            draw_curve(file.parent)
    make_folder(places.page.parent)
    write_text(places.page, compose(places))
    for page in places.quoting:
        write_text(page, refresh(page, places))
    if places.classical.exists():
        write_text(places.classical, refresh_classical(places.classical.read_text(encoding="utf-8"), root))
    for card in cards(places.sources):
        write_text(card, refresh_card(card))
    say(Console(), "tables: ", places.page)


def _machine(device: "torch.device") -> str:
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} CPU cores"
