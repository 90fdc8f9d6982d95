import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from eitlens.cancellation import check_wanted
from eitlens.web.jobs import BusyError, Jobs, SupersededError, TooLongError


class Gate:
    """Work that begins, waits to be let go, and then looks whether it is still wanted."""

    def __init__(self):
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self, check):
        self.begun.set()
        self.open.wait(10)
        check()
        return "done"


def _run(main):
    """In a thread of its own: the browser's tests keep a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(main())).result()


async def _begun(gate):
    while not gate.begun.is_set():
        await asyncio.sleep(0.001)


def test_results_and_errors_come_back():
    async def main():
        jobs = Jobs(workers=2)
        assert await jobs.run("a", lambda check: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await jobs.run("a", lambda check: 1 // 0)
        jobs.close()

    _run(main)


def test_a_newer_request_of_the_same_client_takes_the_place_of_the_older():
    async def main():
        jobs, gate = Jobs(workers=1), Gate()
        running = asyncio.ensure_future(jobs.run("a", gate))
        await _begun(gate)
        waiting = asyncio.ensure_future(jobs.run("a", lambda check: "old"))
        other = asyncio.ensure_future(jobs.run("b", lambda check: "other"))
        await asyncio.sleep(0)
        newest = asyncio.ensure_future(jobs.run("a", lambda check: "new"))
        await asyncio.sleep(0)
        with pytest.raises(SupersededError):
            await waiting
        gate.open.set()
        with pytest.raises(SupersededError):
            await running
        assert (await other, await newest) == ("other", "new")
        jobs.close()

    _run(main)


def test_a_full_queue_says_when_to_come_back():
    async def main():
        jobs, gate = Jobs(workers=1, most_waiting=2), Gate()
        under_way = [asyncio.ensure_future(jobs.run("a", gate))]
        await _begun(gate)
        under_way += [asyncio.ensure_future(jobs.run(name, lambda check: "later")) for name in "bc"]
        await asyncio.sleep(0)
        with pytest.raises(BusyError) as caught:
            await jobs.run("d", lambda check: None)
        assert caught.value.retry_after >= 1
        gate.open.set()
        assert await asyncio.gather(*under_way) == ["done", "later", "later"]
        assert await jobs.run("d", lambda check: "room again") == "room again"
        jobs.close()

    _run(main)


def test_nobody_queues_for_longer_than_is_worth_it():
    async def main():
        jobs, gate = Jobs(workers=1, longest_wait=0.3), Gate()
        jobs._pace = 0.2
        under_way = [asyncio.ensure_future(jobs.run("a", gate))]
        await _begun(gate)
        under_way.append(asyncio.ensure_future(jobs.run("b", lambda check: None)))
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await jobs.run("c", lambda check: None)
        gate.open.set()
        await asyncio.gather(*under_way)
        jobs.close()

    _run(main)


def test_an_answer_that_comes_too_late_is_refused_in_time_and_not_computed():
    async def main():
        jobs, gate = Jobs(workers=1, longest_wait=0.05), Gate()
        under_way = asyncio.ensure_future(jobs.run("a", gate))
        await _begun(gate)
        with pytest.raises(BusyError):
            await jobs.run("b", lambda check: "too late")
        gate.open.set()
        assert await under_way == "done"
        jobs.close()

    _run(main)


def endless(_):
    """A solver that never ends, and asks at each turn whether it is still wanted."""
    while True:
        check_wanted()


def test_work_over_its_budget_is_stopped_and_the_worker_is_free_again():
    async def main():
        jobs = Jobs(workers=1, budget=0.05)
        with pytest.raises(TooLongError):
            await jobs.run("a", endless)
        assert await jobs.run("b", lambda check: "light") == "light"
        jobs.close()

    _run(main)


def test_the_longest_work_gives_way_when_others_wait_and_all_workers_are_slow():
    async def main():
        jobs = Jobs(workers=2, budget=60.0)
        jobs._pace = 0.01
        heavy = [asyncio.ensure_future(jobs.run(name, endless)) for name in "ab"]
        while len(jobs._running) < 2:
            await asyncio.sleep(0.001)
        assert await jobs.run("c", lambda check: "light") == "light"
        done, under_way = await asyncio.wait(heavy, return_when=asyncio.FIRST_COMPLETED)
        assert [type(one.exception()) for one in done] == [TooLongError]
        assert len(under_way) == 1, "nobody waits any more"
        under_way.pop().cancel()
        jobs.close()

    _run(main)


def test_work_of_a_client_that_has_left_is_stopped():
    async def main():
        jobs, begun, stopped = Jobs(workers=1, budget=60.0), threading.Event(), threading.Event()

        def work(check):
            begun.set()
            try:
                endless(check)
            finally:
                stopped.set()

        running = asyncio.ensure_future(jobs.run("a", work))
        waiting = asyncio.ensure_future(jobs.run("b", lambda check: "never"))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting.cancel()
        running.cancel()
        assert await jobs.run("c", lambda check: "light") == "light"
        assert stopped.is_set()
        assert waiting.cancelled()
        assert running.cancelled()
        jobs.close()

    _run(main)


def test_closing_stops_what_runs_and_refuses_what_waits_or_comes():
    async def main():
        jobs, stopped = Jobs(workers=1, budget=60.0), threading.Event()

        def work(check):
            try:
                while True:
                    check()
            except SupersededError:
                stopped.set()
                raise

        asked = [asyncio.ensure_future(jobs.run(name, work)) for name in "ab"]
        await asyncio.sleep(0.05)
        jobs.close()
        found = await asyncio.gather(*asked, jobs.run("c", work), return_exceptions=True)
        assert [type(one) for one in found] == [BusyError] * 3
        assert stopped.wait(5.0)

    _run(main)
