"""`eitlens check`: read a data set to the last byte and say whether it is whole."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of the data set.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a data set: checksums, finite numbers, and masks against phantoms.

    Example: eitlens check data/smoke
    """
    import json
    from dataclasses import asdict

    from eitlens.dataset import check as validate

    console = Console(quiet=as_json)
    with progress_bar(console) as bar:
        task = bar.add_task("checking", total=None)
        found = validate(folder, lambda done, total: bar.update(task, completed=done, total=total))
    if as_json:
        typer.echo(json.dumps(asdict(found)))
    say(
        console,
        f"{folder}: sound. {found.samples} samples of {found.currents} currents at {found.n} cells a side, "
        f"{found.shards} shards, {found.bytes / 1e6:.1f} MB, inclusions cover {found.area:.1%}",
    )
