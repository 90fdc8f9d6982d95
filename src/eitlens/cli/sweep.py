"""`eitlens sweep`: how good a trained network is on data that it was not trained for."""

from dataclasses import asdict
from functools import partial
from itertools import count
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say
from eitlens.cli.trained_run import Out, Run, open_supply, run_folder, score_file, score_lock
from eitlens.errors import InputError
from eitlens.files import write_json


def sweep(
    run: Run,
    kind: Annotated[list[str] | None, typer.Option(help="What is changed; everything by default.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples for each point.")] = 200,
    tau: Annotated[float, typer.Option(min=0.0, help="Noise level while something else is changed.")] = 0.0,
    weights: Annotated[str, typer.Option(help="Which weights: best or last.")] = "best",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    out: Out = None,
) -> None:
    """Score a trained network on other grids, contrasts, shapes and noises. Writes sweep.json and sweep.png.

    Points of other kinds that are in sweep.json stay.

    Example: eitlens sweep runs/smoke --kind noise --kind contrast --samples 16
    """
    from eitlens.checks import choose
    from eitlens.device import pick_device
    from eitlens.evaluate.sweep import SWEEPS, earlier, joined
    from eitlens.evaluate.sweep import sweep as measure
    from eitlens.figures.evaluation import sweep_figure
    from eitlens.models.trained import Trained

    console, kinds = Console(), kind or list(SWEEPS)
    for name in kinds:
        choose("sweep", name, tuple(SWEEPS))
    folder = run_folder(run)
    trained = Trained.load(folder, weights, pick_device(device))
    target, home = score_file(folder, "sweep.json", out), open_supply(folder, None).recipe
    if home is None:
        raise InputError(f"{folder}: trained on an imported data set, which has no recipe to sweep from")
    before = partial(earlier, target, kinds, samples, tau, trained.digest, named=out is not None)
    before()  # what cannot be kept is said before the work
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
    picture = target.with_suffix(".png")
    with score_lock(target):  # another process may have added points meanwhile
        points = joined(before(), points)
        write_json(target, [asdict(point) for point in points])
        sweep_figure(points, picture, f"{folder.resolve().name}, L = {trained.currents.count}")
    say(console, "picture: ", picture)
