"""The flagship's image of one measurement in two checkouts, in one run.

    git worktree add /tmp/before 432e59c
    python benchmarks/one_image.py /tmp/before/src src

Each checkout has a process of its own with one thread; their rounds take turns, so that what else the machine does
meets both alike. Printed are medians and the quarters around them, by the clock and by the processor's time.
"""

import os
import statistics
import sys
from pathlib import Path

from children import Child

ROUNDS = 40
SETUP = """
import torch
import eitlens as eit
torch.set_num_threads(1)
square = eit.Square(200)
phantom = eit.EllipseSampler(seed=0, disjoint=True).batch(0, 1)
df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))[0]
imager = eit.Imager.load()
measured = eit.Measurement.of_difference(df)
jobs = dict(reconstruct=lambda: eit.reconstruct(df), imager=lambda: imager(measured))
[job() for job in jobs.values() for _ in range(3)]
"""


def main() -> None:
    """Print the time of one image in both checkouts."""
    places = [str(Path(place).resolve()) for place in sys.argv[1:3]]
    children = [
        Child(SETUP, environment=os.environ | {"PYTHONPATH": place, "OMP_NUM_THREADS": "1"})
        for place in places
    ]
    for job in ("reconstruct", "imager"):
        times = [[child.ask(job) for child in children] for _ in range(ROUNDS)]
        for k, kind in enumerate(("clock", "processor")):
            quarters = [statistics.quantiles([row[c][k] for row in times], n=4) for c in (0, 1)]
            told = " → ".join(f"{q[1]:.3f} s ({q[0]:.3f} … {q[2]:.3f})" for q in quarters)
            print(f"{job}, {kind}: {told}; {1 - quarters[1][1] / quarters[0][1]:.0%} less", flush=True)
    for child in children:
        child.close()


if __name__ == "__main__":
    main()
