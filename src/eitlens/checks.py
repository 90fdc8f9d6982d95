"""Checks at every entrance of the library: bad input is refused in one line before any work is done."""

import torch
from torch import Tensor

from eitlens.errors import InputError


def finite(values: Tensor, name: str) -> Tensor:
    """Return `values` unless one of them is NaN or infinite; unseen while exporting, as a graph cannot ask."""
    if torch.compiler.is_exporting():
        return values
    bad = int((~torch.isfinite(values)).sum())
    if bad:
        raise InputError(
            f"{name}: {bad} of {values.numel()} values are NaN or infinite: clean or mask them first"
        )
    return values


def positive(values: Tensor, name: str) -> Tensor:
    """Return `values` unless one of them is zero, negative, NaN or infinite."""
    finite(values, name)
    if bool((values <= 0).any()):
        raise InputError(f"{name} must be positive, got a smallest value of {float(values.min()):g}")
    return values


def positive_number(value: float, name: str) -> float:
    """Return `value` unless it is not a positive finite number."""
    positive(torch.as_tensor(value, dtype=torch.float64), name)
    return value


def physics(values: Tensor) -> Tensor:
    """The physics is float64 throughout, whatever the network around it uses."""
    return values.to(torch.float64)
