"""The contract of a sampler of random phantoms, and how shapes are drawn until they are apart."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.domain.base import CPU
from eitlens.errors import ConvergenceError, InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.batch import PhantomBatch, of_rows
from eitlens.phantom.phantom import Phantom

Range = tuple[float, float]
Attempt = int | Int64[Tensor, "*#batch"]
_ATTEMPTS, _ROUNDS = 16, 512  # draws at once, to fill a GPU, and how often before giving up: 8192 draws
_MOST = 1_000_000  # phantoms of a batch: their numbers fill gigabytes
OUTLINE = 48
"""Points of an outline, for distances: of the longest ellipse they are 0.05 apart, about the gap."""


class Sampler(ABC):
    """A distribution of random phantoms. Sample k of seed s is a pure function of (s, k): any batch, device, worker.

    All shapes are of one `kind`. With `disjoint` the whole configuration is drawn again until no shape comes nearer
    than about `gap` to another: the same distribution, conditioned on that.
    """

    kind: ClassVar[type[Shape]]
    disjoint: bool
    gap: float
    inside: float
    outside: float

    @abstractmethod
    def draw(
        self, index: Int64[Tensor, "*#batch"], attempt: Attempt
    ) -> Float64[Tensor, "*batch slots parameters"]:
        """One draw of the shapes of a phantom, not yet checked for overlaps."""

    def sample(self, index: Int64[Tensor, "batch"]) -> PhantomBatch:
        """The phantoms with these indices, on the device of `index`."""
        rows = draw_until_apart(self, index) if self.disjoint else self.draw(index, 0)
        return of_rows(self.kind, rows, self.inside, self.outside)

    def apart(self, rows: Float64[Tensor, "*batch slots parameters"]) -> Bool[Tensor, "*batch"]:
        """Whether no outline point of any shape is within the gap of another shape."""
        slots = rows.shape[-2]
        outline = self.kind.outline(rows, OUTLINE)
        apart = torch.ones(rows.shape[:-2], dtype=torch.bool, device=rows.device)
        for i in range(slots):
            # Where nothing fits, the first shapes tell. A GPU would have to wait for the answer.
            if apart.device.type == "cpu" and not apart.any():
                break
            others = [j for j in range(slots) if j != i]
            points = outline[..., others, :, :].flatten(-3, -2)
            apart &= ~self.kind.within(rows[..., i, :], points, self.gap).any(-1)
        return apart

    def batch(self, start: int, stop: int, device: torch.device = CPU) -> PhantomBatch:
        """The phantoms start … stop - 1."""
        if not 0 <= checks.whole(start, "start") <= checks.whole(stop, "stop") <= start + _MOST:
            raise InputError(f"expected 0 <= start <= stop, at most {_MOST} phantoms, got {start} and {stop}")
        return self.sample(torch.arange(start, stop, device=device))

    def phantom(self, k: int) -> Phantom:
        """Phantom k in plain numbers."""
        return self.batch(k, k + 1).phantom(0)


def draw_until_apart(sampler: Sampler, index: Int64[Tensor, "batch"]) -> Tensor:
    """Rows of the first draw 0, 1, 2, … whose shapes are apart, for each sample."""
    rows = sampler.draw(index, 0)
    pending = torch.nonzero(~sampler.apart(rows)).flatten()
    # One sample before the others: what does not fit is given up after the draws of one, not of all.
    for some in (pending[:1], pending[1:]):
        rows[some] = _draw_again(sampler, index[some], rows[some])
    return rows


def _draw_again(
    sampler: Sampler, index: Int64[Tensor, "batch"], rows: Float64[Tensor, "batch slots parameters"]
) -> Float64[Tensor, "batch slots parameters"]:
    """The same from draw 1 on, in place of `rows`; tried in blocks to fill a GPU."""
    pending = torch.arange(len(index), device=index.device)
    for block in range(_ROUNDS):
        if not len(pending):
            return rows
        attempts = torch.arange(1 + block * _ATTEMPTS, 1 + (block + 1) * _ATTEMPTS, device=index.device)
        trial = sampler.draw(index[pending, None], attempts[None])
        good = sampler.apart(trial)
        first = good.to(torch.int8).argmax(1)
        done = good.any(1)
        rows[pending[done]] = trial[done, first[done]]
        pending = pending[~done]
    raise ConvergenceError(
        f"no disjoint phantom of {rows.shape[-2]} {sampler.kind.__name__.lower()}s in {_ROUNDS * _ATTEMPTS} "
        f"draws: take fewer or smaller shapes, or a smaller gap (now {sampler.gap})"
    )
