"""What a network is fed with, on disk beside its weights: features.json, and for codes features.safetensors."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from eitlens.data.codes import Codes
from eitlens.data.config import CurrentsConfig, known_keys
from eitlens.data.features import Features
from eitlens.errors import InputError
from eitlens.feature.gaussian import GaussianPrior
from eitlens.files import write_atomically, write_json

JSON, TENSORS = "features.json", "features.safetensors"
_GAUSSIAN = "gaussian"
_PARTS = ("mean", "modes", "parity")


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
    path = folder / JSON
    try:
        values = json.loads(path.read_text())
        if isinstance(values, dict) and values.get("kind") == _GAUSSIAN:
            return _codes(values, folder / TENSORS)
        return Features.from_dict(values)
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file: it is written beside the weights by `eitlens train`"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        if isinstance(error, InputError):
            raise InputError(f"{path}: {error}") from None
        raise InputError(f"{path}: cannot be read ({error}): copy it again from the run") from None


def rounded(codes: Codes) -> Codes:
    """The codes as they will be read again: a network is trained on what it will be fed with."""
    prior = codes.prior
    mean, modes = (tensor.float().double() for tensor in (prior.mean, prior.modes))
    return Codes(codes.n, codes.currents, GaussianPrior(mean, modes, prior.parity, prior.floor))


def _codes(values: dict[str, Any], path: Path) -> Codes:
    tensors = load(path.read_bytes())
    if set(tensors) != set(_PARTS):
        raise InputError(f"{path.name} holds {sorted(tensors)}, expected {', '.join(_PARTS)}")
    currents = CurrentsConfig(**known_keys(values["currents"], CurrentsConfig, "features: currents"))
    prior = GaussianPrior(
        tensors["mean"].double(), tensors["modes"].double(), tensors["parity"], float(values["floor"])
    )
    codes = Codes(int(values["n"]), currents, prior)
    if prior.mean.shape != (currents.count, codes.domain.boundary_size):
        raise InputError(f"{path.name} holds a mean of shape {tuple(prior.mean.shape)}: does it belong here?")
    return codes
