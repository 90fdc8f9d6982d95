"""How fast finite elements are beside pyEIT's, in one run on the same cores.

    python -m venv /tmp/pyeit-venv && /tmp/pyeit-venv/bin/pip install pyeit==1.2.4 "numpy<2"
    python benchmarks/pyeit.py /tmp/pyeit-venv/bin/python [--threads 2] [--out benchmarks/results/pyeit_cpu.json]

A disk, 16 electrodes, adjacent currents, σ by triangle, about 1,500 and 6,000 nodes: one body, 32 bodies, and the
Jacobian of all readings in σ. pyEIT, which is no part of this package, has linear elements and electrodes that are
points; ours are quadratic ones and the complete electrode model, on about as many nodes. Each is timed by itself,
the shortest of a few runs, so that what else the machine does matters little.
"""

import argparse
import json
import math
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import torch

from eitlens.device import available_cores
from eitlens.domain import Disk
from eitlens.forward import ElementElectrodeSolver

ELECTRODES, BATCH = 16, 32
SIZES = ((0.2, 0.05), (0.0525, 0.0247))
"""Edges of ours and of pyEIT's meshes, for about 1,500 and 6,000 nodes."""
BARS = {"one": 5.0, "batch": 15.0, "jacobian": 50.0}
"""Times as fast as pyEIT, at least."""
THEIRS = """
import json, sys, time
import numpy as np
import pyeit.eit.protocol as protocol
import pyeit.mesh as mesh
from pyeit.eit.fem import EITForward
body = mesh.create(16, h0=float(sys.argv[1]))
model = EITForward(body, protocol.create(16, dist_exc=1, step_meas=1, parser_meas="std"))
sigma = np.random.default_rng(0).uniform(0.5, 2.0, len(body.element))
def fastest(action, times):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)
forward = fastest(lambda: model.solve_eit(perm=sigma), 10)
jacobian = fastest(lambda: model.compute_jac(perm=sigma), 3)
print(json.dumps({"nodes": len(body.node), "one": forward, "batch": forward, "jacobian": jacobian}))
"""


def fastest(action: Callable[[], object], seconds: float = 2.0) -> float:
    """The shortest time of at least three runs, after one to warm up."""
    times: list[float] = []
    action()
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(size: float) -> dict[str, float]:
    """Seconds a body, and how many nodes there are."""
    pitch = 2 * math.pi / ELECTRODES
    start = torch.arange(ELECTRODES, dtype=torch.float64) * pitch
    contact = torch.full((ELECTRODES,), 0.01, dtype=torch.float64)
    solver = ElementElectrodeSolver(Disk(8), start, start + pitch / 2, contact, size)
    eye = torch.eye(ELECTRODES, dtype=torch.float64)
    given = eye - eye.roll(1, 1)
    sigma = torch.rand(BATCH, len(solver.body.mesh.triangles), dtype=torch.float64) * 1.5 + 0.5
    with torch.inference_mode():
        one = fastest(lambda: solver.voltages(sigma[0], given))
        many = fastest(lambda: solver.voltages(sigma, given)) / BATCH
    matrix = fastest(lambda: solver.jacobian(sigma[0], given, given).matrix())
    return {"nodes": solver.body.mesh.nodes, "one": one, "batch": many, "jacobian": matrix}


def theirs(python: str, size: float, threads: int) -> dict[str, float]:
    """The same of pyEIT."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    told = subprocess.run(
        [python, "-I", "-c", THEIRS, str(size)], capture_output=True, text=True, check=True, env=environment
    )
    found: dict[str, float] = json.loads(told.stdout)
    return found


def line(name: str, row: dict[str, float]) -> None:
    """One line of the table."""
    print(f"{name:14}{row['nodes']:8.0f}" + "".join(f"{1e3 * row[key]:14.2f}" for key in BARS), flush=True)


def main() -> None:
    """Print the table and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="of an environment with pyEIT")
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"{given.threads} threads{'nodes':>13}{'one, ms':>14}{'of 32, ms':>14}{'Jacobian, ms':>14}")
    pairs = []
    for size, other in SIZES:
        pair = {"pyeit": theirs(given.python, other, given.threads), "eitlens": ours(size)}
        ratios = {key: pair["pyeit"][key] / pair["eitlens"][key] for key in BARS}
        for name, row in pair.items():
            line(name, row)
        print(f"{'times as fast':22}" + "".join(f"{ratios[key]:14.1f}" for key in BARS), flush=True)
        pairs.append((pair, ratios))
    if given.out:
        rows = [pair | {"times": ratios} for pair, ratios in pairs]
        given.out.write_text(json.dumps({"threads": given.threads, "rows": rows}, indent=1) + "\n")
    for pair, ratios in pairs:
        short = [key for key, bar in BARS.items() if ratios[key] < bar]
        if short:
            raise SystemExit(f"at {pair['eitlens']['nodes']} nodes too slow: {', '.join(short)}")


if __name__ == "__main__":
    main()
