"""Memory does not grow with the batch: two thousand bodies in a process that has little of it."""

import os
import subprocess
import sys

import pytest

BUDGET, BODIES = 64, 2000
PROGRAM = f"""
import dataclasses, resource, torch
from eitlens import memory
memory._CPU_BUDGET = {BUDGET} * 2**20
from eitlens.domain import Disk
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.electrodes.base import by_elements
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Phantom, circle, stack

row = Electrodes.even(Disk(8, 64), 8, 0.5, 0.01)
eye = torch.eye(8, dtype=torch.float64)
currents = (eye - eye.roll(1, 1))[:4]
batch = stack([Phantom([circle((0.2, 0.1), 0.3)], 3.0)] * {BODIES})
batch = dataclasses.replace(batch, outside=torch.linspace(0.5, 2.0, {BODIES}, dtype=torch.float64))
exact = CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(8, 64), nodes=32), row, 8, 12)
elements = dataclasses.replace(by_elements(row), size=0.4)
sigma = 1 + torch.rand({BODIES}, len(elements.body.mesh.triangles), dtype=torch.float64)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10

with torch.inference_mode():
    for solve, some, all_ in (
        (exact.difference, batch[:4], batch), (elements.voltages, sigma[:4], sigma)
    ):
        solve(some, currents)
        before = peak()
        assert solve(all_, currents).shape == ({BODIES}, 4, 8)
        print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
def test_two_thousand_bodies() -> None:
    """At once they would take 2,000 matrices of 64² and more for the exact electrodes alone: several GiB."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    for grown in map(float, told.stdout.split()):
        assert grown < 4 * BUDGET
