"""A network as an ONNX file, for the browser and for anything else that runs without PyTorch.

The grid is fixed at export, since networks that work on one of their own resize to it with constant weights;
the batch is free. Input `features`, output `logits`. Every file is run in onnxruntime before it is handed
over.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from eitlens.errors import InputError
from eitlens.files import disk_errors, fresh, make_folder
from eitlens.models.base import Network

TOLERANCE = 1e-4  # of the logits: float32 sums in another order are off by 1e-5


def export_onnx(network: Network, path: str | Path, n: int = 201, batch: int | None = None) -> float:
    """Write the network for n × n grids to `path`; returns its largest difference from PyTorch.

    Args:
        network: one that reads fields; one that reads codes is exported with what makes them, by `eitlens export`.
        path: where to write.
        n: nodes a side of the grid.
        batch: images a call; None leaves it free, at two to three times the time to export.
    """
    need_packages()
    if network.reads != "harmonic":
        raise InputError(
            f"{network.preset} reads codes: `eitlens export {network.preset} -o FILE` writes them in as well"
        )
    training = network.training
    network.eval()
    make_folder(Path(path).parent)
    try:
        free = None if batch else ({0: torch.export.Dim("batch")},)
        sample = network.random_input(batch or 2, n, torch.Generator().manual_seed(0))
        with fresh(Path(path)) as (partial,):
            write_graph(network, partial, ["logits"], free, features=sample)
            difference = _difference(network, partial, n, batch or 3)
            if not difference <= TOLERANCE:
                raise RuntimeError(
                    f"{path}: onnxruntime differs from PyTorch by {difference:.1e}, more than {TOLERANCE:g}"
                )
    finally:
        network.train(training)
    return difference


def _difference(network: Network, path: str | Path, n: int, batch: int) -> float:
    """The largest difference between file and network on `batch` images, relative where logits exceed 1."""
    features = network.random_input(batch, n, torch.Generator().manual_seed(0))
    (logits,) = run_graph(path, features=features)
    with torch.no_grad():
        expected = network(features)
    return float((logits - expected).abs().max() / expected.abs().max().clamp(min=1))


def write_graph(
    module: nn.Module, path: Path, outputs: Sequence[str], dynamic_shapes: Any = None, **inputs: Tensor
) -> None:
    """Trace the module on the named inputs and write it."""
    with torch.no_grad(), _quiet_exporter(), disk_errors(path):
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            path,
            dynamo=True,
            dynamic_shapes=dynamic_shapes,
            input_names=list(inputs),
            output_names=list(outputs),
            external_data=False,
            verbose=False,
        )


def run_graph(path: str | Path, **inputs: Tensor) -> list[Tensor]:
    """The outputs of a written graph."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found = session.run(None, {name: values.numpy() for name, values in inputs.items()})
    return [torch.from_numpy(values) for values in found]


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Silence the exporter's remarks on its own deprecations and on packages that nobody asked for."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)


def need_packages() -> None:
    """Raise an error that says what to install, unless all is there."""
    for name in ("onnx", "onnxruntime", "onnxscript"):
        if find_spec(name) is None:
            raise InputError(f"exporting needs the package {name}: pip install 'eitlens[export]'")
