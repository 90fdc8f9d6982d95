"""Threads: limited in the calling thread alone, as many as there are free cores, and nobody else notices."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from eitlens import threads

SCRIPT = """
import sys, torch
from pathlib import Path
import eitlens as eit
from eitlens import threads
from eitlens.dataset import DataConfig, generate
before = torch.get_num_threads()
small = dict(name="small", n=16, train=4, validation=2, test=2, currents=dict(count=1))
generate(DataConfig.from_dict(small), Path(sys.argv[1]) / "data", workers=1)
square = eit.Square(16)
eit.GridSolver(square).difference(eit.Phantom([eit.circle((0.2, 0.1), 0.3)]), eit.currents.cosine(square, 1))
assert torch.get_num_threads() == before
with threads.Limit(2):
    a = torch.randn(16, 256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert float((a @ torch.linalg.solve(a, a[..., :8]) - a[..., :8]).abs().max()) < 1e-8
a = torch.randn(16, 256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
assert float((a @ torch.linalg.solve(a, a[..., :8]) - a[..., :8]).abs().max()) < 1e-8
"""


@pytest.fixture
def two():
    torch.get_num_threads()  # at its first call in a thread torch sets the threads
    with threads._controller().limit(limits=2, user_api="openmp"):
        yield


def in_another_thread() -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()


def test_a_limit_holds_in_its_own_thread_until_its_end(two):
    elsewhere = in_another_thread()
    with threads.Limit(1):
        assert torch.get_num_threads() == 1
        assert in_another_thread() == elsewhere
        with threads.Limit(2):
            assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("others", "used"), [(0, 2), (1, 1), (2, 1), (9, 1)])
def test_cores_of_other_processes_are_left_to_them(two, monkeypatch, others, used):
    monkeypatch.setattr(threads, "_others", lambda: others)
    monkeypatch.setattr(threads, "available_cores", lambda: 2)
    with threads.free_cores_only():
        assert torch.get_num_threads() == used


def test_systems_that_do_not_tell_count_as_quiet(monkeypatch, tmp_path):
    monkeypatch.setattr(threads, "_LOAD", tmp_path / "nothing")
    assert threads._others() == 0


def test_the_users_own_solves_stay_right(tmp_path):
    """Setting the threads of the process to one and back spoils MKL's batched LU; ours must not."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
