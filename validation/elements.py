"""Finite elements converge, to the exact solutions where there are some.

    python validation/elements.py

1. A tank of 32 electrodes, coverage 0.5, contact impedances from 1e-6 to 0.1, two circles of σ 5 and 0.01: U - U0
   against the complete electrode model on boundary integrals, by the size of the mesh.
2. Random pairs of ellipses in a tank of 16 electrodes: median and largest error. Without fitting, σ at the points of
   the quadrature rule, the same meshes are an order of magnitude worse.
3. Continuous currents on the square and the disk against boundary integrals, by the size of the mesh.
4. σ from 1e-3 to 1e3 in one body: the loss of digits, as the asymmetry of the electrodes' resistances.
"""

import torch
from study import OUT, expect, fitted_order
from torch import Tensor

from eitlens.domain import Disk, Domain, Square
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.errors import InputError
from eitlens.figures.style import label_sizes, picture
from eitlens.forward import BoundaryIntegralSolver, ElementElectrodeSolver, ElementSolver, MeshField, currents
from eitlens.forward.elements.quadratic import at_points
from eitlens.phantom import Ellipse, Phantom, circle, stack

CIRCLES = Phantom([circle((0.6, 0.1), 0.2), circle((-0.35, 0.4), 0.2)], [5.0, 0.01])
SIZES = (0.16, 0.12, 0.09, 0.0628, 0.045)
IMPEDANCES = (1e-6, 1e-3, 0.1)
BODIES, SEED = 32, 0


def tank(electrodes: Electrodes, size: float | None) -> ElementElectrodeSolver:
    """The same electrodes by arclength."""
    start = electrodes.starts % electrodes.body.perimeter
    return ElementElectrodeSolver(
        electrodes.body, start, start + electrodes.widths, electrodes.impedance, size
    )


def neighbours(count: int) -> Tensor:
    """In at each electrode, out at the next."""
    eye = torch.eye(count, dtype=torch.float64)
    return eye - eye.roll(-1, 0)


def relative(found: Tensor, exact: Tensor) -> float:
    """Relative error over all currents."""
    return float((found - exact).norm() / exact.norm())


def exact(electrodes: Electrodes) -> CompleteElectrodeSolver:
    """The exact model, with points enough for the layer at the ends of electrodes."""
    return CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4)), electrodes, 48)


def by_size() -> dict[str, list[float]]:
    """Study 1: errors by impedance and size, the default last."""
    found = {}
    for impedance in IMPEDANCES:
        electrodes, given = Electrodes.even(Disk(8), 32, 0.5, impedance), neighbours(32)
        truth = exact(electrodes).difference(CIRCLES, given)
        found[f"z = {impedance:g}"] = [
            relative(tank(electrodes, size).difference(CIRCLES, given), truth) for size in (*SIZES, None)
        ]
    return found


def pairs() -> list[Phantom]:
    """Ellipses that are apart from each other and from the boundary."""
    random, found = torch.Generator().manual_seed(SEED), list[Phantom]()
    probe = BoundaryIntegralSolver(Disk(4, 64))
    while len(found) < BODIES:
        u = torch.rand(10, generator=random).tolist()
        one = Ellipse((0.35 + 0.15 * u[0], 0.2 * u[1]), (0.15 + 0.15 * u[2], 0.15 + 0.2 * u[3]), 3 * u[4])
        other = Ellipse(
            (-0.4 + 0.1 * u[5], 0.3 - 0.6 * u[6]), (0.15 + 0.15 * u[7], 0.15 + 0.15 * u[8]), 3 * u[9]
        )
        try:
            probe.difference(Phantom([one, other]), currents.cosine(probe.domain, 1))
        except InputError:
            continue
        found.append(Phantom([one, other], [5.0, 0.01]))
    return found


def fitted_and_not(size: float) -> tuple[Tensor, Tensor]:
    """Study 2: errors of each body with σ fitted, and with σ sampled on the mesh as it is."""
    electrodes, given, bodies = Electrodes.even(Disk(8), 16, 0.5, 0.1), neighbours(16), pairs()
    solver, batch = tank(electrodes, size), stack(bodies)
    truth = torch.stack([exact(electrodes).difference(body, given) for body in bodies])
    frame = solver.body.frame
    places = at_points(frame.positions(frame.vertices[None]), frame.triangles)
    sampled = batch.conductivity(places.flatten(1, 2)).view(len(batch), *places.shape[1:3]).mean(2)
    found = solver.difference(batch, given), solver.difference(MeshField(sampled), given)
    errors = [(part - truth).norm(dim=(1, 2)) / truth.norm(dim=(1, 2)) for part in found]
    return errors[0], errors[1]


def continuous(body: Domain, sizes: tuple[float, ...]) -> list[float]:
    """Study 3: errors by size."""
    given = currents.cosine(body, 3)
    truth = BoundaryIntegralSolver(body).difference(CIRCLES, given)
    return [relative(ElementSolver(body, size).difference(CIRCLES, given), truth) for size in sizes]


def main() -> None:
    """Run the studies and draw the first."""
    print("Finite elements: convergence")
    errors = by_size()
    for name, row in errors.items():
        print(f"  {name}: " + " ".join(f"{error:.1e}" for error in row))
        order = fitted_order(SIZES, row[:-1])
        expect(order > 1.6, f"{name}: U - U0 converges with order {order:.1f}")
        expect(row[-1] < 1e-3, f"{name}: {row[-1]:.1e} off at the default size")
    with picture(OUT / "elements.png", 1, 1, 3.4) as axes:
        for name, row in errors.items():
            axes[0, 0].loglog(SIZES, row[:-1], "o-", label=name)
        label_sizes(axes[0, 0], SIZES)
        axes[0, 0].set(xlabel="longest edge", ylabel="relative error of U - U0")
        axes[0, 0].legend()
    for size in (0.0628, 0.05):
        fitted, sampled = (part.sort().values for part in fitted_and_not(size))
        print(
            f"  size {size}: median {fitted[BODIES // 2]:.1e}, largest {fitted[-1]:.1e}, not fitted {sampled[16]:.1e}"
        )
        expect(float(fitted[-1]) < 2e-3, f"size {size}: no body is more than {fitted[-1]:.1e} off")
        expect(float(sampled[16] / fitted[16]) > 10, "fitting gains an order of magnitude")
    for body in (Square(200), Disk(8, 400)):
        row = continuous(body, SIZES)
        order = fitted_order(SIZES, row)
        print(f"  {body.name}: " + " ".join(f"{error:.1e}" for error in row))
        expect(order > 2.5, f"{body.name}: continuous currents converge with order {order:.1f}")
        expect(
            relative_default(body) < 1e-3,
            f"{body.name}: {relative_default(body):.1e} off at the default size",
        )
    resistance = tank(Electrodes.even(Disk(8), 16, 0.5, 1e-6), 0.12).voltages(
        Phantom(CIRCLES.shapes, [1e-3, 1e3]), torch.eye(16, dtype=torch.float64) - 1 / 16
    )
    loss = float((resistance - resistance.T).abs().max() / resistance.abs().max())
    expect(loss < 1e-10, f"σ from 1e-3 to 1e3, contacts of 1e-6: resistances are symmetric to {loss:.0e}")


def relative_default(body: Domain) -> float:
    """The error at the default size."""
    given = currents.cosine(body, 3)
    found = ElementSolver(body).difference(CIRCLES, given)
    return relative(found, BoundaryIntegralSolver(body).difference(CIRCLES, given))


if __name__ == "__main__":
    main()
