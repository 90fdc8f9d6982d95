"""The flagship's image of one measurement in two checkouts, in one run.

    git worktree add /tmp/before 432e59c
    python benchmarks/one_image.py /tmp/before/src src

Each checkout has a process of its own for each number of threads; their rounds take turns, so that what else the
machine does meets all of them alike. Printed are medians in milliseconds, and the quarters of the rounds around them.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS, CALLS = 30, 5
THREADS = ("1", "2")
CHILD = f"""
import sys, time
import torch
import eitlens as eit
torch.set_num_threads(int(sys.argv[1]))
square = eit.Square(200)
phantom = eit.EllipseSampler(seed=0, disjoint=True).batch(0, 1)
df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))[0]
imager = eit.Imager.load()
measured = eit.Measurement.of_difference(df)
jobs = dict(reconstruct=lambda: eit.reconstruct(df), imager=lambda: imager(measured))
[job() for job in jobs.values() for _ in range(3)]
print(eit.__file__, flush=True)
for name in sys.stdin:
    start = time.perf_counter()
    for _ in range({CALLS}):
        jobs[name.strip()]()
    print((time.perf_counter() - start) / {CALLS}, flush=True)
"""


def main() -> None:
    """Print the time of one image in both checkouts."""
    before, after = map(Path, sys.argv[1:3])
    for threads in THREADS:
        children = [_start(place, threads) for place in (before, after)]
        for job in ("reconstruct", "imager"):
            times = [[_ask(child, job) for child in children] for _ in range(ROUNDS)]
            quarters = [statistics.quantiles(column, n=4) for column in zip(*times, strict=True)]
            told = " → ".join(f"{1000 * q[1]:.1f} ms ({1000 * q[0]:.1f} … {1000 * q[2]:.1f})" for q in quarters)
            gain = 1 - quarters[1][1] / quarters[0][1]
            print(f"{threads} threads, {job}: {told}; {gain:.0%} faster", flush=True)
        for child in children:
            child.kill()


def _start(place: Path, threads: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(place.resolve()), "OMP_NUM_THREADS": threads}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CHILD, threads]
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
    assert child.stdout is not None
    found = Path(child.stdout.readline().strip()).parents[1]
    assert found == place.resolve(), f"imported from {found}"
    return child


def _ask(child: "subprocess.Popen[str]", job: str) -> float:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(job + "\n")
    child.stdin.flush()
    return float(child.stdout.readline())


if __name__ == "__main__":
    main()
