"""What a network is fed with, on disk beside its weights: features.json, and for codes features.safetensors."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from eitlens.checks import known_keys
from eitlens.errors import InputError
from eitlens.feature.codes import Codes
from eitlens.feature.fields import Features
from eitlens.feature.gaussian import GaussianPrior
from eitlens.files import read_json, write_atomically, write_json
from eitlens.forward.currents import CurrentsConfig

JSON, TENSORS = "features.json", "features.safetensors"
_GAUSSIAN = "gaussian"
_PARTS = ("mean", "modes", "parity")
_AGAIN = "copy it again from the run"


class _Described(NamedTuple):
    """Codes without the tensors of their prior."""

    n: int
    currents: CurrentsConfig
    floor: float


def write_inputs(inputs: Features | Codes, folder: Path) -> None:
    """Write them; the modes of a code in float32, a thousandth of its floor."""
    if isinstance(inputs, Features):
        write_json(folder / JSON, inputs.to_dict())
        return
    prior = inputs.prior.to(torch.device("cpu"))
    tensors = {"mean": prior.mean.float(), "modes": prior.modes.float(), "parity": prior.parity}
    write_atomically(folder / TENSORS, save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    currents = {"family": inputs.currents.family, "count": inputs.currents.count}
    write_json(folder / JSON, {"kind": _GAUSSIAN, "n": inputs.n, "currents": currents, "floor": prior.floor})


def read_inputs(folder: Path) -> Features | Codes:
    """Read them."""
    found = read_json(folder / JSON, _described, _AGAIN)
    return found if isinstance(found, Features) else _codes(found, folder / TENSORS)


def rounded(codes: Codes) -> Codes:
    """The codes as they will be read again: a network is trained on what it will be fed with."""
    prior = codes.prior
    mean, modes = (tensor.float().double() for tensor in (prior.mean, prior.modes))
    return Codes(codes.n, codes.currents, GaussianPrior(mean, modes, prior.parity, prior.floor))


def _described(values: Any) -> Features | _Described:
    """What features.json says."""
    if not isinstance(values, dict) or values.get("kind") != _GAUSSIAN:
        return Features.from_dict(values)
    currents = CurrentsConfig(**known_keys(values["currents"], CurrentsConfig, "features: currents"))
    return _Described(int(values["n"]), currents, float(values["floor"]))


def _codes(found: _Described, path: Path) -> Codes:
    tensors = _tensors(path)
    if set(tensors) != set(_PARTS):
        raise InputError(f"{path}: holds {sorted(tensors)}, expected {', '.join(_PARTS)}: {_AGAIN}")
    mean, modes = tensors["mean"].double(), tensors["modes"].double()
    codes = Codes(found.n, found.currents, GaussianPrior(mean, modes, tensors["parity"], found.floor))
    if mean.shape != (found.currents.count, codes.domain.boundary_size):
        raise InputError(f"{path}: holds a mean of shape {tuple(mean.shape)}: does it belong here?")
    return codes


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}: {_AGAIN}") from None
    except SafetensorError as error:
        raise InputError(f"{path}: not a whole safetensors file ({error}): {_AGAIN}") from None
