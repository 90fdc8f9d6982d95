"""Checks at every entrance of the library: bad input is refused in one line before any work is done."""

import operator
from collections.abc import Iterable
from dataclasses import fields
from importlib import import_module
from typing import Any, SupportsIndex, cast

import torch
from torch import Tensor

from eitlens.errors import InputError

MOST_CELLS = 10_000
"""Cells a side of a grid: their nodes fill 1.6 GB."""
MOST_NODES = 4 * MOST_CELLS
"""Nodes on a boundary: as many as the largest grid of a square has."""


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


def size(value: object, name: str, most: int = MOST_CELLS) -> int:
    """A whole number of things in a row, refused before memory is asked for that no machine has."""
    count = whole(value, name)
    if count > most:
        raise InputError(
            f"{name}: expected at most {most}, got {count if count < 10**18 else '10**18 or more'}"
        )
    return count


def physics(values: object, name: str = "values") -> Tensor:
    """Real numbers as float64: the physics is, whatever the network around it uses."""
    return real(values, name).to(torch.float64)


def real(values: object, name: str) -> Tensor:
    """A tensor, an array or nested lists of real numbers as a tensor; a tensor keeps its gradient and device."""
    tensor = values if isinstance(values, Tensor) else _from_array(values, name)
    if tensor.is_complex():
        raise InputError(f"{name}: expected real numbers, got {tensor.dtype}")
    return tensor


def installed(module: str, remedy: str) -> Any:
    """A package that not every installation has, imported; where it is missing an error with the remedy."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(remedy) from None


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


def known_keys(values: object, kind: type[Any], what: str) -> dict[str, Any]:
    """The values as a dictionary whose keys are fields of the dataclass, of the types of their defaults."""
    defaults = {f.name: f.default for f in fields(kind)}
    given = with_keys(values, what, defaults)
    for key, value in given.items():
        _check_type(what, key, value, defaults[key])
    return given


def with_keys(values: object, what: str, known: Iterable[str], needed: Iterable[str] = ()) -> dict[str, Any]:
    """The values as a dictionary that has all keys needed, not null, and none but the known ones."""
    names = list(known)
    if not isinstance(values, dict):
        got = type(values).__name__
        raise InputError(f"{what}: expected an object with the keys {', '.join(names)}, got a {got}")
    for key in values:
        if key not in names:
            raise InputError(f"{what}: unknown key {str(key)[:40]!r}: it has {', '.join(names)}")
    for key in needed:
        if values.get(key) is None:
            raise InputError(f"{what}: {key!r} is missing: it has at least {', '.join(needed)}")
    return dict(values)


def choose(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def at_least(name: str, value: float, least: int) -> None:
    """Refuse a number that is too small."""
    if not value >= least:
        raise InputError(f"{name} must be at least {least}, got {value}")


def _check_type(what: str, key: str, value: object, default: object) -> None:
    """Refuse a value of another type than the default; a whole number may stand for a fraction."""
    kind = type(default)
    if kind not in (bool, int, float, str) or (kind is float and type(value) is int):
        return
    if type(value) is not kind:
        raise InputError(f"{what}: {key} must be of type {kind.__name__}, got {value!r}")
