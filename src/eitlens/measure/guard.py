"""What keeps a damaged file from doing harm: limits of its size, and errors of one line whatever it provokes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eitlens.errors import InputError, prefix_errors

HELP = "expected a measurement, in one of the formats of docs/your_tank.md"
LIMIT = 64 << 20  # bytes of a file: 64 currents at 800 points take 4 MB as text
TEXT_PART = 2
"""Text may be this much smaller than other files: in memory a letter takes a multiple of its byte."""
_LONGEST_LINE = 4 << 20  # letters: the readings of the largest devices
MOST_LINES = 400_000  # an hour of a device of 100 frames a second
_LONGEST = 200  # letters of a library's own words in an error


def guarded(work: Callable[[], Any], where: str) -> Any:
    """What the work returns; every error is an `InputError` of one line that names the file."""
    try:
        with prefix_errors(where), np.errstate(all="ignore"):  # numbers that are none are refused later
            return work()
    except InputError:
        raise
    except (Exception, MemoryError) as error:  # a damaged file may provoke anything in its library
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        raise InputError(f"{where}: cannot be read ({reason}): {HELP}") from None


def lines_of(content: bytes, limit: int) -> list[str]:
    """The lines that are not blank; text is UTF-8, with or without a mark at its beginning."""
    if len(content) > limit // TEXT_PART:
        raise InputError(f"more than {(limit // TEXT_PART) >> 20} MiB of text: save it as .npz")
    if content.count(b"\n") > MOST_LINES:
        raise InputError(f"more than {MOST_LINES} lines")
    lines = [line for line in content.decode("utf-8-sig").splitlines() if line.strip(" \t,;")]
    if max(map(len, lines), default=0) > _LONGEST_LINE:
        raise InputError(f"a line of more than {_LONGEST_LINE >> 20} million letters")
    return lines
