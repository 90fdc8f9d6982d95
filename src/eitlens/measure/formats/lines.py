"""The lines of a text file, as many and as long as memory allows: in memory a letter takes a multiple of its byte."""

from eitlens.errors import InputError

PART = 2
"""Text may be this much smaller than other files."""
_LONGEST = 4 << 20  # letters: the readings of the largest devices
_MOST = 1_000_000  # lines: hours of a fast device


def lines_of(content: bytes, limit: int) -> list[str]:
    """The lines that are not blank; text is UTF-8, with or without a mark at its beginning."""
    if len(content) > limit // PART:
        raise InputError(f"more than {(limit // PART) >> 20} MiB of text: save it as .npz")
    if content.count(b"\n") > _MOST:
        raise InputError(f"more than {_MOST} lines")
    lines = [line for line in content.decode("utf-8-sig").splitlines() if line.strip(" \t,;")]
    if max(map(len, lines), default=0) > _LONGEST:
        raise InputError(f"a line of more than {_LONGEST >> 20} million letters")
    return lines
