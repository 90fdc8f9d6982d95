"""Processes that do named jobs when asked, and say how long each took: for comparisons in which rounds take turns."""

import os
import subprocess
import sys
from collections.abc import Mapping

LOOP = """
import sys, time
print("ready", flush=True)
for name in sys.stdin:
    start, cpu = time.perf_counter(), time.process_time()
    jobs[name.strip()]()
    print(time.perf_counter() - start, time.process_time() - cpu, flush=True)
"""


class Child:
    """A process that runs `setup`, which makes the dictionary `jobs`; `environment` replaces variables of ours."""

    def __init__(self, setup: str, *words: str, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", setup + LOOP, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ if environment is None else environment,
        )
        self._line()

    def ask(self, job: str) -> tuple[float, float]:
        """Do a job: the seconds it took by the clock, and those of the processor."""
        assert self._process.stdin is not None
        self._process.stdin.write(job + "\n")
        self._process.stdin.flush()
        wall, cpu = map(float, self._line().split())
        return wall, cpu

    def close(self) -> None:
        """End the process."""
        self._process.kill()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()
