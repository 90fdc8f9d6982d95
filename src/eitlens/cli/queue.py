"""`eitlens benchmark queue`: the trainings that the reproduction still wants, by several processes on one GPU."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.cli.train_options import budget
from eitlens.cli.train_report import draw_curve

if TYPE_CHECKING:
    from eitlens.paper.queue import Job
    from eitlens.paper.training import Outcome, Plan
    from eitlens.train.config import Compile, Precision


def queue(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(help="Jobs, such as published:uit/0@1127804; by default the whole list."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what is missing and how long it will take, and stop.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so many minutes; the same command continues.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Number of trainings at the same time on one device.")
    ] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    precision: Annotated[str, typer.Option(help="32, tf32 or bf16.")] = "bf16",
    compile: Annotated[  # noqa: A002
        str, typer.Option(help="off, default, reduce-overhead or max-autotune.")
    ] = "reduce-overhead",
    runs: Annotated[Path, typer.Option(help="Folder of the data set and the runs.")] = Path("runs/table1"),
    keep: Annotated[Path | None, typer.Option(help="Folder for 8-bit weights of finished jobs.")] = None,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="Train even if the repository has uncommitted changes.")
    ] = False,
    root: Annotated[
        Path, typer.Option(help="Folder of the repository; results go to its folder results.")
    ] = Path("."),
) -> None:
    """Train what Table 1 still lacks, the most important first: the published recipe, what φ is worth, more seeds.

    If it is stopped or killed, the same command continues. The tables are written by `eitlens benchmark table1`.

    Example: eitlens benchmark queue --minutes 9 --processes 4 --device cuda
    """
    from eitlens.device import pick_device
    from eitlens.paper.minutes import plan_table
    from eitlens.paper.queue import wishes
    from eitlens.paper.training import Plan

    words = cast("Precision", precision), cast("Compile", compile)
    chosen = Plan(root / "results", runs, device=device, precision=words[0], compile=words[1], keep=keep)
    wanted = wishes(jobs or ())
    if plan:
        typer.echo(plan_table(chosen, wanted), nl=False)
        return
    limit, every = budget("--minutes", minutes), [job for wish in wanted for job in wish.jobs]
    pick_device(device)
    if not (unclean or all(job.done(chosen) for job in every)):
        refuse_changes()
    if processes > 1:
        raise typer.Exit(_shared(processes))
    _work(chosen, every, limit)


def refuse_changes() -> None:
    """Refuse to make results that name a commit by which nobody can make them again."""
    from eitlens.errors import InputError
    from eitlens.train.folder import git_state

    state = git_state()
    if state["commit"] is None:
        raise InputError(
            "no commit is known for the results to name: set EITLENS_COMMIT to that of this export, or give --unclean"
        )
    if state["changed"]:
        raise InputError(
            f"the package has changes that its commit {state['commit'][:7]} does not: commit them, or give "
            "--unclean, which marks the results"
        )


def _shared(processes: int) -> int:
    """The same command in so many processes; the worst of their exit statuses."""
    words = sys.argv[1:]
    at = next(k for k, word in enumerate(words) if word.startswith("--processes"))
    rest = words[:at] + words[at + (1 if "=" in words[at] else 2) :]
    started = [subprocess.Popen([sys.executable, "-m", "eitlens", *rest]) for _ in range(processes)]
    return max(abs(one.wait()) for one in started)


def _work(plan: "Plan", jobs: "list[Job]", minutes: float) -> None:
    from eitlens.paper.queue import work

    console = Console()
    missing = sum(not job.done(plan) for job in jobs)
    say(console, f"{missing} of {len(jobs)} jobs are missing")

    def tell(job: "Job", outcome: "Outcome", why: str) -> None:
        say(console, f"{job}: {outcome} {why}".rstrip())
        if outcome == "finished":
            draw_curve(job.cell.folder(job.plan(plan).table))

    if "failed" in work(plan, jobs, minutes, tell=tell).values():
        raise typer.Exit(1)
