"""Eight images with the threads that the library chooses, beside every setting of OMP_NUM_THREADS, in one run.

    python benchmarks/threads.py

On a quiet machine, and with every core kept busy by another process. Each setting has a process of its own, as
OMP_NUM_THREADS is read when torch is imported; their rounds take turns, so that what else the machine does
meets all of them alike.
"""

import multiprocessing
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from children import Child

from eitlens.device import available_cores

IMAGES, ROUNDS = 8, 3
SETUP = f"""
import sys
import eitlens as eit
from eitlens import threads
if sys.argv[1] == "torch":  # as many threads as torch takes, whatever else runs
    threads._others = lambda: 0
square = eit.Square(200)
bodies = eit.EllipseSampler(seed=0, disjoint=True).batch(0, {IMAGES})
df = eit.BoundaryIntegralSolver(square).difference(bodies, eit.currents.cosine(square, 3))
measured = [eit.Measurement.of_difference(one) for one in df]
imager = eit.Imager.load()
jobs = dict(
    reconstruct=lambda: [eit.reconstruct(one) for one in df],
    imager=lambda: [imager(one) for one in measured],
    batch=lambda: eit.reconstruct(df),
)
[job() for job in jobs.values()]
"""


def main() -> None:
    """Print seconds and ratios for each way to eight images."""
    cores = available_cores()
    counts = {f"OMP={k}": {"OMP_NUM_THREADS": str(k)} for k in range(1, cores + 1)}
    plain = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    children = {"library": Child(SETUP, "library", environment=plain)}
    children |= {name: Child(SETUP, "torch", environment=plain | extra) for name, extra in counts.items()}
    for busy in (0, cores):
        with _burden(busy):
            for job in ("reconstruct", "imager", "batch"):
                times: dict[str, list[float]] = {name: [] for name in children}
                for _ in range(ROUNDS):
                    for name, child in children.items():
                        times[name].append(child.ask(job)[0])
                best = {name: statistics.median(found) for name, found in times.items()}
                ratio = best["library"] / min(value for name, value in best.items() if name != "library")
                told = ", ".join(f"{name} {value:.2f} s" for name, value in best.items())
                print(
                    f"{busy} cores busy, {job}: {told}; the library's over the best: {ratio:.2f}", flush=True
                )
    for child in children.values():
        child.close()


@contextmanager
def _burden(count: int) -> Iterator[None]:
    """Keep `count` cores busy with processes that do nothing else."""
    busy = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.terminate()


def _spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    main()
