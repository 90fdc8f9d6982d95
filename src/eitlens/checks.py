"""Checks at every entrance of the library: bad input is refused in one line before any work is done."""

import operator
from typing import SupportsIndex, cast

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


def number(value: object, name: str) -> float:
    """One real number, also as an array or tensor of one."""
    given = physics(value, name)
    if given.numel() != 1:
        raise InputError(f"{name}: expected one number, got an array of shape {tuple(given.shape)}")
    return float(given.detach())


def positive_number(value: float, name: str) -> float:
    """Return `value` unless it is not a positive finite number."""
    positive(torch.tensor(number(value, name), dtype=torch.float64), name)
    return value


def whole(value: object, name: str) -> int:
    """An integer of any kind; 2.0 is none."""
    try:
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise InputError(f"{name}: expected a whole number, got {shown(value)}") from None


def physics(values: object, name: str = "values") -> Tensor:
    """Real numbers as float64: the physics is, whatever the network around it uses."""
    return real(values, name).to(torch.float64)


def real(values: object, name: str) -> Tensor:
    """A tensor, an array or nested lists of real numbers as a tensor; a tensor keeps its gradient and device."""
    tensor = values if isinstance(values, Tensor) else _from_array(values, name)
    if tensor.is_complex():
        raise InputError(f"{name}: expected real numbers, got {tensor.dtype}")
    return tensor


def shown(value: object) -> str:
    """A value given by mistake, short and in one line."""
    return " ".join(repr(value).split())[:60]


def _from_array(values: object, name: str) -> Tensor:
    """Floating-point numbers keep their precision, which tells how exact they are; all others become float64."""
    import numpy as np

    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name}: the rows are of different lengths") from None
    except (TypeError, RuntimeError):
        raise InputError(f"{name}: expected real numbers in one tensor, array or list of lists") from None
    if array.dtype.kind not in "bifu" or array.dtype.itemsize > 8:
        raise InputError(f"{name}: expected real numbers, got {array.dtype}")
    native = array.dtype.newbyteorder("=") if array.dtype.kind == "f" else np.float64
    return torch.from_numpy(np.array(array, dtype=native))
