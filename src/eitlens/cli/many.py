"""Many measurements, each a file of its own, on the command line: an image of each, and one table of all."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say
from eitlens.errors import InputError
from eitlens.files import check_writable, make_folder, write_atomically

if TYPE_CHECKING:
    from eitlens.imaging import Reconstruction

PLACE = "{}"
"""Stands for the name of the measurement in the name of a file that is written."""
_TABLES = (".csv", ".json")
_OF_FRAMES = (".gif", ".csv")
Find = Callable[[str], "Reconstruction"]


def found_in(given: Sequence[str]) -> list[str]:
    """The files that were named: those of a folder or a glob in the order of their numbers."""
    from eitlens.measure import files

    return [name for path in given for name in files.names(path)]


def check(names: Sequence[str], targets: Sequence[Path]) -> None:
    """Refuse targets that would be written twice, or that cannot be written."""
    stems = [Path(name).stem for name in names]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None and any(PLACE in str(target) for target in targets):
        raise InputError(
            f"two measurements are called {twice}: their images would be one file: rename one of them"
        )
    if "-" in names:
        raise InputError("-: what comes through the pipe is one measurement: give it alone")
    for target in targets:
        if PLACE in str(target) and target.suffix.lower() in _OF_FRAMES:
            raise InputError(f"{target}: {' and '.join(_OF_FRAMES)} are of the frames of one measurement")
        if PLACE not in str(target) and target.suffix.lower() not in _TABLES:
            raise InputError(
                f"{target}: of {len(names)} measurements: put {PLACE} for their names, as -o 'images/{PLACE}.png', or "
                f"give {' or '.join(_TABLES)} for one table of all"
            )
        for name in names:
            check_writable(placed(target, name), Path(name))


def placed(target: Path, name: str) -> Path:
    """The file that is written for a measurement."""
    return Path(str(target).replace(PLACE, Path(name).stem))


def run(
    names: Sequence[str],
    targets: Sequence[Path],
    find: Find,
    write: Callable[["Reconstruction", Path], None],
    as_json: bool,
) -> None:
    """Image each measurement, write what was asked for, and say in a line each what was found or what is wrong."""
    console = Console(stderr=as_json)
    own = [target for target in targets if PLACE in str(target)]
    rows: list[dict[str, Any]] = []
    with progress_bar(Console(stderr=True)) as bar:
        task = bar.add_task("images", total=len(names))
        for name, found in _each(names, find):
            rows.append(_row(name, found))
            say(console, _line(rows[-1]), style="red" if "error" in rows[-1] else "")
            if not isinstance(found, str):
                for target in own:
                    write(found, placed(target, name))
            bar.advance(task)
    _tables(rows, [target for target in targets if target not in own])
    if as_json:
        typer.echo(json.dumps({"measurements": rows}))
    failed = sum("error" in row for row in rows)
    if failed:
        raise InputError(f"{failed} of {len(rows)} measurements have no image: see above")


def _each(names: Sequence[str], find: Find) -> "Iterator[tuple[str, Reconstruction | str]]":
    """The image of each measurement, or what is wrong with it: one bad file does not stop the others."""
    for name in names:
        try:
            yield name, find(name)
        except InputError as error:
            yield name, str(error)


def _row(name: str, found: "Reconstruction | str") -> dict[str, Any]:
    return {"file": name} | ({"error": found} if isinstance(found, str) else found.summary())


def _line(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"error: {row['error'] if row['file'] in row['error'] else row['file'] + ': ' + row['error']}"
    facts = [
        f"{label} {row[key]:.1%}"
        for key, label in (("area", "inside"), ("misfit", "misfit"))
        if row[key] is not None
    ]
    doubts = sorted({flag["kind"] for flag in row["warnings"]})
    return ", ".join(
        [f"{row['file']}: {row['method']}", *facts, *(["warnings: " + " ".join(doubts)] if doubts else [])]
    )


def _tables(rows: Sequence[dict[str, Any]], targets: Sequence[Path]) -> None:
    from eitlens.imaging.table import FileRow, as_csv
    from eitlens.measure.formats import text

    for target in targets:
        make_folder(target.parent)
        content = (
            as_csv([FileRow.of(row) for row in rows])
            if target.suffix.lower() == ".csv"
            else text.write({"measurements": list(rows)})
        )
        write_atomically(target, content)
