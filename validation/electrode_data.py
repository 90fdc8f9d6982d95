"""What readings of electrodes tell of cosine currents: where direct sampling sees a circle, in four bodies.

Random circles, conducting and insulating, in a disk, an ellipse, a chest and a rectangle with 16 electrodes. A circle
is found if the largest index is within a quarter of the body's half side of its centre. The estimation of
`eitlens.measure.estimate` is compared with a prior of even variance, with and without the bound of its strength.
docs/findings.md may quote what `--out results/electrode_data.json` keeps.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch
from study import OUT, expect

import eitlens as eit
from eitlens.figures.style import picture
from eitlens.files import write_json
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import METHODS, Options
from eitlens.measure import estimate

BODIES = {
    "disk": eit.Disk(64, scale=0.15),
    "ellipse": eit.bodies.ellipse(0.2, 0.13),
    "thorax": eit.bodies.thorax(0.3),
    "rectangle": eit.bodies.rectangle(0.4, 0.3),
}
PATTERNS = {"adjacent": ("adjacent", False), "trigonometric": ("mean", True)}
NOISES = (2e-3,)  # of the root mean square of the readings
CIRCLES, RADII, CONTRASTS = 12, (0.1, 0.2, 0.3), (10.0, 0.05)
FOUND, SIGMA = 0.25, 0.4
COSINES = CurrentsConfig("cosine", 3)
PRIORS = {"shipped": {}, "even": {"_EXPONENT": 0.0}, "even, unbounded": {"_EXPONENT": 0.0, "_LEAST": -10}}
Scan = tuple[eit.Measurement, torch.Tensor]


def circles(body: eit.Domain, count: int) -> Iterator[tuple[torch.Tensor, eit.Phantom]]:
    """Random circles at least a twentieth away from the boundary."""
    draw = torch.Generator().manual_seed(5)
    for k in range(count):
        radius, place = RADII[k % len(RADII)], torch.full((2,), 9.0, dtype=torch.float64)
        while float(body.clearance(place)) < radius + 0.05:
            place = torch.rand(2, generator=draw, dtype=torch.float64) * 2 - 1
        x, y = place.tolist()
        sigma = SIGMA * CONTRASTS[k % len(CONTRASTS)]
        yield place, eit.Phantom([eit.circle((x, y), radius)], sigma, SIGMA)


def scanned(body: eit.Domain, name: str, count: int, noise: float) -> Scan:
    """A frame for each circle, and where each circle is."""
    readings, driven = PATTERNS[name]
    electrodes = eit.Electrodes.even(body, 16, coverage=0.4)
    pattern = eit.Pattern.named(name, 16, 1e-3, readings, driven)
    places, phantoms = zip(*circles(body, count), strict=True)
    volts = eit.simulate_readings(electrodes, pattern, [*phantoms, eit.Phantom([], outside=SIGMA)])
    size = noise * volts[-1].square().mean().sqrt()
    volts = volts + size * torch.randn(volts.shape, generator=torch.manual_seed(1), dtype=torch.float64)
    return eit.Measurement.of_electrodes(electrodes, pattern, volts[:-1], volts[-1:]), torch.stack(places)


def off(scan: eit.Measurement, places: torch.Tensor) -> list[float]:
    """How far the largest index of each frame is from its circle."""
    found = (METHODS["dsm"](scan.frame(k), Options(n=64)) for k in range(scan.frames))
    seen = [one.domain.nodes().flatten(0, 1)[one.image.argmax()] for one in found]
    return [float(away) for away in (torch.stack(seen) - places).norm(dim=1)]


def wrong(scan: eit.Measurement, exact: torch.Tensor) -> list[float]:
    """The relative error of the data of cos lθ of each frame."""
    body = scan.domain.at(64)
    found = (scan.frame(k).prepare(COSINES, 1, body).difference for k in range(scan.frames))
    return [
        float((one - true[: len(one)]).norm() / true[: len(one)].norm())
        for one, true in zip(found, exact, strict=True)
    ]


def truth(body: eit.Domain, count: int) -> torch.Tensor:
    """The data of continuous cosine currents, in a body of conductivity 1."""
    solver, currents = eit.BoundaryIntegralSolver(body), COSINES.build(body)
    return torch.stack(
        [
            solver.difference(eit.Phantom(one.shapes, [value / SIGMA for value in one.inside], 1.0), currents)
            for _, one in circles(body, count)
        ]
    )


@contextmanager
def prior(changes: dict[str, float]) -> Iterator[None]:
    """The estimation with another prior; what was kept of the last one is forgotten."""
    least = changes.get("_LEAST", -4)
    with (
        patch.object(estimate, "_EXPONENT", changes.get("_EXPONENT", 0.25)),
        patch.object(estimate, "_STRENGTHS", torch.logspace(least, 2, 49, dtype=torch.float64)),
    ):
        estimate._parts.cache_clear()  # type: ignore[attr-defined]
        yield
    estimate._parts.cache_clear()  # type: ignore[attr-defined]


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT / "electrode_data.json")
    parser.add_argument("--circles", type=int, default=CIRCLES)
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    print("Data of electrodes", flush=True)
    errors: dict[str, list[float]] = {name: [] for name in PRIORS}
    misses: dict[str, list[float]] = {name: [] for name in PRIORS}
    rows = []
    for body in BODIES:
        exact = truth(BODIES[body], given.circles)
        for pattern in PATTERNS:
            for noise in NOISES:
                scan, places = scanned(BODIES[body], pattern, given.circles, noise)
                for name, changes in PRIORS.items():
                    with prior(changes):
                        away = off(scan, places)
                        misses[name] += wrong(scan, exact)
                    errors[name] += away
                    hits = sum(one < FOUND for one in away)
                    rows.append(
                        {"body": body, "pattern": pattern, "noise": noise, "prior": name, "found": hits}
                    )
                    print(f"  {body}, {pattern}, noise {noise:g}, {name}: {hits} of {len(away)}", flush=True)
    shares = {name: sum(one < FOUND for one in away) / len(away) for name, away in errors.items()}
    data = {name: float(torch.tensor(off).median()) for name, off in misses.items()}
    told = {"circles": given.circles, "within": FOUND, "shares": shares, "data": data, "cases": rows}
    write_json(given.out, told)
    for name in PRIORS:
        print(f"  {name}: {shares[name]:.1%} found, the data {data[name]:.1%} off", flush=True)
    with picture(OUT / "electrode_data.png", 1, 1, size=3.4) as axes:
        for name, away in errors.items():
            part = (torch.arange(len(away)) + 1) / len(away)
            axes[0, 0].plot(sorted(away), part, label=name)
        axes[0, 0].set(xlabel="distance from the centre", ylabel="part of the circles", xlim=(0, 1))
        axes[0, 0].legend()
    expect(shares["shipped"] > 0.95, f"{shares['shipped']:.1%} of the circles are found")
    expect(data["shipped"] < data["even"], f"the data are {data['shipped']:.1%} off, not {data['even']:.1%}")
    expect(shares["even"] > shares["even, unbounded"], "without a bound of its strength fewer are found")


if __name__ == "__main__":
    main()
