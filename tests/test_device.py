"""What can be known of the GPU kernels without a GPU; their numbers are in models/test_kernels.py."""

from types import SimpleNamespace

import pytest
import torch

from eitlens import device
from eitlens.models import kernels


@pytest.mark.parametrize("triton", [True, False])
def test_without_triton_the_plain_forms_are_used(triton, monkeypatch):
    monkeypatch.setattr(device, "TRITON", triton)
    image = SimpleNamespace(is_cuda=True, shape=(2, 16, 8, 8), dtype=torch.float32)
    assert kernels.usable(image) == triton


def test_a_kernel_runs_on_the_gpu_of_its_image(monkeypatch):
    current = ["cuda:0"]

    class Device:
        def __init__(self, device):
            self.device = device

        def __enter__(self):
            current.append(self.device)

        def __exit__(self, *_):
            current.pop()

    class Kernel:
        def __getitem__(self, grid):
            return lambda *given: ran.append((grid, current[-1], given[1:]))

    ran = []
    monkeypatch.setattr(torch.cuda, "device", Device)
    kernels._launch(Kernel(), (2, 3), SimpleNamespace(device="cuda:1"), 4, 5)
    assert ran == [((2, 3), "cuda:1", (4, 5))]
    assert current == ["cuda:0"]
