"""How fast tanks are simulated: boundary integrals on up to four curves, 32 electrodes in waves, ways to solve.

    PYTHONPATH=src python benchmarks/integrals.py --device cuda

Two rounded polygons (crosses among them) and two stars in a disk, of conductivity 0, 0.1, 5 and ∞, 64 nodes each; the
electrodes are solved for once. The time is that from parameters in tensors to the voltages of fifteen currents. Errors
are relative to LU in float64 (of the solution), and to 256 nodes and 96 waves (of U - U0, over all tanks looked at).
"""

import argparse
import math
import time
from collections.abc import Callable

import torch
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.forward import BoundaryIntegralSolver
from eitlens.forward.integral import solver as integral
from eitlens.forward.integral.outlines import check_nodes, outlines
from eitlens.phantom import Phantom, PhantomBatch, Star, cross, rectangle, stack

NODES, WAVES, ELECTRODES = 64, 32, 32
CONTRASTS = (0.0, 0.1, 5.0, math.inf)
CHECKED = 16
"""Tanks that are solved again with more nodes."""


def tanks(count: int) -> list[Phantom]:
    """Four shapes a tank, one around each of four places, which keeps them apart."""
    draw = torch.Generator().manual_seed(1)
    found = []
    for k in range(count):
        u = torch.rand(4, 5, dtype=torch.float64, generator=draw).tolist()
        places = [
            (0.48 * math.cos(a + 0.1 * r[0]) + 0.03 * r[1], 0.48 * math.sin(a + 0.1 * r[0]) + 0.03 * r[2])
            for a, r in zip((0.2, 1.8, 3.3, 4.9), u, strict=True)
        ]
        size, turn = [0.3 + 0.1 * r[3] for r in u], [6.3 * r[4] for r in u]
        first = (
            cross(places[0], size[0], 0.4 * size[0], turn[0])
            if k % 2
            else rectangle(places[0], (size[0], 0.2), turn[0])
        )
        second = rectangle(places[1], (0.3, 0.3 * size[1]), turn[1])
        stars = [Star(places[j], size[j] / 2, (0, 0.02 * math.cos(turn[j])), (0, 0, 0.02)) for j in (2, 3)]
        found.append(Phantom([first, second, *stars], CONTRASTS))
    return found


def clock(action: Callable[[], object], device: torch.device, seconds: float = 2.0) -> float:
    """The shortest time of at least three runs, after one to warm up."""
    times: list[float] = []
    action()
    while len(times) < 3 or sum(times) < seconds:
        synchronise(device)
        start = time.perf_counter()
        action()
        synchronise(device)
        times.append(time.perf_counter() - start)
    return min(times)


def synchronise(device: torch.device) -> None:
    """Wait for a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def refined(matrix: Tensor, right: Tensor, rounds: int) -> Tensor:
    """LU in float32, and residuals in float64."""
    factors, pivots = torch.linalg.lu_factor(matrix.float())
    found: Tensor = torch.linalg.lu_solve(factors, pivots, right.float()).double()
    for _ in range(rounds):
        found = found + torch.linalg.lu_solve(factors, pivots, (right - matrix @ found).float()).double()
    return found


def blocks_refined(matrix: Tensor, right: Tensor, block: int, rounds: int) -> Tensor:
    """Elimination by blocks in float32, each round anew, and residuals in float64."""
    small = matrix.float()
    found = integral.by_blocks(small, right.float(), block).double()
    for _ in range(rounds):
        found = found + integral.by_blocks(small, (right - matrix @ found).float(), block).double()
    return found


def ways() -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    """The ways to solve a batch of systems."""
    return {
        "LU, float64": torch.linalg.solve,
        "blocks of 64, float64": lambda a, b: integral.by_blocks(a, b, 64),
        "blocks of 32, float64": lambda a, b: integral.by_blocks(a, b, 32),
        "blocks of 16, float64": lambda a, b: integral.by_blocks(a, b, 16),
        "blocks of 128, float64": lambda a, b: integral.by_blocks(a, b, 128),
        "LU, float32, refined once": lambda a, b: refined(a, b, 1),
        "LU, float32, refined twice": lambda a, b: refined(a, b, 2),
        "blocks of 64, float32": lambda a, b: blocks_refined(a, b, 64, 0),
        "blocks of 64, float32, refined once": lambda a, b: blocks_refined(a, b, 64, 1),
        "blocks of 64, float32, refined twice": lambda a, b: blocks_refined(a, b, 64, 2),
    }


def row(name: str, seconds: float, count: int, note: str = "") -> None:
    """One line of the table."""
    print(f"{name:40}{1e3 * seconds / count:10.4f}{count / seconds:12,.0f}  {note}", flush=True)


def parts(batch: PhantomBatch, model: CompleteElectrodeSolver, drive: Tensor) -> None:
    """What each step takes."""
    device, count = batch.device, len(batch)
    domain, map_ = model.solver.domain, model.solver
    curves = outlines(domain, batch, NODES)
    row("curves", clock(lambda: outlines(domain, batch, NODES), device), count)
    row("check of the nodes", clock(lambda: check_nodes(domain, batch, curves), device), count)
    row("matrix", clock(lambda: integral._transmission(curves), device), count)
    body = map_.modes(batch, WAVES)
    row("matrix, solution and waves", clock(lambda: integral._between_waves(curves, WAVES), device), count)
    tank = model._tank(batch.outside, WAVES)
    row("electrodes", clock(lambda: drive @ tank.change(body), device), count)
    row("all", clock(lambda: model.difference(batch, drive), device), count)


def solutions(batch: PhantomBatch, domain: Disk) -> None:
    """The ways to solve, on the systems of these tanks with two waves for each order."""
    curves = outlines(domain, batch, NODES)
    matrix = integral._transmission(curves)
    right = torch.randn(len(batch), matrix.shape[-1], 2 * WAVES, dtype=torch.float64).to(matrix.device)
    exact = torch.linalg.solve(matrix, right)
    for name, way in ways().items():
        error = float((way(matrix, right) - exact).norm() / exact.norm())
        row(name, clock(lambda way=way: way(matrix, right), batch.device), len(batch), f"error {error:.1e}")  # type: ignore[misc]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, nargs="+", help="tanks at once")
    given = parser.parse_args()
    device = torch.device(given.device)
    torch.set_grad_enabled(False)
    domain = Disk(4)
    electrodes = Electrodes.even(domain, ELECTRODES, 0.63, 1e-4)
    model = CompleteElectrodeSolver(BoundaryIntegralSolver(domain, nodes=NODES), electrodes, waves=WAVES)
    drive = torch.eye(ELECTRODES, dtype=torch.float64, device=device)[0:30:2]
    drive = drive - drive.roll(2, -1)
    sizes = given.batch or ([1, 16] if device.type == "cpu" else [256, 1024, 4096])
    some = tanks(CHECKED)
    fine = CompleteElectrodeSolver(BoundaryIntegralSolver(domain, nodes=256), electrodes, waves=96)
    found, exact = (m.difference(stack(some, device), drive) for m in (model, fine))
    error = (found - exact).norm(dim=(1, 2)) / exact.norm(dim=(1, 2))
    crosses = torch.arange(CHECKED, device=device) % 2 == 1
    print(
        f"{device}: error of U - U0, 64 nodes and 32 waves against 256 and 96, the worst of {CHECKED} tanks:"
    )
    print(f"  with a cross {float(error[crosses].max()):.1e}, without {float(error[~crosses].max()):.1e}")
    print(f"{'':40}{'ms/tank':>10}{'tanks/s':>12}")
    pool = tanks(min(256, max(sizes)))
    for size in sizes:
        batch = stack([pool[k % len(pool)] for k in range(size)], device)
        print(f"batch of {size}")
        parts(batch, model, drive)
        if device.type == "cuda":
            print(f"peak memory {torch.cuda.max_memory_allocated(device) / 2**30:.1f} GiB")
    print("ways to solve the systems")
    solutions(
        stack([pool[k % len(pool)] for k in range(sizes[-1] if device.type == "cpu" else 1024)], device),
        domain,
    )


if __name__ == "__main__":
    main()
