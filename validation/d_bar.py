"""The D-bar method: its accuracy, and what it sees through electrodes, simulated and measured.

    python validation/d_bar.py [FOLDER of measured data]

1. t(k) of two concentric disks and of a smooth radial σ, and σ from its own t, as the grid of k is refined.
2. The Neumann-to-Dirichlet map and the image from simulated electrodes: patterns, numbers of electrodes, noise.
3. Measured tanks, where their files are there: the chest phantom of RPI (heart and lungs of agar in saline) and the
   tank of the University of Eastern Finland, beside which photographs say what is in it. A picture for docs/d_bar.md.

docs/d_bar.md quotes what results/d_bar.json keeps.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from limit.files import between, shrunk
from scipy.integrate import solve_ivp
from study import expect
from torch import Tensor

import eitlens as eit
from eitlens.classical.d_bar import scattering_transform
from eitlens.classical.d_bar.equation import grid, solve
from eitlens.figures import style
from eitlens.files import write_json
from eitlens.measure.files import read

ROOT = Path(__file__).parents[1]
RESULT, PAGE = ROOT / "results" / "d_bar.json", ROOT / "docs" / "d_bar.md"
PICTURE = PAGE.parent / "images" / "d_bar.png"
BODY = eit.Phantom([eit.circle((0.4, 0.1), 0.25), eit.circle((-0.4, 0.2), 0.2)], (3.0, 0.3))
NOISE = (1e-4, 1e-3, 1e-2)
SETUPS = ((16, "adjacent"), (16, "trigonometric"), (32, "adjacent"), (32, "trigonometric"))
CELLS, TOP = 32, 16


def bump(r: Any) -> Any:
    """A smooth radial σ, 2 in the middle and 1 beyond the radius 0.8."""
    return 1 + np.where(r < 0.8, (1 - np.minimum(r / 0.8, 1) ** 2) ** 4, 0)


def excess(n: int) -> float:
    """λ_n - n of the bump: with w = rσu'/u, r w' = n²σ - w²/σ, and λ_n = w(1)."""

    def slope(r: float, d: Any) -> Any:
        return (n * n * bump(r) - (d + n) ** 2 / bump(r)) / r

    found = solve_ivp(slope, (1e-4, 1), [n * bump(0.0) - n], rtol=1e-10, atol=1e-12, method="LSODA")
    return float(found.y[0, -1])


def radial() -> dict[str, Any]:
    """σ of the bump from its own t: the largest error for cut-offs R and points of k across the disk."""
    row = torch.tensor([excess(n) for n in range(1, TOP + 1)], dtype=torch.complex128)
    change = torch.diag(torch.cat([row.flip(0), row.new_zeros(1), row]))
    r = torch.linspace(0, 0.95, 20, dtype=torch.float64)
    found = {}
    for radius in (3.0, 5.0, 7.0):
        for count in (16, 32, 64):
            points = grid(radius, count, torch.device("cpu"))
            t = scattering_transform(change, points.k)
            sigma = solve(t, points, r.to(torch.complex128)).real.square()
            found[f"R={radius:g}, {count}"] = float((sigma - torch.from_numpy(bump(r.numpy()))).abs().max())
    return found


def simulated(electrodes: int, name: str, noise: float) -> dict[str, float]:
    """Two inclusions through electrodes: errors of the map and of the image, and the places of the extremes."""
    tank = eit.Disk(CELLS, scale=0.1)
    row = eit.Electrodes.even(tank, electrodes)
    pattern = eit.Pattern.named(name, electrodes, driven=name == "trigonometric")
    empty, volts = eit.simulate_readings(row, pattern, [eit.Phantom([]), BODY])
    size = noise * (volts - empty).square().mean().sqrt()
    generator = torch.Generator().manual_seed(0)
    noisy = volts + size * torch.randn(len(volts), dtype=torch.float64, generator=generator)
    data = eit.Measurement.of_electrodes(row, pattern, noisy, empty)
    exact = eit.BoundaryIntegralSolver(tank).modes(BODY, min(electrodes // 2, TOP))
    found = eit.dbar(data, domain=tank)
    truth, inside = conductivity(tank), tank.inside()
    return {
        "map": float((data.boundary_map().change - exact).norm() / exact.norm()),
        "radius": found.radius,
        "sigma": float((found.image - truth)[inside].norm() / truth[inside].norm()),
        "conductive": away(found.image == found.image[inside].max(), tank, (0.4, 0.1)),
        "resistive": away(found.image == found.image[inside].min(), tank, (-0.4, 0.2)),
    }


def conductivity(tank: eit.Domain) -> Tensor:
    """The true σ at the nodes."""
    points, sigma = tank.nodes(), torch.ones(tank.shape, dtype=torch.float64)
    for shape, value in zip(BODY.shapes, BODY.inside, strict=True):
        sigma[eit.indicator(tank, eit.Phantom([shape], (value,)))] = value
    return torch.where(tank.clearance(points) > -1e-9, sigma, 0.0)


def away(where: Tensor, tank: eit.Domain, place: tuple[float, float]) -> float:
    """Distance of a node from a place, in radii."""
    x, y = tank.nodes()[where][0].tolist()
    return math.hypot(x - place[0], y - place[1])


def measured(folder: Path) -> dict[str, Any]:
    """The images of measured tanks, drawn, and the figures of the chest phantom."""
    cases = {"RPI: heart and lungs": (folder / "eidors/rpi/ACT2000r.txt", folder / "eidors/rpi/ACT2006r.txt")}
    uef = folder / "uef2017"
    cases |= {
        f"UEF {name}": (uef / f"datamat_{name}.mat", uef / "datamat_1_0.mat")
        for name in ("1_1", "1_3", "2_2")
    }
    found = {}
    with style.picture(PICTURE, 1, len(cases)) as panels:
        for axes, (name, (target, water)) in zip(panels.flat, cases.items(), strict=True):
            data = read(target).against(read(water))
            image = eit.dbar(data, domain=data.domain.at(CELLS))
            inside = image.domain.inside()
            shown = torch.where(inside, image.image, torch.nan)
            style.show_field(axes, shown, f"{name}, R = {image.radius:.1f}")
            values = image.image[inside]
            found[name] = {
                "radius": image.radius,
                "noise": image.noise,
                "lowest": float(values.min()),
                "highest": float(values.max()),
            }
            print(f"  {name}: {found[name]}", flush=True)
    shrunk(PICTURE)
    return found


def tables(found: dict[str, Any]) -> None:
    """Write the tables of the page."""
    lines = ["| points of k across | R = 3 | R = 5 | R = 7 |", "|---:|---:|---:|---:|"]
    for count in (16, 32, 64):
        row = " | ".join(f"{found['radial'][f'R={radius}, {count}']:.3f}" for radius in (3, 5, 7))
        lines.append(f"| {count} | {row} |")
    between(PAGE, "radial", "\n".join(lines))
    lines = [
        "| electrodes, pattern | noise | error of the map | R | error of σ | maximum off by | minimum off by |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, row in found["simulated"].items():
        setup, noise = name.rsplit(", ", 1)
        lines.append(
            f"| {setup} | {float(noise):g} | {row['map']:.4f} | {row['radius']:.1f} | {row['sigma']:.3f} "
            f"| {row['conductive']:.2f} | {row['resistive']:.2f} |"
        )
    between(PAGE, "simulated", "\n".join(lines))


def claims(found: dict[str, Any]) -> None:
    """What must hold."""
    errors = found["radial"]
    expect(errors["R=7, 64"] < 0.012, f"σ of the bump comes back to {errors['R=7, 64']:.3f} with R = 7")
    expect(errors["R=3, 64"] > errors["R=5, 64"] > errors["R=7, 64"], "a larger R is sharper")
    rows = found["simulated"]
    best = rows["32, trigonometric, 0.001"]
    expect(best["map"] < 2e-3, f"32 electrodes, noise 0.001: the map is known to {best['map']:.4f}")
    far = max(max(row["conductive"], row["resistive"]) for row in rows.values())
    expect(far < 0.25, f"all inclusions within {far:.2f} radii of their places")
    chest = found.get("measured", {}).get("RPI: heart and lungs")
    if chest:
        expect(chest["highest"] > 0.6, f"the heart of 0.75 S/m has {chest['highest']:.2f}")
        expect(chest["lowest"] < 0.28, f"the lungs of 0.24 S/m have {chest['lowest']:.2f}")


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "real")
    given = parser.parse_args()
    print("The D-bar method")
    found: dict[str, Any] = {"radial": radial(), "simulated": {}}
    for electrodes, name in SETUPS:
        for noise in NOISE:
            row = simulated(electrodes, name, noise)
            found["simulated"][f"{electrodes}, {name}, {noise:g}"] = row
            print(f"  {electrodes} {name} {noise:g}: {row}", flush=True)
    if given.data.exists():
        found["measured"] = measured(given.data)
    write_json(RESULT, found)
    tables(found)
    claims(found)


if __name__ == "__main__":
    main()
