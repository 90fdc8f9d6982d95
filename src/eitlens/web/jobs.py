"""The work of the page, off the event loop: a bounded queue; a newer request replaces an older one of its client."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from eitlens.cancellation import Check, stoppable
from eitlens.threads import Limit

_SMOOTHING, _FIRST_GUESS = 0.2, 0.5  # share of the newest in the pace; its seconds before any
_SLOW = (
    3.0  # times the pace: a request that takes longer gives way when others wait and all workers are so slow
)


class BusyError(Exception):
    """The queue is full; `retry_after` says in how many seconds it is worth asking again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many people are drawing: ask again in {retry_after} s")
        self.retry_after = retry_after


class SupersededError(Exception):
    """The same client has asked for something newer, or has left."""


class TooLongError(Exception):
    """The work took more than its seconds, or longer than others can wait for."""


Work = Callable[[Check], Any]


@dataclass(eq=False)
class _Job:
    client: str
    work: Work
    answer: "asyncio.Future[Any]"
    budget: float
    stale: bool = False
    began: float = math.inf

    @property
    def age(self) -> float:
        """Seconds since a worker took it."""
        return perf_counter() - self.began


@dataclass
class Jobs:
    """`workers` threads, each computing with one thread of its own.

    A request is refused when `most_waiting` others wait, or when by the recent pace its turn would come later than
    `longest_wait` seconds from now, and when it has waited for so long: better a 503 with a time to come back than
    an answer nobody waits for.

    A request is stopped after `budget` seconds of work, and earlier where others wait and every worker has been at
    its request for much longer than usual: the one that has taken longest gives way. It is stopped, too, when its
    client leaves. Work is stopped where it calls its check, and in the loops of the solvers.
    """

    workers: int = 2
    most_waiting: int = 64
    longest_wait: float = 4.0
    budget: float = 8.0
    _waiting: "deque[_Job]" = field(default_factory=deque)
    _running: "set[_Job]" = field(default_factory=set)
    _pace: float = _FIRST_GUESS
    _closed: bool = False

    def __post_init__(self) -> None:
        # With more threads than cores the small products of the solvers fight each other.
        self._pool = ThreadPoolExecutor(self.workers, "eitlens", lambda: Limit(1))

    async def run(self, client: str, work: Work, budget: float | None = None) -> Any:
        """The result of `work`, in the client's turn; work of the same client that is still under way is given up."""
        self._supersede(client)
        late = bool(self._waiting) and self._wait() > self.longest_wait
        if self._closed or late or len(self._waiting) >= self.most_waiting:
            raise self._busy()
        answer = asyncio.get_running_loop().create_future()
        job = _Job(client, work, answer, self.budget if budget is None else budget)
        self._waiting.append(job)
        asyncio.get_running_loop().call_later(self.longest_wait, self._late, job)
        self._start()
        try:
            return await job.answer
        except asyncio.CancelledError:
            job.stale = True
            self._leave(job)
            raise

    def close(self) -> None:
        """Stop all work, and let the threads end."""
        self._closed = True
        for job in [*self._waiting, *self._running]:
            job.stale = True
            self._leave(job)
            _fail(job, BusyError(1))
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _wait(self) -> float:
        """Seconds until a new request would begin, by the recent pace."""
        return self._pace * (len(self._waiting) + len(self._running)) / self.workers

    def _busy(self) -> BusyError:
        return BusyError(max(1, math.ceil(self._wait() / 2)))

    def _supersede(self, client: str) -> None:
        for job in [job for job in self._waiting if job.client == client]:
            self._leave(job)
            _fail(job, SupersededError())
        for job in self._running:
            job.stale = job.stale or job.client == client

    def _late(self, job: _Job) -> None:
        """Refuse a request that still waits."""
        if self._leave(job):
            _fail(job, self._busy())

    def _leave(self, job: _Job) -> bool:
        """Take a request out of the queue; whether it was there."""
        waits = job in self._waiting
        if waits:
            self._waiting.remove(job)
        return waits

    def _check(self, job: _Job) -> None:
        """Stop work that nobody waits for, that is over its budget, or that keeps others waiting."""
        if job.stale:
            raise SupersededError
        running = list(self._running)
        slow = all(other.age > _SLOW * self._pace for other in running) and len(running) == self.workers
        keeps_others = slow and bool(self._waiting) and job.began == min(other.began for other in running)
        if keeps_others or job.age > job.budget:
            raise TooLongError

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.workers and not self._closed:
            job = self._waiting.popleft()
            self._running.add(job)
            done = asyncio.get_running_loop().run_in_executor(self._pool, self._timed, job)
            done.add_done_callback(lambda future, job=job: self._finish(job, future))  # type: ignore[misc]

    def _timed(self, job: _Job) -> tuple[Any, float]:
        """Do the work in a worker's thread, and say how many seconds it took."""
        job.began = perf_counter()

        def check() -> None:
            self._check(job)

        with stoppable(check):
            check()
            return job.work(check), job.age

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


def _fail(job: _Job, error: BaseException) -> None:
    if not job.answer.done():
        job.answer.set_exception(error)
