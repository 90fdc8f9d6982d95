"""Five Gauss-Newton steps of a tank with 32 electrodes on about 13,500 triangles: seconds, and what came out.

    python benchmarks/gauss_newton.py [--device cuda] [--electrodes 32] [--size 0.0234]

Readings are simulated by boundary integrals and exact electrodes, with white noise; the first run makes the mesh and
warms up. PyEIDORS prints 171 s on a CPU and 51 s on a GPU for five steps with 13,530 elements (linear elements, a σ for
each; here the elements are quadratic, and σ has the nodes of a lattice). Stops before the noise level are turned off.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import torch

import eitlens as eit
from eitlens.classical.gauss_newton import SmoothPrior, identity, image_of, others
from eitlens.classical.newton import TankProblem, gauss_newton_steps
from eitlens.classical.tank_frame import ReadingErrors, TankFrame
from eitlens.files import write_json
from eitlens.measure.readings import ElectrodeMeasurement

STEPS, PRINTED = 5, {"cpu": 171.0, "cuda": 51.0}
PLACES = ((0.4, 0.2), (-0.4, -0.1))


def measured(count: int) -> ElectrodeMeasurement:
    """A conductor and an insulator in water, read on skip-3 currents, 80 dB above the noise."""
    tank = eit.Disk(64, scale=0.1)
    electrodes = eit.Electrodes.even(tank, count, impedance=1e-4)
    pattern = eit.Pattern.named("skip-3", count, current=1e-3, driven=True)
    shapes = [eit.circle(place, radius) for place, radius in zip(PLACES, (0.2, 0.25), strict=True)]
    phantoms = [eit.Phantom(shapes, [3.0, 0.03], outside=0.3), eit.Phantom([], outside=0.3)]
    volts = eit.simulate_readings(electrodes, pattern, phantoms, height=0.05)
    noise = torch.randn(volts.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    volts = volts + 1e-4 * volts.square().mean().sqrt() * noise
    return eit.Measurement.of_electrodes(electrodes, pattern, volts[:1], volts[1:], height=0.05)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--electrodes", type=int, default=32)
    parser.add_argument("--size", type=float, default=0.0234)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    start = perf_counter()
    device = torch.device(given.device)
    frame = TankFrame.of(
        measured(given.electrodes), ReadingErrors(0.005, 0.005), size=given.size, device=device
    )
    problem = TankProblem(frame, identity)
    covariance = problem.covariance(SmoothPrior().covariance(frame.model), others(frame))
    other = TankProblem(
        replace(frame, conductivity=2 * frame.conductivity), identity
    )  # what is remembered is not ours
    gauss_newton_steps(other, covariance, 1, target=0.0)
    prepared = perf_counter() - start
    start, busy = perf_counter(), process_time()
    found = gauss_newton_steps(problem, covariance, STEPS, target=0.0, tolerance=0.0)
    misfits = found.misfits
    seconds, busy = perf_counter() - start, process_time() - busy
    image = image_of(problem, found)
    triangles, printed = len(frame.model.solver.body.mesh.triangles), PRINTED[device.type]
    result = {
        "triangles": triangles,
        "unknowns": frame.model.unknowns,
        "readings": frame.model.count,
        "steps": len(misfits) - 1,
        "threads": torch.get_num_threads(),
        "device": given.device,
        "prepared": prepared,
        "seconds": seconds,
        "processor": busy,
        "misfits": list(misfits),
        "largest": float(image.sigma.max()),
        "smallest": float(image.sigma.min()),
    }
    print(f"{triangles} triangles, {frame.model.unknowns} unknowns, {frame.model.count} readings")
    print(f"mesh, tank fit and warm-up: {prepared:.1f} s")
    print(f"{STEPS} steps and the posterior: {seconds:.2f} s, {busy:.2f} s of one processor's time;", end=" ")
    print(f"PyEIDORS prints {printed:.0f} s")
    print("misfits over the noise level: " + ", ".join(f"{value:.3g}" for value in misfits))
    if given.out is not None:
        write_json(given.out, result)


if __name__ == "__main__":
    main()
