"""How fast the physics is: both forward solvers against scipy's sparse LU, and the harmonic extension.

make bench-physics, or on a GPU: PYTHONPATH=src python3 benchmarks/physics.py --device cuda

The LU factors the grid solver's own matrix, kinks included, with the fastest of its orderings and modes, and then
solves for all currents; assembling the matrix is not counted. The solvers are timed from phantoms to boundary data.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitlens.domain import Square
from eitlens.feature import harmonic_extension
from eitlens.forward import BoundaryIntegralSolver, GridSolver, Solver, currents
from eitlens.forward.grid.conductivity import as_grid_conductivity
from eitlens.forward.grid.system import System, assemble
from eitlens.phantom import EllipseSampler, PhantomBatch

CPU = torch.device("cpu")
Ordering = Literal["MMD_AT_PLUS_A", "COLAMD", "MMD_ATA"]
ORDERINGS: tuple[Ordering, ...] = ("MMD_AT_PLUS_A", "COLAMD", "MMD_ATA")


@dataclass(frozen=True)
class Row:
    """One line of the table: what took how long for how many samples."""

    name: str
    batch: int
    seconds: float

    def line(self, currents: int, reference: float | None) -> str:
        """The line, with the speed relative to `reference` seconds a sample."""
        each = self.seconds / self.batch
        ratio = f"{reference / each:9.1f}" if reference else " " * 9
        return f"{self.name:38}{self.batch:7}{1e3 * each:12.3f}{currents / each:18,.0f}{ratio}"


def fastest(action: Callable[[], object], device: torch.device, seconds: float = 3.0) -> float:
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


def full_matrix(system: System, n: int) -> sparse.csc_matrix:
    """The matrix between all nodes and kinks of the first sample of a system."""
    size, kinks = (n + 1) ** 2, system.follower.shape[1]
    nodes, used = system.nodes[0].numpy(), np.arange(kinks)
    ends = np.r_[0.5, np.ones(n - 1), 0.5]
    line = sparse.diags([-np.ones(n), 2 * ends, -np.ones(n)], [-1, 0, 1])
    middle = sparse.diags(ends)
    uniform = sparse.kron(line, middle) + sparse.kron(middle, line) - sparse.kron(line, line) / 6
    entries = [entry[0].numpy() for entry in system.entries]
    rows, columns, values = [], [], []
    for k in range(9):
        rows.append(nodes)
        columns.append(nodes[system.neighbours[0, k].numpy()])
        values.append(entries[0][k])
    for k in range(4):
        at = nodes[system.vertices[0, k].numpy()]
        rows += [size + used, at]
        columns += [at, size + used]
        values += [entries[1][k], entries[1][k]]
    after = size + system.follower[0].numpy()
    rows += [size + used, size + used, after]
    columns += [size + used, after, size + used]
    values += [np.ones(kinks), entries[2], entries[2]]
    index = (np.concatenate(rows), np.concatenate(columns))
    change = sparse.coo_matrix((np.concatenate(values), index), shape=(size + kinks, size + kinks))
    whole = sparse.block_diag([uniform, sparse.csr_matrix((kinks, kinks))]) + change
    return sparse.csc_matrix(whole)


def lu_rows(square: Square, batch: PhantomBatch, g: Tensor) -> Iterator[Row]:
    """The fastest sparse LU, and its data checked against the grid solver's."""
    body, _ = as_grid_conductivity(square, batch[:1], CPU)
    matrix = full_matrix(assemble(*body.elements(square)), square.n)[1:, 1:]
    matrix.eliminate_zeros()
    loop = square.loop().numpy()
    load = np.zeros((matrix.shape[0] + 1, len(g)))
    load[loop] = square.boundary_weight * g.numpy().T

    def solve(ordering: Ordering, symmetric: bool) -> NDArray[np.float64]:
        threshold = 0.0 if symmetric else None
        factors = linalg.splu(matrix, ordering, threshold, options={"SymmetricMode": symmetric})
        return np.asarray(factors.solve(load[1:]))

    trials = {
        (name, symmetric): fastest(partial(solve, name, symmetric), CPU, 1.0)
        for name in ORDERINGS
        for symmetric in (True, False)
    }
    best = min(trials, key=lambda trial: trials[trial])
    f = np.pad(solve(*best), ((1, 0), (0, 0)))[loop].T
    exact = GridSolver(square, tolerance=1e-12).trace(batch[:1], g)[0].numpy()
    gap = np.abs(f - f.mean(1, keepdims=True) - exact).max() / np.abs(exact).max()
    assert gap < 1e-9, f"the LU solves another matrix: {gap:.1e}"
    yield Row(f"sparse LU ({best[0]}{', symmetric' if best[1] else ''})", 1, trials[best])


def solver_rows(square: Square, sampler: EllipseSampler, g: Tensor, batches: list[int]) -> Iterator[Row]:
    """Both solvers, from phantoms to boundary data."""
    solvers: list[Solver] = [GridSolver(square), BoundaryIntegralSolver(square)]
    for solver in solvers:
        for count in batches:
            batch = sampler.batch(0, count, g.device)
            seconds = fastest(partial(solver.difference, batch, g), g.device)
            yield Row(type(solver).__name__, count, seconds)


def extension_rows(square: Square, g: Tensor, batches: list[int]) -> Iterator[Row]:
    """Harmonic extensions with their gradients; one for each current of each sample."""
    for count in batches:
        data = g.expand(count, -1, -1).contiguous()
        seconds = fastest(partial(harmonic_extension, square, data, gradient=True), g.device)
        yield Row("harmonic extension with gradient", count, seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--n", type=int, default=200, help="cells a side")
    parser.add_argument("--currents", type=int, default=3)
    parser.add_argument("--batch", type=int, nargs="+", help="samples at once")
    options = parser.parse_args()
    device = torch.device(options.device)
    square, sampler = Square(options.n), EllipseSampler(seed=0, disjoint=True)
    g = currents.cosine(square, options.currents).to(device)
    batches = options.batch or ([1, 16] if device.type == "cpu" else [1, 64, 2048])
    where = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    )
    print(
        f"{options.n} cells a side, {options.currents} currents, four ellipses, contrast 10; {device} ({where})"
    )
    print(f"{'':38}{'batch':>7}{'ms/sample':>12}{'sample-currents/s':>18}{'× LU':>9}")
    reference = None
    for row in lu_rows(square, sampler.batch(0, 1), g.cpu()):
        reference = row.seconds / row.batch
        print(row.line(options.currents, None))
    for row in solver_rows(square, sampler, g, batches):
        print(row.line(options.currents, reference), flush=True)
    for row in extension_rows(square, g, batches):
        print(row.line(options.currents, None), flush=True)
    if device.type == "cpu" and torch.get_num_threads() > 1:
        torch.set_num_threads(1)
        print("on one thread, as the LU, which is often the faster when other programs run:")
        for row in solver_rows(square, sampler, g, batches[:1]):
            print(row.line(options.currents, reference), flush=True)


if __name__ == "__main__":
    main()
