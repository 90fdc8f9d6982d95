"""JSON: the names of a measurement as keys, arrays as lists.

{"points": [[-1.0, -1.0], [-0.99, -1.0]], "currents": [[0.3, 0.2]], "voltages": [[0.1, 0.2]],
"reference": [[0.1, 0.1]], "mask": [true, true], "conductivity": 1.0, "domain": "square"}
"""

import json
from typing import Any

from eitlens.errors import InputError
from eitlens.measure.guard import TEXT_PART

_MOST_PARTS = 4 << 20  # lists, objects and texts: in memory each takes a hundred bytes, in the file two


def recognises(content: bytes) -> bool:
    """Whether it begins like a JSON object, or like a list: no table does, and the error is to speak of JSON."""
    return content[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def read(content: bytes, limit: int) -> object:
    """The values by name; a list is refused by `Measurement.from_arrays`, which knows the names."""
    if (
        len(content) > limit // TEXT_PART
        or sum(content.count(mark) for mark in (b"[", b"{", b'"')) > _MOST_PARTS
    ):
        raise InputError(
            f"more than {(limit // TEXT_PART) >> 20} MiB of text, or too many parts: save it as .npz"
        )
    values: object = json.loads(content.decode("utf-8-sig"))
    return values


def write(values: dict[str, Any]) -> bytes:
    """The values as JSON."""
    return (json.dumps(values) + "\n").encode()
