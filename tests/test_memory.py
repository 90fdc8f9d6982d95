"""Chunks that fit the memory there is."""

import pytest
import torch

from eitlens.memory import chunk_size

GIB = 2**30


def test_a_chunk_is_never_empty_and_fits_the_budget_of_a_cpu():
    cpu = torch.device("cpu")
    assert chunk_size(100 * GIB, cpu) == 1
    assert chunk_size(0, cpu) > 0
    assert chunk_size(2**20, cpu) == 256


@pytest.mark.parametrize(("free", "reserved", "expected"), [(100, 0, 8), (4, 0, 2), (1, 5, 2)])
def test_what_torch_has_put_by_on_a_gpu_is_free(free, reserved, expected, monkeypatch):
    """Half of what is free, 8 GiB at most; of what is reserved 2 GiB are in use."""
    used = 2 if reserved else 0
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free * GIB, 200 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: reserved * GIB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: used * GIB)
    assert chunk_size(GIB, torch.device("cuda")) == expected
