"""What the page without a server computes with: from boundary data to φ, the classical image and logits, as ONNX.

Input of each graph is `difference` in float64, as everywhere in the physics. `classical` takes one current, (1, 4n),
and gives `phi` and `index`, both (n+1, n+1); a network takes (1, L, 4n) and gives `logits` (n+1, n+1). A network that
can do with fewer currents finds nan in the place of those that were not measured.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from eitlens.classical.dsm import compare, probing
from eitlens.data import Codes, Features
from eitlens.data.features import zero_padded_gradient
from eitlens.errors import InputError
from eitlens.evaluate.trained import Trained
from eitlens.models.export import need_packages, run_graph, write_graph
from eitlens.models.flagship import Flagship
from eitlens.web.drawing import BODY

# Codes of almost clean data depend on the last digits of the constants, which a graph keeps in single precision.
TOLERANCE = 1e-2


class _Classical(nn.Module):
    """φ and the index of one current; that of `eitlens.classical.direct_sampling` is the mean over several."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.domain = BODY.at(n)
        self.probe = probing(self.domain)

    def forward(self, difference: Tensor) -> tuple[Tensor, Tensor]:
        return self.domain.extend(difference)[0], compare(self.domain, difference, self.probe)[0]


class _Network(nn.Module):
    """A trained network together with what it is fed with."""

    def __init__(self, trained: Trained) -> None:
        super().__init__()
        self.network, self.features = trained.network, trained.features

    def forward(self, difference: Tensor) -> Tensor:
        if isinstance(self.features, Codes):
            seen = _codes(self.features, difference)
        else:
            seen = self.features.divided(_fields(self.features, difference)).to(torch.float32)
        flagship = isinstance(self.network, Flagship)
        logits = self.network(seen, self.features.domain.shape[0]) if flagship else self.network(seen)
        return torch.as_tensor(logits)[0, 0]


def _codes(codes: Codes, difference: Tensor) -> Tensor:
    """`Codes.__call__` with the asinh in float32: onnxruntime has no other."""
    code = codes.code(difference)
    z, parts = code.mean.float(), (code.deviation, code.tau.log()[:, None])
    return torch.cat([torch.asinh(z), *(part.float() for part in parts), z], -1)


def _fields(features: Features, difference: Tensor) -> Tensor:
    """`Features.fields` without its checks of the values, which a graph cannot contain."""
    if features.gradient == "exact":
        return torch.cat(features.domain.extend_with_gradient(difference), -3)
    phi = features.domain.extend(difference)
    return torch.cat([phi, *zero_padded_gradient(phi)], -3)


@dataclass(frozen=True)
class Graph:
    """A written graph and how far it is from what PyTorch computes, relative to the largest value."""

    file: str
    error: float


def write_classical(n: int, path: Path) -> Graph:
    """The classical graph for a loop of 4n nodes."""
    module, sample = _Classical(n), _sample(1, 4 * n)
    return _write(module, sample, module(sample), path, ["phi", "index"])


def write_network(trained: Trained, path: Path) -> Graph:
    """The graph of a trained network, compared with the network itself."""
    sample = _sample(1, trained.features.currents.count, trained.features.domain.boundary_size)
    expected = trained.reading(trained.features.currents.count)(sample)
    return _write(_Network(trained).eval(), sample, (expected[0],), path, ["logits"])


def _sample(*shape: int) -> Tensor:
    """Boundary data of some roughness, the same every time."""
    steps = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rough = steps.cumsum(-1) / shape[-1]
    return rough - rough.mean(-1, keepdim=True)


def _write(
    module: nn.Module, sample: Tensor, expected: tuple[Tensor, ...], path: Path, outputs: list[str]
) -> Graph:
    need_packages()
    with torch.no_grad():
        module(sample)  # makes the constants that tracing must find ready
    write_graph(module, path, outputs, difference=sample)
    pairs = zip(run_graph(path, difference=sample), expected, strict=True)
    error = max(float((found - wanted).abs().max() / wanted.abs().max()) for found, wanted in pairs)
    if not error <= TOLERANCE:
        path.unlink()
        raise InputError(
            f"{path.name}: onnxruntime differs from PyTorch by {error:.1e}: it cannot be exported"
        )
    return Graph(path.name, error)
