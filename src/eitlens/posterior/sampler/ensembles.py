"""Ensembles: ladders of chains that are warmed up and moved together, sweep by sweep, in this process or in others.

An ensemble is a ladder of chains, from high noise to the posterior (`tempering`), or after the warm-up several ladders
from the same places. A measurement has several ensembles, which never exchange anything and so check each other.

On a GPU all ensembles are one batch. On a CPU the operations are small and many, and threads wait for one another.
Ensembles never need to speak to each other, so they can go to processes of their own (`running_ensembles`), in step.
"""

import multiprocessing
import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import threads
from eitlens.posterior.guide.proposals import Guidance
from eitlens.posterior.model.target import Target
from eitlens.posterior.sampler import tempering
from eitlens.posterior.sampler.settings import Settings

_LEARNING = 0.2  # how fast the step sizes learn in the warm-up
_RESPACED = (
    5,
    6,
    7,
    8,
)  # eighths of the warm-up at which levels are spaced anew; before, the ladder is let down
_SETTLED = 0.75  # part of the warm-up in which levels take over places from above
_SEEDS_APART = 1_000_003  # a prime: the seeds of processes meet no seed that a user would choose next


class SweepRecord(NamedTuple):
    """Results of a sweep at the last level; an ensemble's ladders are next to each other."""

    rows: Float64[Tensor, "measurements ladders ellipses 5"]
    likelihood: Float64[Tensor, "measurements ladders"]
    misfit: Float64[Tensor, "measurements ladders"]
    trips: Int64[Tensor, "measurements ladders"]
    """The number of places that have come from the top, up to now."""
    accepted: Float64[Tensor, "measurements 1"]
    """The share of the manifold steps."""
    barrier: Float64[Tensor, "measurements 1"]

    @staticmethod
    def joined(records: "list[SweepRecord]") -> "SweepRecord":
        """Join the records of several groups of ensembles, as of one."""
        return SweepRecord(*(torch.cat(parts, 1) for parts in zip(*records, strict=True)))


@runtime_checkable
class EnsembleGroup(Protocol):
    """Ensembles that can be asked for a sweep, and then for its record."""

    def begin(self) -> None:
        """Start a sweep."""

    def end(self) -> SweepRecord:
        """Wait for the sweep."""


class Ensembles:
    """Ensembles of this process, at some sweep of their run."""

    def __init__(
        self, target: Target, settings: Settings, guidance: Guidance | None, count: int, part: int = 0
    ) -> None:
        last, seed = target.likelihood.last, settings.seed + _SEEDS_APART * part
        self._settings, self._target, self._turn = settings, target, 0
        self._everywhere = replace(target, likelihood=target.likelihood.repeated(settings.levels))
        self._generator = torch.Generator(last.device).manual_seed(seed)
        self._ladder = tempering.start(self._everywhere, last, settings.levels, count, seed, guidance)

    def begin(self) -> None:
        """Do nothing: all of a sweep is done at the end."""

    @torch.no_grad()
    def end(self) -> SweepRecord:
        """Make one sweep, and what must be done before it."""
        self._turn += 1
        warmup = self._settings.warmup
        if self._turn <= warmup:
            self._prepare()
        if self._turn == warmup + 1:
            self._ladder = tempering.multiplied(self._ladder, self._settings.ladders)
        learning = _LEARNING if self._turn <= warmup else 0.0
        moved = self._everywhere, self._ladder, learning, self._generator, self._settings.manifold_steps
        self._ladder = tempering.sweep(*moved)
        return self._record()

    def _prepare(self) -> None:
        """Change the ladder before a sweep of the warm-up."""
        turn, warmup, down = self._turn, self._settings.warmup, self._settings.warmup // 2
        if turn <= down:
            last = self._target.likelihood.last
            self._ladder = tempering.let_down(self._everywhere, self._ladder, last, turn / down)
        if turn in {warmup * part // 8 for part in _RESPACED}:
            self._ladder = tempering.respaced(self._everywhere, self._ladder)
        if turn <= _SETTLED * warmup:
            self._ladder = tempering.settled(self._everywhere, self._ladder, self._generator)

    def _record(self) -> SweepRecord:
        ladder = self._ladder
        z, data, likelihood = tempering.bottom(ladder)
        misfit = self._target.likelihood.misfit(data)
        accepted = ladder.chains.accepted.reshape(ladder.shape[:2])[:, -1:]
        rows = self._target.coordinates.rows(z)
        return SweepRecord(rows, likelihood, misfit, ladder.trips, accepted, ladder.barrier[:, None])


@contextmanager
def running_ensembles(
    target: Target, settings: Settings, guidance: Guidance | None, workers: int
) -> Iterator[list[EnsembleGroup]]:
    """Run all ensembles: together, or in as many processes as there are workers."""
    if workers == 1:
        yield [Ensembles(target, settings, guidance, settings.ensembles)]
        return
    shares = [len(range(k, settings.ensembles, workers)) for k in range(min(workers, settings.ensembles))]
    away: list[_RemoteEnsembles] = []
    try:
        for _ in shares:
            away.append(_RemoteEnsembles())
        # All are starting: only now wait for each to be able to listen.
        for part, (one, count) in enumerate(zip(away, shares, strict=True)):
            one.settle((target, settings, guidance, count, part))
        yield list(away)
    finally:
        for one in away:
            one.stop()


class _RemoteEnsembles:
    """Ensembles in another process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _ignoring_interrupts():
            self._process.start()
        theirs.close()

    def settle(self, ensembles: tuple[Target, Settings, Guidance | None, int, int]) -> None:
        """Send the process the ensembles that are its own."""
        with _alive():
            # As bytes: in shared memory every tensor would hold a file open.
            self._line.send_bytes(pickle.dumps(ensembles))

    def begin(self) -> None:
        with _alive():
            self._line.send(None)

    def end(self) -> SweepRecord:
        with _alive():
            answer = self._line.recv()
        if isinstance(answer, Exception):
            raise answer
        return SweepRecord(*(torch.from_numpy(part) for part in answer))

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self._line.close()


@contextmanager
def _alive() -> Iterator[None]:
    """Say in words that a line to a process broke."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise RuntimeError(
            "posterior: a process that samples has died: is there enough memory, and is the script guarded by "
            'if __name__ == "__main__"?'
        ) from None


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start a process that ignores interrupts, even while it imports: the one that asks will stop it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard or signal.SIG_DFL)


def _serve(line: Connection) -> None:
    """Make a sweep for every question of the other process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads.Limit(1)
    try:
        mine = Ensembles(*pickle.loads(line.recv_bytes()))
        while True:
            line.recv()
            line.send([part.numpy() for part in mine.end()])
    except (EOFError, ConnectionError):
        return  # Nobody asks any more.
    except Exception as error:
        line.send(error)
