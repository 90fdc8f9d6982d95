"""Muon: steps for matrices that change all their singular directions alike (K. Jordan et al., 2024).

The momentum M of a matrix's gradient is replaced by the nearest semi-orthogonal matrix U Vᵀ, found by five
Newton-Schulz steps X ← a X + (b X Xᵀ + c (X Xᵀ)²) X in bfloat16, and scaled by 0.2 √(larger side), which gives
its entries the size of Adam's steps (J. Liu et al., 2025), so that one learning rate serves both. Everything
that is not a matrix between wide layers has Adam. Weight decay is decoupled, and of the matrices alone.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

_POLYNOMIAL = (3.4445, -4.7750, 2.0315)
_STEPS = 5
_MOMENTUM = 0.95
_NARROWEST = 64
_EPS = 1e-8


class Muon(Optimizer):
    """Muon for matrices of at least 64 × 64, Adam for the rest; `lr` and `betas` are set before each step."""

    def __init__(self, parameters: Iterable[nn.Parameter], weight_decay: float) -> None:
        listed = list(parameters)
        matrices = [p for p in listed if is_matrix(p)]
        others = [p for p in listed if not is_matrix(p)]
        groups = [
            {"params": part, "muon": muon} for part, muon in ((matrices, True), (others, False)) if part
        ]
        super().__init__(
            groups, {"lr": 0.0, "betas": (0.9, 0.999), "weight_decay": weight_decay, "fused": True}
        )

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]
        """One step; `closure` is not used."""
        for group in self.param_groups:
            used = [p for p in group["params"] if p.grad is not None]
            (self._orthogonal if group["muon"] else self._adam)(used, group)

    def _orthogonal(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        momenta = [self._kept(p, "momentum") for p in parameters]
        grads = _gradients(parameters)
        torch._foreach_lerp_(momenta, grads, 1 - _MOMENTUM)
        looks = torch._foreach_lerp(grads, momenta, _MOMENTUM)
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        shapes: dict[tuple[int, ...], list[int]] = {}
        for place, parameter in enumerate(parameters):
            shapes.setdefault(tuple(parameter.shape), []).append(place)
        for shape, places in shapes.items():
            turned = orthogonal(torch.stack([looks[k] for k in places]))
            size = -group["lr"] * 0.2 * max(shape) ** 0.5
            torch._foreach_add_([parameters[k] for k in places], list(turned.to(looks[0].dtype) * size))

    def _adam(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = group["lr"], group["betas"]
        grads = _gradients(parameters)
        steps, first, second = (
            [self._kept(p, name) for p in parameters] for name in ("step", "exp_avg", "exp_avg_sq")
        )
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            parameters, grads, first, second, [], steps,
            lr=lr, beta1=beta1, beta2=beta2, weight_decay=0.0, eps=_EPS, amsgrad=False, maximize=False,
        )  # fmt: skip

    def _kept(self, parameter: Tensor, name: str) -> Tensor:
        state = self.state[parameter]
        if name not in state:
            state[name] = (
                torch.zeros((), device=parameter.device) if name == "step" else torch.zeros_like(parameter)
            )
        kept: Tensor = state[name]
        return kept


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [p.grad for p in parameters if p.grad is not None]


def is_matrix(parameter: Tensor) -> bool:
    """Whether Muon takes it."""
    return parameter.ndim == 2 and min(parameter.shape) >= _NARROWEST


def orthogonal(matrices: Tensor) -> Tensor:
    """The matrices (B, m, n) with all singular values near 1."""
    a, b, c = _POLYNOMIAL
    x = matrices.to(torch.bfloat16 if matrices.is_cuda else matrices.dtype)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    turned: Tensor = x.mT if tall else x
    return turned
