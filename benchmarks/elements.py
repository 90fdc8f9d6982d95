"""How fast finite elements are: against pyEIT on one core, and tanks a second on a GPU.

    python benchmarks/elements.py [--device cuda] [--pyeit FOLDER/bin/python] [--bodies 4096]

1. With --pyeit, the Python of an environment with pyEIT: a disk, 16 electrodes, adjacent currents, σ by triangle, about
   1,500 and 6,000 nodes, one body, 32 bodies, the Jacobian. pyEIT has linear elements and point electrodes; ours are
   quadratic ones and the complete electrode model on as many nodes.
2. Without it, tanks a second on the device: 32 electrodes, currents through every second one (rank 15), three shapes
   of contrasts from 1/200 to 200, from phantoms to U - U0 and from σ by triangle to U; stages, residuals, and a
   variant in float32 with a step of refinement, and one as a CUDA graph.
"""

import argparse
import math
import subprocess
import time
from collections.abc import Callable

import torch
from torch import Tensor

from eitlens.domain import Disk
from eitlens.forward import ElementElectrodeSolver, MeshField
from eitlens.forward.elements.conductivity import read
from eitlens.forward.elements.interfaces import fit
from eitlens.forward.elements.sweep import factorise, substitute
from eitlens.forward.elements.system import ElementSystem, assemble
from eitlens.forward.elements.tree import Tree
from eitlens.phantom import Ellipse, Phantom, PhantomBatch, stack

SIZES = ((0.2, 0.05), (0.0525, 0.0247))  # ours and pyEIT's, for about 1,500 and 6,000 nodes
THEIRS = """
import sys, time
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
print(len(body.node), fastest(lambda: model.solve_eit(perm=sigma), 5))
print(fastest(lambda: model.compute_jac(perm=sigma), 1))
"""


def tank(
    count: int, coverage: float, impedance: float, size: float, device: torch.device
) -> ElementElectrodeSolver:
    """Even electrodes on the unit disk."""
    pitch = 2 * math.pi / count
    start = torch.arange(count, dtype=torch.float64, device=device) * pitch
    contact = torch.full((count,), impedance, dtype=torch.float64, device=device)
    return ElementElectrodeSolver(Disk(8), start, start + coverage * pitch, contact, size)


def fastest(action: Callable[[], object], device: torch.device, seconds: float = 2.0) -> float:
    """The shortest time of at least three runs, after one to warm up."""
    times: list[float] = []
    action()
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        action()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times)


def against_pyeit(python: str) -> None:
    """One table, both in this run on one thread."""
    cpu = torch.device("cpu")
    torch.set_num_threads(1)
    given = torch.eye(16, dtype=torch.float64) - torch.eye(16, dtype=torch.float64).roll(1, 1)
    print(f"{'':28}{'nodes':>8}{'one, ms':>10}{'of 32, ms':>11}{'Jacobian, ms':>14}")
    for ours, theirs in SIZES:
        compare(python, str(theirs), tank(16, 0.5, 0.01, ours, cpu), given)


def compare(python: str, theirs: str, solver: ElementElectrodeSolver, given: Tensor) -> None:
    """Three lines of the table."""
    cpu, count = torch.device("cpu"), len(solver.body.mesh.triangles)
    sigma = torch.rand(32, count, dtype=torch.float64) * 1.5 + 0.5
    with torch.inference_mode():
        one = fastest(lambda: solver.voltages(sigma[0], given), cpu)
        many = fastest(lambda: solver.voltages(sigma, given), cpu) / 32
    matrix = fastest(lambda: solver.jacobian(sigma[0], given, given).matrix(), cpu)
    command, single = [python, "-c", THEIRS, theirs], {"OMP_NUM_THREADS": "1"}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=single)
    nodes, forward, jacobian = map(float, told.stdout.split())
    for name, size, row in (
        ("pyEIT", nodes, (forward, forward, jacobian)),
        ("eitlens", solver.body.mesh.nodes, (one, many, matrix)),
    ):
        print(f"{name:28}{size:8.0f}{1e3 * row[0]:10.2f}{1e3 * row[1]:11.2f}{1e3 * row[2]:14.2f}")
    print(
        f"{'times as fast':28}{'':8}{forward / one:10.1f}{forward / many:11.1f}{jacobian / matrix:14.1f}",
        flush=True,
    )


def tanks(count: int, device: torch.device) -> PhantomBatch:
    """Two ellipses apart, and a third that may lie on one of them; a twentieth to twenty, or 1/200 to 200."""
    random = torch.Generator().manual_seed(0)
    bodies = []
    for _ in range(min(count, 256)):
        u = torch.rand(13, generator=random).tolist()
        shapes = [
            Ellipse((0.3 + 0.2 * u[0], 0.4 * u[1] - 0.2), (0.15 + 0.2 * u[2], 0.15 + 0.2 * u[3]), 3 * u[4]),
            Ellipse(
                (-0.4 + 0.1 * u[5], 0.3 - 0.6 * u[6]), (0.15 + 0.15 * u[7], 0.15 + 0.15 * u[8]), 3 * u[9]
            ),
            Ellipse((0.0, 0.5 * u[10]), (0.2, 0.2)),
        ]
        bodies.append(Phantom(shapes, [200.0, 1 / 200, 20.0 ** (2 * u[11] - 1)]))
    batch = stack(bodies)
    index = torch.arange(count) % len(bodies)
    return batch[index].to(device)


def currents(device: torch.device) -> Tensor:
    """Between neighbours among the electrodes of even number: 16 of rank 15."""
    given = torch.zeros(16, 32, dtype=torch.float64, device=device)
    for k in range(16):
        given[k, 2 * k], given[k, (2 * k + 2) % 32] = 1.0, -1.0
    return given


def apply(tree: Tree, entries: Tensor, u: Tensor) -> Tensor:
    """A u."""
    cut = [36 * len(tree.members), 16 * len(tree.extras)]
    found = torch.zeros_like(u)
    for part, members, width in zip(
        torch.split(entries, [*cut, 1], 1), (tree.members, tree.extras), (6, 4), strict=False
    ):
        charges = part.view(len(part), -1, width, width) @ u[:, members]
        found = found.index_add(1, members.flatten(), charges.flatten(1, 2))
    return found.index_add(
        1, torch.zeros(1, dtype=torch.int64, device=u.device), entries[:, -1:, None] * u[:, :1]
    )


def residual(system: ElementSystem, load: Tensor, u: Tensor) -> float:
    """The largest of ‖load - A u‖ / ‖load‖."""
    rest = load - apply(system.tree, system.whole, u)
    return float((rest.norm(dim=1) / load.norm(dim=1)).max())


def on_device(device: torch.device, bodies: int, part: int, size: float) -> None:
    """Rates of the whole way and of its stages."""
    solver = tank(32, 0.5, 1e-3, size, device)
    body, given, batch = solver.body, currents(device), tanks(bodies, device)
    parts = [(tuple(x.inner.shape), x.outer.shape[1]) for x in body.tree.levels]
    print(f"\n{body.mesh.nodes} nodes, {len(body.mesh.triangles)} triangles, on {device}; parts {parts}")
    triangles = torch.rand(bodies, len(body.mesh.triangles), dtype=torch.float64, device=device)
    field = MeshField(10 ** (4.6 * triangles - 2.3))
    with torch.inference_mode():
        for name, action in (
            ("phantoms to U - U0", lambda: solver.difference(batch, given)),
            ("phantoms to U", lambda: solver.voltages(batch, given)),
            ("σ by triangle to U", lambda: solver.voltages(field, given)),
        ):
            print(f"  {name:24}{bodies / fastest(action, device):12,.0f} tanks/s", flush=True)
        if device.type == "cuda":
            print(f"  memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
        stages(solver, batch[torch.arange(min(part, bodies), device=device)], given)


def stages(solver: ElementElectrodeSolver, batch: PhantomBatch, given: Tensor) -> None:
    """Microseconds a tank for each stage of one part of a batch, and variants."""
    device, count, body = given.device, len(batch), solver.body
    tree, frame = body.tree.to(device), body.frame.to(device)
    bodies = read(solver.domain, body, batch, device)
    admittance = 1 / solver.impedance
    system = assemble(body, tree, frame, bodies, admittance)
    whole = system.whole
    load = torch.nn.functional.pad(given[:15], (body.mesh.nodes, 0)).mT[None].contiguous()
    pivots = factorise(tree, whole)
    u = substitute(tree, pivots, load)

    def single() -> Tensor:
        some = factorise(tree, whole.float())
        first = substitute(tree, some, load.float()).double()
        rest = load - apply(tree, whole, first)
        return first + substitute(tree, some, rest.float()).double()

    rows: list[tuple[str, Callable[[], object]]] = [
        ("fit", lambda: fit(frame, batch)),
        ("fit and assemble", lambda: assemble(body, tree, frame, bodies, admittance)),
        ("factorise", lambda: factorise(tree, whole)),
        ("substitute", lambda: substitute(tree, pivots, load)),
        ("float32, refined once", single),
    ]
    if device.type == "cuda":
        rows += graph(tree, whole, load)
    for name, action in rows:
        print(f"    {name:24}{1e6 * fastest(action, device, 1.0) / count:12.2f} µs a tank", flush=True)
    print(
        f"    residuals: {residual(system, load, u):.1e}, in float32, refined, {residual(system, load, single()):.1e}"
    )


def graph(tree: Tree, whole: Tensor, load: Tensor) -> list[tuple[str, Callable[[], object]]]:
    """The solution as a CUDA graph, where the libraries below allow one."""
    captured = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(captured):
            substitute(tree, factorise(tree, whole), load)
    except RuntimeError as error:
        print(f"    no CUDA graph: {str(error).splitlines()[0]}")
        return []
    return [("solution as CUDA graph", captured.replay)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pyeit")
    parser.add_argument("--bodies", type=int)
    parser.add_argument("--part", type=int, default=256)
    given = parser.parse_args()
    device = torch.device(given.device)
    if given.pyeit:
        against_pyeit(given.pyeit)
        return
    for size in (0.17, 0.1):
        on_device(device, given.bodies or (4096 if device.type == "cuda" else 16), given.part, size)


if __name__ == "__main__":
    main()
