"""`eitlens calibrate`: make a network's probabilities mean what they say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eitlens.data import DataConfig


def calibrate(
    model: Annotated[
        str, typer.Argument(help="Folder of a run of `eitlens train`, or the name of a shipped network.")
    ],
    samples: Annotated[
        int, typer.Option(min=8, help="Validation samples to fit on, and as many test samples.")
    ] = 256,
    misfits: Annotated[
        int, typer.Option(min=0, help="How many of them go through the solver, for the warnings.")
    ] = 128,
    preset: Annotated[str, typer.Option(help="Recipe of the data, where the folder holds none.")] = "paper",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
) -> None:
    """Fit temperatures on validation data and write calibration.json and .png into the folder.

    Example: eitlens calibrate runs/smoke --samples 32 --misfits 8
    """
    from rich.console import Console

    from eitlens.data import pick_device
    from eitlens.data.files import write_atomically
    from eitlens.figures.calibration import calibration_figure
    from eitlens.imaging import fitting, readers, store
    from eitlens.imaging.calibration import FILE
    from eitlens.imaging.formats import text

    folder, console = store.find(model), Console()
    reader, recipe = readers.open_folder(folder, pick_device(device)), _recipe(folder, preset)
    with console.status("simulating …") as status:
        found = fitting.fit(reader, recipe, samples, misfits, status.update)
        status.update("measuring on test samples …")
        effects = fitting.measure(reader, found, fitting.test(reader, recipe, samples), fitting.LEVELS)
    write_atomically(folder / FILE, text.write(found.to_dict()))
    calibration_figure(effects, (folder / FILE).with_suffix(".png"))
    for effect in effects:
        console.print(
            f"τ = {effect.tau:g}: T = {found.temperature(effect.tau):.2f}, calibration error "
            f"{effect.before.error():.4f} to {effect.after.error():.4f}, cross entropy "
            f"{effect.entropy_before:.4f} to {effect.entropy_after:.4f}",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"written: [bold]{folder / FILE}[/bold]", highlight=False, soft_wrap=True)


def _recipe(folder: Path, preset: str) -> "DataConfig":
    import json

    from eitlens.data import DataConfig
    from eitlens.data import preset as named
    from eitlens.errors import InputError

    path = folder / "data.json"
    if not path.exists():
        return named(preset)
    try:
        return DataConfig.from_dict(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
