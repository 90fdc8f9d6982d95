"""Eight images with the threads that the library chooses, beside every setting of OMP_NUM_THREADS, in one run.

    python benchmarks/threads.py

On a quiet machine, and with every core kept busy by another process. Each setting has a process of its own, as
OMP_NUM_THREADS is read when torch is imported; their rounds take turns, so that what else the machine does
meets all of them alike.
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from eitlens.device import available_cores

IMAGES, ROUNDS = 8, 3
CHILD = f"""
import sys, time
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
print("ready", flush=True)
for name in sys.stdin:
    start = time.perf_counter()
    jobs[name.strip()]()
    print(time.perf_counter() - start, flush=True)
"""


def main() -> None:
    """Print seconds and ratios for each way to eight images."""
    cores = available_cores()
    counts = {f"OMP={k}": {"OMP_NUM_THREADS": str(k)} for k in range(1, cores + 1)}
    children = {"library": _start({}, "library")}
    children |= {name: _start(extra, "torch") for name, extra in counts.items()}
    for busy in (0, cores):
        with _burden(busy):
            for job in ("reconstruct", "imager", "batch"):
                times: dict[str, list[float]] = {name: [] for name in children}
                for _ in range(ROUNDS):
                    for name, child in children.items():
                        times[name].append(_ask(child, job))
                best = {name: statistics.median(found) for name, found in times.items()}
                ratio = best["library"] / min(value for name, value in best.items() if name != "library")
                told = ", ".join(f"{name} {value:.2f} s" for name, value in best.items())
                print(
                    f"{busy} cores busy, {job}: {told}; the library's over the best: {ratio:.2f}", flush=True
                )
    for child in children.values():
        child.kill()


def _start(extra: dict[str, str], kind: str) -> "subprocess.Popen[str]":
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"} | extra
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, kind], stdin=pipe, stdout=pipe, text=True, env=environment
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


def _ask(child: "subprocess.Popen[str]", job: str) -> float:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(job + "\n")
    child.stdin.flush()
    return float(child.stdout.readline())


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
