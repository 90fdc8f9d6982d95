"""The graphs of the page without a server: from boundary data to φ, the classical image and logits, as ONNX.

Input of each graph is `difference` in float64, as everywhere in the physics. `classical` takes one current, (1, 4n),
and gives `phi` and `index`, both (n+1, n+1); a network takes (1, L, 4n) and gives `logits` (n+1, n+1). A network that
can do with fewer currents takes nan in the place of the last ones. Every graph is compared with PyTorch as it is
written, a network with each number of currents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from eitlens.classical.dsm import compare, probing
from eitlens.errors import InputError
from eitlens.feature.codes import completed
from eitlens.files import fresh, make_folder
from eitlens.models.export import need_packages, run_graph, write_graph
from eitlens.models.trained import Trained
from eitlens.web.drawing import BODY

# Codes of almost clean data depend on the last digits of the constants, which a graph keeps in single precision.
TOLERANCE = 1e-2

Cases = Sequence[tuple[Tensor, tuple[Tensor, ...]]]
"""Inputs, and the outputs that are expected of them."""


class _Classical(nn.Module):
    """φ and the index of one current; that of `eitlens.classical.dsm` is the mean over several."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.domain = BODY.at(n)
        self.probe = probing(self.domain)

    def forward(self, difference: Tensor) -> tuple[Tensor, Tensor]:
        return self.domain.extend(difference)[0], compare(self.domain, difference, self.probe)[0]


class _Network(nn.Module):
    """A trained network together with its input."""

    def __init__(self, trained: Trained) -> None:
        super().__init__()
        self.trained, self.network = trained, trained.network  # its weights are found as those of a submodule

    def forward(self, difference: Tensor) -> Tensor:
        return self.trained(difference)[0]


@dataclass(frozen=True)
class Graph:
    """A written graph and how far it is from what PyTorch computes, relative to the largest value."""

    file: str
    error: float


def write_classical(n: int, path: Path) -> Graph:
    """The classical graph for a loop of 4n nodes."""
    module, sample = _Classical(n), _sample(1, 4 * n)
    return _write(module, [(sample, module(sample))], path, ["phi", "index"])


def write_network(trained: Trained, path: Path) -> Graph:
    """The graph of a trained network, compared with the network itself."""
    most = trained.features.currents.count
    whole = _sample(1, most, trained.features.domain.boundary_size)
    parts = [whole[:, :count] for count in range(most, trained.fewest - 1, -1)]
    cases = [(completed(part, most), (trained(part)[0],)) for part in parts]
    return _write(_Network(trained).eval(), cases, path, ["logits"])


def _sample(*shape: int) -> Tensor:
    """Boundary data of some roughness, the same every time."""
    steps = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rough = steps.cumsum(-1) / shape[-1]
    return rough - rough.mean(-1, keepdim=True)


def _write(module: nn.Module, cases: Cases, path: Path, outputs: list[str]) -> Graph:
    """The module traced on the first of the inputs, and compared on all of them with what is expected."""
    need_packages()
    first, _ = cases[0]
    with torch.no_grad():
        module(first)  # makes the constants that tracing must find ready
    make_folder(path.parent)
    with fresh(path) as (partial,):
        write_graph(module, partial, outputs, difference=first)
        error = _error(partial, cases)
        if not error <= TOLERANCE:
            raise InputError(
                f"{path.name}: onnxruntime differs from PyTorch by {error:.1e}: it cannot be exported"
            )
    return Graph(path.name, error)


def _error(path: Path, cases: Cases) -> float:
    """The largest difference from what is expected; nan if one of them is."""
    errors = [
        (found - wanted).abs().max() / wanted.abs().max()
        for sample, expected in cases
        for found, wanted in zip(run_graph(path, difference=sample), expected, strict=True)
    ]
    return float(torch.stack([one.double() for one in errors]).max())
