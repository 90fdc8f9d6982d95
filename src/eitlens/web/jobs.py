"""The work of the page, off the event loop: a bounded queue; a newer request replaces an older one of its client."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from eitlens.threads import Limit

_SMOOTHING, _FIRST_GUESS = 0.2, 0.5  # share of the newest in the pace; its seconds before any


class BusyError(Exception):
    """The queue is full; `retry_after` says in how many seconds it is worth asking again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many people are drawing: ask again in {retry_after} s")
        self.retry_after = retry_after


class SupersededError(Exception):
    """The same client has asked for something newer."""


Check = Callable[[], None]
Work = Callable[[Check], Any]


@dataclass(eq=False)
class _Job:
    client: str
    work: Work
    answer: "asyncio.Future[Any]"
    stale: bool = False
    asked: float = field(default_factory=perf_counter)

    def check(self) -> None:
        """Called by the work between its steps: stops it when nobody waits for the answer any more."""
        if self.stale:
            raise SupersededError


@dataclass
class Jobs:
    """`workers` threads, each computing with one thread of its own.

    A request is refused when `most_waiting` others wait, or when by the recent pace its turn would come later than
    `longest_wait` seconds from now, and given up when it has come later: better a 503 with a time to come back than
    an answer nobody waits for.
    """

    workers: int = 2
    most_waiting: int = 64
    longest_wait: float = 4.0
    _waiting: "deque[_Job]" = field(default_factory=deque)
    _running: "set[_Job]" = field(default_factory=set)
    _pace: float = _FIRST_GUESS

    def __post_init__(self) -> None:
        # With more threads than cores the small products of the solvers fight each other.
        self._pool = ThreadPoolExecutor(self.workers, "eitlens", lambda: Limit(1))

    async def run(self, client: str, work: Work) -> Any:
        """The result of `work`, in the client's turn; work of the same client that is still under way is given up."""
        self._supersede(client)
        if len(self._waiting) >= self.most_waiting or (self._waiting and self._wait() > self.longest_wait):
            raise self._busy()
        job = _Job(client, work, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._start()
        return await job.answer

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _wait(self) -> float:
        """Seconds until a new request would begin, by the recent pace."""
        return self._pace * (len(self._waiting) + len(self._running)) / self.workers

    def _busy(self) -> BusyError:
        return BusyError(max(1, math.ceil(self._wait() / 2)))

    def _supersede(self, client: str) -> None:
        for job in [job for job in self._waiting if job.client == client]:
            self._waiting.remove(job)
            _fail(job, SupersededError())
        for job in self._running:
            job.stale = job.stale or job.client == client

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.workers:
            job = self._waiting.popleft()
            if perf_counter() - job.asked > self.longest_wait:
                _fail(job, self._busy())
                continue
            self._running.add(job)
            done = asyncio.get_running_loop().run_in_executor(self._pool, _timed, job)
            done.add_done_callback(lambda future, job=job: self._finish(job, future))  # type: ignore[misc]

    def _finish(self, job: _Job, future: "asyncio.Future[tuple[Any, float]]") -> None:
        self._running.discard(job)
        error = None if future.cancelled() else future.exception()
        if error is not None:
            _fail(job, error)
        elif not future.cancelled():
            result, seconds = future.result()
            self._pace += _SMOOTHING * (seconds - self._pace)
            if not job.answer.done():
                job.answer.set_result(result)
        self._start()


def _timed(job: _Job) -> tuple[Any, float]:
    job.check()
    start = perf_counter()
    return job.work(job.check), perf_counter() - start


def _fail(job: _Job, error: BaseException) -> None:
    if not job.answer.done():
        job.answer.set_exception(error)
