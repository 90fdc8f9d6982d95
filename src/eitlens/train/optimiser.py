"""Adam and Muon as the recipes use them, and their state as named tensors.

Muon (K. Jordan et al., 2024) replaces the momentum of a matrix's gradient by the nearest semi-orthogonal matrix, so
that all singular directions change alike. Its steps are scaled by 0.2 √(larger side), which gives their entries the
size of Adam's (J. Liu et al., 2025), so that one learning rate serves both. Muon is torch's, which works in bfloat16:
a step differs by 1.4 % from our earlier one in float32 and takes 0.37 instead of 2.2 s on a CPU for the flagship
(uit-small: 16 instead of 60 ms). Neither was compared with the other on a GPU.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Muon, Optimizer

from eitlens.errors import InputError

BETA2 = 0.999  # torch's default, which the paper's code leaves as it is
_NARROWEST = 64  # a narrower matrix is not between wide layers, but part of an input or a head
_MOMENTS = ("exp_avg", "exp_avg_sq")
_MOMENTUM = "momentum"  # the name of Muon's `momentum_buffer` in a checkpoint
_MISFIT = "its optimiser's state does not fit this network"


def create_adam(
    parameters: Iterable[nn.Parameter], weight_decay: float, device: torch.device
) -> list[Optimizer]:
    """Adam, with decoupled weight decay if any; on matrices and stencils only, not on scales and shifts."""
    fused = device.type == "cuda"
    if not weight_decay:
        return [Adam(parameters, fused=fused)]
    listed = list(parameters)
    groups = [
        {"params": [p for p in listed if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in listed if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return [AdamW([group for group in groups if group["params"]], fused=fused)]


def create_muon(parameters: Iterable[nn.Parameter], weight_decay: float) -> list[Optimizer]:
    """Muon with decoupled weight decay for the matrices between wide layers, Adam without it for the rest."""
    listed = list(parameters)
    matrices, others = ([p for p in listed if is_matrix(p) == wide] for wide in (True, False))
    muon = [Muon(matrices, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")] if matrices else []
    return [*muon, *([Adam(others, fused=True)] if others else [])]


def is_matrix(parameter: Tensor) -> bool:
    """Whether Muon takes a parameter: a matrix of at least 64 × 64."""
    return parameter.ndim == 2 and min(parameter.shape) >= _NARROWEST


def adjust(optimisers: Sequence[Optimizer], lr: float, beta1: float) -> None:
    """Set the learning rate and Adam's β₁ of the next step."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"], group["betas"] = lr, (beta1, BETA2)


def to_tensors(optimisers: Sequence[Optimizer]) -> dict[str, Tensor]:
    """The moments and the number of steps of each parameter, by its place; unused parameters have none."""
    return {
        f"{place}.{_MOMENTUM if name == 'momentum_buffer' else name}": tensor
        for place, (optimiser, parameter) in enumerate(_parameters(optimisers))
        for name, tensor in optimiser.state.get(parameter, {}).items()
    }


def from_tensors(optimisers: Sequence[Optimizer], tensors: Mapping[str, Tensor]) -> None:
    """Put the state back, each moment with its parameter's own layout in memory."""
    parameters = _parameters(optimisers)
    for place in sorted({int(name.split(".")[0]) for name in tensors}):
        if place >= len(parameters):
            raise InputError(_MISFIT)
        optimiser, parameter = parameters[place]
        found = {name: tensors.get(f"{place}.{name}") for name in (_MOMENTUM, "step", *_MOMENTS)}
        if isinstance(optimiser, Muon):
            optimiser.state[parameter] = {"momentum_buffer": _like(parameter, found[_MOMENTUM])}
            continue
        if (steps := found["step"]) is None:
            raise InputError(_MISFIT)
        optimiser.state[parameter] = {
            "step": steps.to(parameter.device if optimiser.defaults["fused"] else "cpu", torch.float32),
            **{name: _like(parameter, found[name]) for name in _MOMENTS},
        }


def _like(parameter: nn.Parameter, moment: Tensor | None) -> Tensor:
    if moment is None or moment.shape != parameter.shape:
        raise InputError(_MISFIT)
    return torch.empty_like(parameter, requires_grad=False).copy_(moment)


def _parameters(optimisers: Sequence[Optimizer]) -> list[tuple[Optimizer, nn.Parameter]]:
    return [
        (one, parameter) for one in optimisers for group in one.param_groups for parameter in group["params"]
    ]
