"""The trainings that the reproduction still wants, in the order of their worth, and what each will take.

A job is a cell, trained by a variant of the recipe from a seed, written `VARIANT:NETWORK/TAU@SEED` with the variant and
the seed left out where they are those of Table 1. Several processes with the same queue share it: each takes the first
job that is missing and that no other is training (`eitlens.paper.training.fill`), and a job that was stopped goes on.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from eitlens.errors import InputError
from eitlens.paper.cells import SEED, Cell
from eitlens.paper.training import Outcome, Plan, fill, missing
from eitlens.paper.variants import PLAIN, VARIANTS
from eitlens.train import Observer

SECOND, THIRD = SEED + 1, SEED + 2
"""The seeds of the second and the third run of a cell."""


@dataclass(frozen=True)
class Job:
    """A training: a cell, by a variant of the recipe, from a seed."""

    cell: Cell
    variant: str = PLAIN
    seed: int = SEED

    @staticmethod
    def parse(text: str) -> "Job":
        """Read a job from text such as `uit/0`, `published:uit/0` or `uit/0@1127804`."""
        variant, _, rest = text.rpartition(":")
        cell, _, seed = rest.partition("@")
        if variant and variant not in VARIANTS:
            raise InputError(f"{text}: no variant {variant!r}: choose one of {', '.join(VARIANTS)}")
        if seed and not seed.isdecimal():
            raise InputError(f"{text}: expected a seed after @, a whole number, got {seed!r}")
        return Job(Cell.parse(cell), variant or PLAIN, int(seed or SEED))

    def __str__(self) -> str:
        before = "" if self.variant == PLAIN else f"{self.variant}:"
        return f"{before}{self.cell}" + ("" if self.seed == SEED else f"@{self.seed}")

    def plan(self, plan: Plan) -> Plan:
        """The plan with the variant and the seed of the job."""
        return replace(plan, variant=self.variant, seed=self.seed)

    def done(self, plan: Plan) -> bool:
        """Whether its result is there."""
        return not missing(self.plan(plan), [self.cell])


@dataclass(frozen=True)
class Wish:
    """Jobs that are wanted together, and what they answer."""

    why: str
    jobs: tuple[Job, ...]


def _wish(why: str, *jobs: str) -> Wish:
    return Wish(why, tuple(map(Job.parse, jobs)))


def _again(seed: int, *cells: str) -> tuple[str, ...]:
    return tuple(f"{cell}@{seed}" for cell in cells)


_UNETS_AND_UTS = ("unet-big/0", "hybrid-ut/0", "uit-softmax/0", "cross-ut/0")
WISHES = (
    _wish("what the published recipe gives, UIT", "published:uit/0"),
    _wish("what φ is worth, U-Net", "boundary-data:unet/0", "phi-alone:unet/0", "code-fields:unet/0"),
    _wish("what φ is worth, UIT", "boundary-data:uit/0", "phi-alone:uit/0", "code-fields:uit/0"),
    _wish("what the published recipe gives, U-Net", "published:unet/0"),
    _wish("what the softmax alone costs", "coarse-norms:uit-softmax/0"),
    _wish("a third run of UIT", *_again(THIRD, "uit/0", "uit/0.05")),
    _wish(
        "what the published recipe gives, others",
        *(f"published:{cell}" for cell in ("fno/0", "hybrid-ut/0", "uit-softmax/0", "uit/0.05")),
    ),
    _wish(
        "what φ is worth, UIT with noise",
        *(f"{name}:uit/0.05" for name in ("boundary-data", "phi-alone", "code-fields")),
    ),
    _wish("second runs", *_again(SECOND, *_UNETS_AND_UTS)),
    _wish("third runs", *_again(THIRD, *_UNETS_AND_UTS)),
)
"""What is wanted, the most telling first."""

Report = Callable[[Job, Outcome, str], None]


def wishes(given: Sequence[str] = ()) -> tuple[Wish, ...]:
    """The jobs that were asked for, in their order; the whole list by default."""
    return (_wish("asked for", *given),) if given else WISHES


def work(
    plan: Plan,
    jobs: Sequence[Job],
    minutes: float = float("inf"),
    observers: Callable[[Job], tuple[Observer, ...]] = lambda job: (),
    tell: Report = lambda job, outcome, why: None,
) -> dict[Job, Outcome]:
    """Train the jobs that are missing, one after the other, until all are there or the time is over."""
    end, outcomes = time.monotonic() + 60 * minutes, dict[Job, Outcome]()
    for job in jobs:
        left = (end - time.monotonic()) / 60
        found = fill(
            job.plan(plan),
            [job.cell],
            left,
            lambda cell, job=job: observers(job),  # type: ignore[misc]
            lambda cell, outcome, why, job=job: tell(job, outcome, why),  # type: ignore[misc]
        )
        if job.cell in found:
            outcomes[job] = found[job.cell]
        if outcomes.get(job) == "stopped":
            break
    return outcomes
