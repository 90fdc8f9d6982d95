"""Error at equal cost: boundary integrals, quadratic and linear elements, on sharp inclusions in a tank.

    python validation/equal_cost.py

A disk with 16 electrodes, coverage 0.5, four bodies with a circle, a rectangle and a cross that conducts 100 times as
well or as badly. Error of U - U0 of fifteen adjacent currents against boundary integrals with 256 nodes an outline, and
milliseconds a body on one thread, electrodes and meshes being there already.

1. Boundary integrals with 24 to 96 nodes an outline.
2. Quadratic elements whose mesh follows the outlines, by size.
3. The same elements on the mesh as it is, with σ of each triangle by averages over it: arithmetic, harmonic, and the
   geometric mean of the two, which is what σ in a triangle that an outline cuts is often taken to be.
4. Linear elements on that mesh, with the geometric mean.
"""

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu
from study import OUT, expect
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.electrodes.base import by_elements
from eitlens.figures.style import picture
from eitlens.files import write_json
from eitlens.forward import BoundaryIntegralSolver, ElementElectrodeSolver, MeshField
from eitlens.phantom import Phantom, PhantomBatch, circle, cross, rectangle, stack

ROW = Electrodes.even(Disk(8), 16, 0.5, 0.01)
CURRENTS = (torch.eye(16, dtype=torch.float64) - torch.eye(16, dtype=torch.float64).roll(1, 1))[:15]
NODES, SIZES, EXACT = (24, 32, 48, 64, 96), (0.16, 0.12, 0.09, 0.0628, 0.045), 256
CONTRAST, REPEAT, FINE = 100.0, 2, 6
"""FINE² points a triangle stand for the average over it."""
INTEGRALS, FOLLOWED, LINEAR = "boundary integrals", "quadratic, following outlines", "linear, geometric mean"
Row = tuple[float, float]


def bodies() -> list[Phantom]:
    """Three shapes in four places each."""
    found = []
    for k in range(4):
        turn = 0.4 + 1.7 * k
        places = [(0.5 * math.cos(turn + 2.1 * j), 0.5 * math.sin(turn + 2.1 * j)) for j in range(3)]
        shapes = [
            circle(places[0], 0.2),
            rectangle(places[1], (0.4, 0.2), turn, 0.01),
            cross(places[2], 0.5, 0.18, turn, 0.01),
        ]
        inside = [CONTRAST ** (1 if (k + j) % 2 else -1) for j in range(3)]
        found.append(Phantom(shapes, inside))
    return found


def measured(action: Callable[[], Tensor], exact: Tensor) -> Row:
    """Milliseconds a body and the mean relative error."""
    found, times = action(), []
    for _ in range(REPEAT):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    error = ((found - exact).norm(dim=(1, 2)) / exact.norm(dim=(1, 2))).mean()
    return 1e3 * min(times) / len(exact), float(error)


def averages(solver: ElementElectrodeSolver, batch: PhantomBatch) -> dict[str, Tensor]:
    """σ of each triangle of the mesh as it is."""
    frame = solver.body.frame
    corners = frame.vertices[frame.triangles[:, :3]]
    part = (torch.arange(FINE, dtype=torch.float64) + 1 / 3) / FINE
    a, b = (x.flatten() for x in torch.meshgrid(part, part, indexing="ij"))
    inside = a + b < 1
    weight = torch.stack([1 - a - b, a, b], -1)[inside]
    places = torch.einsum("pk,tkc->tpc", weight, corners)
    sigma = batch.outlined().conductivity(places.flatten(0, 1)[None]).view(len(batch), *places.shape[:2])
    mean, harmonic = sigma.mean(2), 1 / (1 / sigma).mean(2)
    return {"arithmetic": mean, "harmonic": harmonic, "geometric mean": (mean * harmonic).sqrt()}


def linear(solver: ElementElectrodeSolver, sigma: Tensor) -> Callable[[], Tensor]:
    """Linear elements on the vertices of the mesh, contacts as well, factorised by scipy's sparse LU."""
    frame, under, count = solver.body.frame, solver.body.contacts[:, :2], solver.count
    corners, size = frame.triangles[:, :3], len(frame.vertices)
    x = frame.vertices[corners]
    edge = x.roll(-1, 1) - x.roll(1, 1)
    doubled = (edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0]).abs()
    local = edge @ edge.mT / (2 * doubled)[:, None, None]
    ends = frame.vertices[under]
    length = (ends[:, 1] - ends[:, 0]).norm(dim=-1) / solver.impedance[solver.body.electrode]
    table = torch.tensor([[2, 1, -3], [1, 2, -3], [-3, -3, 6]], dtype=torch.float64) / 6
    contacts = torch.cat([under, size + solver.body.electrode[:, None]], 1)
    members = [corners, contacts]
    rows = torch.cat([m[:, :, None].expand(-1, 3, 3).flatten() for m in members]).numpy()
    columns = torch.cat([m[:, None, :].expand(-1, 3, 3).flatten() for m in members]).numpy()
    load = np.zeros((size + count, len(CURRENTS)))
    load[size:] = CURRENTS.T.numpy()

    def potentials(values: Tensor) -> Tensor:
        entries = torch.cat(
            [(values[:, None, None] * local).flatten(), (length[:, None, None] * table).flatten()]
        )
        matrix = csc_array((entries.numpy(), (rows, columns)), shape=(len(load), len(load)))
        # One potential is held at zero: the first vertex.
        u = np.concatenate([np.zeros((1, load.shape[1])), splu(matrix[1:, 1:].tocsc()).solve(load[1:])])
        found = torch.from_numpy(u[size:]).T
        return found - found.mean(-1, keepdim=True)

    empty = potentials(torch.ones_like(sigma[0]))
    return lambda: torch.stack([potentials(values) - empty for values in sigma])


def main() -> None:
    """Run the study, draw it, and check what it claims."""
    torch.set_num_threads(1)
    print("Error at equal cost, sharp inclusions of contrast 100")
    batch = stack(bodies())
    exact = CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4), nodes=EXACT), ROW, 32).difference(
        batch, CURRENTS
    )
    curves: dict[str, list[Row]] = {}
    for nodes in NODES:
        model = CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4), nodes=nodes), ROW, waves=32)
        add(curves, INTEGRALS, measured(partial(model.difference, batch, CURRENTS), exact))
    for size in SIZES:
        solver = ElementElectrodeSolver(ROW.body, *_layout(), size)
        add(curves, FOLLOWED, measured(partial(solver.difference, batch, CURRENTS), exact))
        for name, sigma in averages(solver, batch).items():
            sampled = partial(solver.difference, MeshField(sigma), CURRENTS)
            add(curves, f"quadratic, {name}", measured(sampled, exact))
            if name == "geometric mean":
                add(curves, LINEAR, measured(linear(solver, sigma), exact))
        print(f"  size {size} done", flush=True)
    for name, row in curves.items():
        print(f"  {name:36}" + "  ".join(f"{ms:7.1f} ms {error:.1e}" for ms, error in row), flush=True)
    OUT.mkdir(exist_ok=True)
    write_json(OUT / "equal_cost.json", curves)
    draw(curves)
    last = {name: row[-1][1] for name, row in curves.items()}
    best = min(error for name, error in last.items() if name not in (FOLLOWED, INTEGRALS, LINEAR))
    times = best / last[FOLLOWED]
    expect(
        times > 3, f"following the outlines is {times:.0f} times better than the best average over triangles"
    )
    for name in (FOLLOWED, LINEAR):
        limit, theirs = curves[name][-1]
        quick = min(error for ms, error in curves[INTEGRALS] if ms <= limit)
        expect(quick < theirs / 10, f"{name}: {theirs:.1e} off, boundary integrals in its time {quick:.1e}")


def add(curves: dict[str, list[Row]], name: str, row: Row) -> None:
    """One more point of a curve."""
    curves.setdefault(name, []).append(row)


def _layout() -> tuple[Tensor, Tensor, Tensor]:
    solver = by_elements(ROW)
    return solver.start, solver.end, solver.impedance


def draw(curves: dict[str, list[Row]]) -> None:
    """The one plot."""
    with picture(OUT / "equal_cost.png", 1, 1, 4.2) as axes:
        for name, row in curves.items():
            style = "o-" if name in (INTEGRALS, FOLLOWED) else "s--"
            axes[0, 0].loglog(*zip(*row, strict=True), style, label=name, markersize=4)
        axes[0, 0].set(xlabel="milliseconds a body, one thread", ylabel="relative error of U - U0")
        axes[0, 0].legend(fontsize=7)


if __name__ == "__main__":
    main()
