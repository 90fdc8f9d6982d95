"""The cost of a network: parameters, arithmetic, memory for training, and speed on the machine at hand.

Arithmetic and memory are counted without computing anything, on tensors that have a shape and no values. A
multiplication with an addition counts as two operations. Fourier transforms are counted apart: the usual
figures for spectral networks leave the FFT out, and ours are matrix products. The paper's GFLOPs column is
its profiler's for a batch of 8: it counts convolutions forward, matrix products forward and backward, and no
transposed convolutions; ours is the forward pass of one image, all of it. `printed_operations` counts as the paper.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count, sdpa_flop_count

from eitlens.errors import InputError
from eitlens.models.base import Network, Published
from eitlens.models.fourier import Analysis, Synthesis
from eitlens.models.registry import NETWORKS, create

WARM_UP = 1  # runs: the first one allocates memory and chooses kernels
LEAST_SECONDS = 0.5  # of timing: many runs of a fast network
LEAST_RUNS = 3  # of a slow one, for a median
PRINTED_BATCH = 8  # images of the paper's GFLOPs


@dataclass(frozen=True)
class Cost:
    """The cost of one image.

    Attributes:
        preset: the network's name.
        title: the paper's name for it.
        parameters: number of parameters.
        gflops: 10⁹ operations of a forward pass, without Fourier transforms.
        transform_gflops: 10⁹ operations of the Fourier transforms.
        activation_mib: mebibytes kept for the backward pass, in float32.
        printed_gflops: 10⁹ operations of the published form, a batch of 8, counted as the paper's profiler does;
            None for networks of Fourier modes, whose code the paper does not have or does not print as it counts.
        images_per_second: forward passes a second on the machine at hand, or None if not timed.
        published: the paper's row.
    """

    preset: str
    title: str
    parameters: int
    gflops: float
    transform_gflops: float
    activation_mib: float
    printed_gflops: float | None
    images_per_second: float | None
    published: Published


def measure(name: str, n: int = 201, batch: int = 1, device: str = "cpu", timed: bool = True) -> Cost:
    """The cost of the named preset on n × n grids; `batch` and `device` are for the timing.

    A network that reads codes is measured on its own grid, whatever n.
    """
    chosen = NETWORKS[name]
    with FakeTensorMode():
        network = create(name)
        total, transforms = operations(network, n)
        kept = activation_bytes(network, n)
        printed = None if chosen.published.gflops is None else printed_operations(published_form(name), n)
    return Cost(
        preset=name,
        title=chosen.title,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        gflops=(total - transforms) / 1e9,
        transform_gflops=transforms / 1e9,
        activation_mib=kept / 2**20,
        printed_gflops=printed and PRINTED_BATCH * printed / 1e9,
        images_per_second=speed(create(name), n, batch, device) if timed else None,
        published=chosen.published,
    )


def operations(network: Network, n: int) -> tuple[int, int]:
    """Operations of a forward pass of one image: all, and how many of them are of Fourier transforms."""
    network.eval()
    counter = FlopCounterMode(display=False, custom_mapping=_SOFTMAX_ON_CPU)
    with torch.no_grad(), counter:
        network(network.random_input(1, n))
    counts = counter.get_flop_counts()
    transforms = {
        name for name, module in network.named_modules() if isinstance(module, Analysis | Synthesis)
    }
    within = (sum(counts[f"{type(network).__name__}.{name}"].values()) for name in transforms)
    return counter.get_total_flops(), sum(within)


def published_form(name: str) -> Network:
    """The named network as published, where that differs from ours."""
    try:
        return create(name, faithful=True)
    except InputError:  # it is no other
        return create(name)


def printed_operations(network: Network, n: int) -> int | None:
    """What the paper's profiler counts of one image: convolutions forward, products of matrices forward and backward.

    Transposed convolutions do not count. Linear maps of the channels are convolutions in the published code of the
    networks in the shape of a U, so only the products of attention are products of matrices. A product costs twice as
    much backward as forward. None for networks of Fourier modes.
    """
    if any(isinstance(module, Analysis | Synthesis) for module in network.modules()):
        return None
    network.train()  # the published form takes the kernel apart in evaluation alone
    counter = FlopCounterMode(display=False, custom_mapping=_SOFTMAX_ON_CPU | _NO_TRANSPOSED)
    with torch.no_grad(), counter:
        network(network.random_input(1, n))
    counts = counter.get_flop_counts()["Global"]
    products = sum(count for kind, count in counts.items() if kind in _OF_ATTENTION)
    return int(sum(counts.values()) + 2 * products)


def activation_bytes(network: Network, n: int) -> int:
    """Bytes that autograd keeps from a forward pass of one image, parameters and buffers not counted."""
    own = {_storage(tensor) for tensor in (*network.parameters(), *network.buffers())}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        kept[_storage(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    network.train()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = network(network.random_input(1, n))
        total = sum(size for storage, size in kept.items() if storage not in own)
    del logits  # held until here: a storage freed early would lend its address to another
    return total


def speed(network: Network, n: int, batch: int, device: str) -> float:
    """Images a second, the median over forward passes of `batch` images after a warm-up."""
    network = network.to(device).eval()
    features = network.random_input(batch, n).to(device)

    def run() -> None:
        network(features)
        if features.is_cuda:
            torch.cuda.synchronize(features.device)

    with torch.no_grad():
        for _ in range(WARM_UP):
            run()
        return batch / statistics.median(_times(run))


def _times(run: Callable[[], None]) -> list[float]:
    times: list[float] = []
    while len(times) < LEAST_RUNS or sum(times) < LEAST_SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _softmax_attention(q: Any, k: Any, v: Any, *_: object, **__: object) -> int:
    """Operations of the fused attention kernel of a CPU, which the counter does not know by itself."""
    return int(sdpa_flop_count(q, k, v))  # type: ignore[no-untyped-call]


def _convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *_: object,
    out_shape: Any = None,
    **__: object,
) -> int:
    """Operations of a convolution, none of a transposed one."""
    return 0 if transposed else int(conv_flop_count(x, weight, out_shape))


_SOFTMAX_ON_CPU = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _softmax_attention}
_NO_TRANSPOSED = {torch.ops.aten.convolution: _convolution}
_OF_ATTENTION = (torch.ops.aten.bmm, *_SOFTMAX_ON_CPU)
