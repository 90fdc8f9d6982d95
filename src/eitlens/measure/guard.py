"""Whatever a damaged file provokes in the library that reads it, as one line."""

from collections.abc import Callable
from typing import Any

from eitlens.errors import InputError, prefix_errors

HELP = "expected a measurement, in one of the formats of docs/your_tank.md"
LIMIT = 64 << 20  # bytes of a file: 64 currents at 800 points take 4 MB as text
_LONGEST = 200  # letters of a library's own words in an error


def guarded(work: Callable[[], Any], where: str) -> Any:
    """What the work returns; every error is an `InputError` of one line that names the file."""
    try:
        with prefix_errors(where):
            return work()
    except InputError:
        raise
    except (Exception, MemoryError) as error:  # a damaged file may provoke anything in its library
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        raise InputError(f"{where}: cannot be read ({reason}): {HELP}") from None
