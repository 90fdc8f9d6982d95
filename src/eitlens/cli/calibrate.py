"""`eitlens calibrate`: make a network's probabilities mean what they say."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.generate import recipe
from eitlens.cli.show import say
from eitlens.errors import InputError
from eitlens.files import check_writable, write_atomically


def calibrate(
    run: Annotated[Path, typer.Argument(help="Folder of a run of `eitlens train`.")],
    samples: Annotated[
        int, typer.Option(min=8, help="Largest number of validation samples to fit on, and of test samples.")
    ] = 256,
    misfits: Annotated[
        int,
        typer.Option(
            min=0, help="How many of them go through the solver, to set the thresholds of the warnings."
        ),
    ] = 128,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Data preset, if the folder does not say how its data were made; paper by default."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
) -> None:
    """Make the probabilities of a network honest: fit temperatures on validation data. Writes calibration.json, .png.

    Example: eitlens calibrate runs/smoke --samples 32 --misfits 8
    """
    from eitlens.device import pick_device
    from eitlens.figures.evaluation import calibration_figure
    from eitlens.imaging import calibrate as fitting
    from eitlens.imaging.calibration import FILE
    from eitlens.measure.formats import text
    from eitlens.models.trained import Trained

    reader, console, target = Trained.open(run, pick_device(device)), Console(), run / FILE
    kept = run / "data.json"
    if preset is not None and kept.exists():
        raise InputError(f"--preset {preset}: {kept} says what data the network was trained on: leave it out")
    data = recipe(preset or "paper", kept if kept.exists() else None)
    for file in (target, target.with_suffix(".png")):
        check_writable(file)
    with console.status("simulating …") as status:
        unseen = fitting.first_samples(reader, data, "test", samples)
        found = fitting.fit(reader, data, samples, misfits, status.update)
        status.update("measuring on test samples …")
        effects = fitting.measure(reader, found, unseen, fitting.LEVELS)
    write_atomically(target, text.write(found.to_dict()))
    calibration_figure(effects, target.with_suffix(".png"))
    say(console, f"fitted on {found.samples} validation samples, measured on {len(unseen)} test samples")
    for effect in effects:
        say(
            console,
            f"τ = {effect.tau:g}: T = {found.temperature(effect.tau):.2f}, calibration error "
            f"{effect.before.error():.4f} to {effect.after.error():.4f}, cross entropy "
            f"{effect.entropy_before:.4f} to {effect.entropy_after:.4f}",
        )
    say(console, "written: ", target)
