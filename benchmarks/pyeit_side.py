"""The half of `benchmarks/classical.py` that pyEIT runs, in a Python environment of its own.

    python pyeit_side.py protocol FILE              writes its protocol, `ex_mat` and `meas_mat`
    python pyeit_side.py images FRAMES RESULT       images the frames of a file and times that

Settings are those of pyEIT's own examples. A frame is an image by its elements, or on the grid of GREIT.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyeit.eit.protocol as protocol
import pyeit.mesh as mesh
from pyeit.eit.fem import EITForward
from pyeit.eit.greit import GREIT
from pyeit.eit.jac import JAC

ELECTRODES, SIZE = 16, 0.1
STEPS = 5
GAUSS_NEWTON = {"maxiter": STEPS, "gtol": 1e-9, "p": 0.25, "lamb": 1.0, "lamb_decay": 0.1, "lamb_min": 1e-5}
REPEATS = 5


Array = Any
Told = dict[str, dict[str, Any]]


class Tank:
    """The disk, its protocol, and where and how large the elements are."""

    def __init__(self) -> None:
        self.body = mesh.create(ELECTRODES, h0=SIZE)
        self.drive = protocol.create(ELECTRODES, dist_exc=1, step_meas=1, parser_meas="std")
        corners = self.body.node[self.body.element][:, :, :2]
        (ux, uy), (vx, vy) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
        self.centres, self.areas = corners.mean(1), np.abs(ux * vy - uy * vx) / 2

    def one_step(self, v1: Array, v0: Array) -> dict[str, Any]:
        """Images by the one-step solver."""
        solver = JAC(self.body, self.drive)
        solver.setup(p=0.5, lamb=0.01, method="kotre", perm=1, jac_normalized=True)
        seconds, images = fastest(v1, lambda v: solver.solve(v, v0, normalize=True))
        places = [place(self.centres, np.real(x), self.areas) for x in images]
        return report(seconds, len(self.areas), places, at_once(v1, v0, solver))

    def greit(self, v1: Array, v0: Array) -> dict[str, Any]:
        """Images by GREIT."""
        solver = GREIT(self.body, self.drive)
        solver.setup(p=0.5, lamb=0.01, perm=1, jac_normalized=True)
        seconds, images = fastest(v1, lambda v: solver.solve(v, v0, normalize=True))
        x, y, shown = solver.mask_value(images[0], mask_value=np.nan)
        inside = np.isfinite(np.real(shown)).ravel()
        points, even = np.stack([x.ravel(), y.ravel()], 1)[inside], np.ones(inside.sum())
        places = [place(points, np.real(z).ravel()[inside], even) for z in images]
        return report(seconds, x.size, places, at_once(v1, v0, solver))

    def gauss_newton(self, v1: Array, v0: Array) -> dict[str, Any]:
        """Absolute images of the frames as its own model of the empty tank would give them: it does not know ours."""
        model = EITForward(self.body, self.drive).solve_eit(perm=1.0)
        scale = (model @ v0) / (v0 @ v0)

        def image(v: Array) -> Array:
            solver = JAC(self.body, self.drive)
            solver.setup(p=0.25, lamb=1.0, method="kotre", perm=1.0)
            found = solver.gn(scale * (v - v0) + model, x0=np.ones(len(self.areas)), **GAUSS_NEWTON)
            return np.real(found) - 1.0

        seconds, images = fastest(v1, image, repeats=1)
        return report(seconds, len(self.areas), [place(self.centres, x, self.areas) for x in images])


def place(points: Array, values: Array, weight: Array) -> list[float]:
    """The centre of gravity of the nodes with at least a quarter of the largest change."""
    signed = values if values.max() >= -values.min() else -values
    part = signed >= 0.25 * signed.max()
    found: list[float] = np.average(points[part], axis=0, weights=weight[part]).tolist()
    return found


def fastest(
    frames: Array, action: Callable[[Array], Array], repeats: int = REPEATS
) -> tuple[float, list[Array]]:
    """Seconds a frame, and the images."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        found = [action(frame) for frame in frames]
        times.append(time.process_time() - start)
    return min(times) / len(frames), found


def at_once(frames: Array, v0: Array, solver: Any) -> float:
    """Seconds a frame where the solver gets all frames in one call: its product takes a table as well."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        solver.solve(frames, v0, normalize=True)
        times.append(time.process_time() - start)
    return min(times) / len(frames)


def report(
    seconds: float, pixels: int, places: Sequence[list[float]], batch: "float | None" = None
) -> dict[str, Any]:
    """What is told of a method."""
    return {"seconds": seconds, "batch": batch, "pixels": int(pixels), "places": list(places)}


def main() -> None:
    """Do what the command line says."""
    tank = Tank()
    if sys.argv[1] == "protocol":
        np.savez(sys.argv[2], ex_mat=tank.drive.ex_mat, meas_mat=tank.drive.meas_mat)
        return
    given = np.load(sys.argv[2])
    few = dict(zip(("simulated", "measured"), given["few"].tolist(), strict=True))
    told: Told = {}
    for name in ("simulated", "measured"):
        if f"{name}_v1" in given:
            v1, v0 = given[f"{name}_v1"], given[f"{name}_v0"]
            told[f"{name} one-step"] = tank.one_step(v1, v0)
            told[f"{name} GREIT"] = tank.greit(v1, v0)
            told[f"{name} Gauss-Newton"] = tank.gauss_newton(v1[: few[name]], v0)
    with open(sys.argv[3], "w", encoding="utf-8") as stream:
        json.dump(told, stream)


if __name__ == "__main__":
    main()
