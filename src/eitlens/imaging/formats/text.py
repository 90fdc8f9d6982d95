"""JSON: the names of a measurement as keys, arrays as lists."""

import json
from typing import Any


def recognises(content: bytes) -> bool:
    """Whether it begins like a JSON object."""
    return content[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The values by name."""
    if len(content) > limit:
        raise ValueError("too large")
    values = json.loads(content.decode("utf-8-sig"))
    if not isinstance(values, dict):
        raise ValueError("expected an object")
    return values


def write(values: dict[str, Any]) -> bytes:
    """The values as JSON."""
    return (json.dumps(values) + "\n").encode()
