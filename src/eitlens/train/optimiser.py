"""Adam as the recipes use it, and its state as named tensors."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW

from eitlens.errors import InputError
from eitlens.train.muon import Muon, is_matrix

BETA2 = 0.999
_MOMENTS = ("exp_avg", "exp_avg_sq")
_MISFIT = "its optimiser's state does not fit this network"


def create(parameters: Iterable[nn.Parameter], weight_decay: float, device: torch.device) -> Adam:
    """Adam, with decoupled weight decay if any; on matrices and stencils only, not on scales and shifts."""
    fused = device.type == "cuda"
    if not weight_decay:
        return Adam(parameters, fused=fused)
    listed = list(parameters)
    groups = [
        {"params": [p for p in listed if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in listed if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW([group for group in groups if group["params"]], fused=fused)


def adjust(optimiser: Adam | Muon, lr: float, beta1: float) -> None:
    """Set the learning rate and β₁ of the next step."""
    for group in optimiser.param_groups:
        group["lr"], group["betas"] = lr, (beta1, BETA2)


def to_tensors(optimiser: Adam | Muon) -> dict[str, Tensor]:
    """The moments and the number of steps of each parameter, by its place; unused parameters have none."""
    tensors: dict[str, Tensor] = {}
    for place, parameter in enumerate(_parameters(optimiser)):
        state = optimiser.state.get(parameter, {})
        tensors |= {f"{place}.{name}": state[name] for name in state}
    return tensors


def from_tensors(optimiser: Adam | Muon, tensors: Mapping[str, Tensor]) -> None:
    """Put the state back, each moment with its parameter's own layout in memory."""
    parameters = _parameters(optimiser)
    fused = bool(optimiser.defaults["fused"])
    for place in sorted({int(name.split(".")[0]) for name in tensors}):
        if place >= len(parameters):
            raise InputError(_MISFIT)
        parameter = parameters[place]
        if isinstance(optimiser, Muon) and is_matrix(parameter):
            optimiser.state[parameter] = {"momentum": _like(parameter, tensors.get(f"{place}.momentum"))}
            continue
        steps, *moments = (tensors.get(f"{place}.{name}") for name in ("step", *_MOMENTS))
        if steps is None:
            raise InputError(_MISFIT)
        optimiser.state[parameter] = {
            "step": steps.to(parameter.device if fused else "cpu", torch.float32),
            **{name: _like(parameter, moment) for name, moment in zip(_MOMENTS, moments, strict=True)},
        }


def _like(parameter: nn.Parameter, moment: Tensor | None) -> Tensor:
    if moment is None or moment.shape != parameter.shape:
        raise InputError(_MISFIT)
    return torch.empty_like(parameter, requires_grad=False).copy_(moment)


def _parameters(optimiser: Adam | Muon) -> list[nn.Parameter]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]
