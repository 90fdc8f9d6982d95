"""The table of a sequence: a row a frame, with where the strongest change is, how large it is, and what is doubtful."""

import csv
import io
from collections.abc import Sequence
from typing import Any, NamedTuple

from eitlens.evaluate.images import departure
from eitlens.imaging.reconstruction import Reconstruction


class Row(NamedTuple):
    """What the image of one frame shows.

    Attributes:
        frame: its number, counted from 1.
        time: in seconds, where it is known.
        x, y: where the image departs most from the background, in metres in the coordinates of the body's outline.
        value: of the image there, in the unit of its quantity.
        size: in m², of the area where the image shows something (`Reconstruction.inside`).
        noise, misfit, seconds: those of the reconstruction.
        warnings: their kinds, separated by spaces.
    """

    frame: int
    time: float | None
    x: float
    y: float
    value: float
    size: float
    noise: float | None
    misfit: float | None
    seconds: float
    warnings: str


class FileRow(NamedTuple):
    """What the image of one measurement of many shows, or why there is none; see `Reconstruction`."""

    file: str
    method: str
    quantity: str
    area: float | None
    noise: float | None
    misfit: float | None
    seconds: float | None
    warnings: str
    error: str

    @staticmethod
    def of(told: dict[str, Any]) -> "FileRow":
        """The row of a summary with its `file`, or of a file with its `error`."""
        known: dict[str, Any] = {name: told.get(name) for name in FileRow._fields}
        doubts = " ".join(sorted({flag["kind"] for flag in told.get("warnings", ())}))
        return FileRow(**(known | {"warnings": doubts}))


def row(frame: int, time: float | None, found: Reconstruction) -> Row:
    """The row of a frame."""
    body, nodes = found.domain, found.domain.nodes()
    strongest = int(departure(found.image, found.quantity, body).argmax())
    x, y = (nodes.flatten(0, 1)[strongest] * body.scale + nodes.new_tensor(body.origin)).tolist()
    cell = float((nodes[1, 1] - nodes[0, 0]).prod()) * body.scale**2
    value, size = float(found.image.flatten()[strongest]), cell * int(found.inside.sum())
    doubts = " ".join(sorted({flag.kind for flag in found.warnings}))
    return Row(frame, time, x, y, value, size, found.noise, found.misfit, found.seconds, doubts)


def as_csv(rows: Sequence[Row] | Sequence[FileRow]) -> bytes:
    """The rows as CSV with a line of names; an empty cell is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0]._fields if rows else Row._fields)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in one] for one in rows)
    return text.getvalue().encode()
