"""The kinds of input by name, and reading one from beside the weights of its network."""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from eitlens.errors import InputError
from eitlens.feature.base import JSON, TENSORS, Input
from eitlens.feature.codes import Codes
from eitlens.feature.fields import Features
from eitlens.feature.scaled import KIND, ScaledCodes
from eitlens.feature.substitutes import SUBSTITUTES
from eitlens.files import read_json
from eitlens.registry import Registry

_OURS: dict[str, type[Input]] = {"harmonic": Features, "gaussian": Codes, KIND: ScaledCodes, **SUBSTITUTES}
INPUTS: Registry[type[Input]] = Registry("input", _OURS)
_AGAIN = "copy it again from the run"


def read_input(folder: Path) -> Input:
    """The input in a folder of weights."""
    path = folder / JSON

    def kind_of(values: Any) -> str:
        return values.get("kind", "harmonic") if isinstance(values, dict) else "harmonic"

    kind = INPUTS[read_json(path, kind_of, _AGAIN)]
    tensors = _tensors(folder / TENSORS, kind.parts) if kind.parts else {}
    return read_json(path, lambda values: kind.from_parts(values, tensors), _AGAIN)


def _tensors(path: Path, names: tuple[str, ...]) -> dict[str, Tensor]:
    try:
        tensors = load(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}: {_AGAIN}") from None
    except SafetensorError as error:
        raise InputError(f"{path}: not a whole safetensors file ({error}): {_AGAIN}") from None
    if set(tensors) != set(names):
        raise InputError(f"{path}: holds {sorted(tensors)}, expected {', '.join(names)}: {_AGAIN}")
    return tensors
