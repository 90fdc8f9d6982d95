"""Arrays and reasons on their way to the page: base64 of bytes for pictures, of float32 for curves."""

import base64
import re
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def field(
    values: Float[Tensor, "nx ny"], low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    """A nodal field as one byte a node between `low` and `high`, its own range by default; rows are x."""
    lowest = float(values.min()) if low is None else low
    highest = float(values.max()) if high is None else high
    width = (highest - lowest) or 1.0
    levels = ((values - lowest) * (255 / width)).round().clamp(0, 255).to(torch.uint8)
    return {"nodes": values.shape[0], "low": lowest, "high": highest, "bytes": _text(levels)}


def curves(values: Float[Tensor, "currents boundary"]) -> dict[str, Any]:
    """Boundary functions as float32, one row a current."""
    return {"rows": values.shape[0], "floats": _text(values.to(torch.float32))}


def plain(reason: object) -> str:
    """A reason without the parts that name options of the command line, which the page does not have.

    >>> from eitlens.web.encoding import plain
    >>> plain("this method needs a reference: give --reference")
    'this method needs a reference'
    """
    inner = re.sub(r"\s*\([^()]*--[^()]*\)", "", str(reason))
    first, *others = re.split(r"(?<=[:;]) ", inner)
    kept = first
    for part in others:
        kept += "" if "--" in part else f" {part}"
    return kept.rstrip(" :;,")


def _text(values: Tensor) -> str:
    return base64.b64encode(values.detach().cpu().contiguous().numpy().tobytes()).decode()
