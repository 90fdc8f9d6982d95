"""Many frames a second: linear images of a sequence as one product, straight from readings to the nodes of a grid.

A linear image is x = R (v - v0). Three things make the product small:

- R leads to the nodes of the image's own grid, so that the product is written where the image is;
- two readings that are the same by reciprocity have proportional columns in R: they are added before the product;
- v - v0 is taken in double precision and multiplied in single precision, unless asked otherwise. Readings have three to
  five digits that count, single precision has seven.

The product is that of numpy, whose single-precision one is two to three times as fast as torch's on some processors.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64

from eitlens.classical.linear import LinearImage
from eitlens.electrodes import Pattern
from eitlens.errors import InputError

Numbers = Float64[np.ndarray, "rows readings"]
Images = Float[np.ndarray, "*frames nx ny"]
"""Arrays (n+1, n+1) or (frames, n+1, n+1), of the precision asked for."""

_SAME = (
    1e-9  # of a column: what reciprocal readings may differ by, more than rounding and less than any noise
)
_CHUNK = 512  # frames at a time: what lies between readings and image then stays in the processor's cache


class Partners(NamedTuple):
    """The readings that go into the product: `own` in order, and to the first of them `second` times `factor`."""

    own: Int64[np.ndarray, "columns"]
    second: Int64[np.ndarray, "pairs"]
    factor: Float64[np.ndarray, "pairs"]


@dataclass(frozen=True, eq=False)
class FrameProduct:
    """The matrix of a linear image for one reference and one grid."""

    reference: Float64[np.ndarray, "readings"]
    partners: Partners
    matrix: Any
    cells: int

    @staticmethod
    def of(
        image: LinearImage,
        reference: Float64[np.ndarray, "readings"],
        n: int,
        precision: str = "float32",
        weight: Float64[np.ndarray, "readings"] | None = None,
    ) -> "FrameProduct":
        """Of a fitted image, on n cells a side; `weight` multiplies the change of each reading."""
        rows = np.zeros((len(reference), (n + 1) ** 2))
        rows[image.present.numpy()] = image.onto(n).numpy()
        if weight is not None:
            rows *= np.where(image.present.numpy(), weight, 0.0)[:, None]
        pairs = partners(rows, image.present.numpy(), image.tank.model.pattern)
        return FrameProduct(reference, pairs, rows[pairs.own].astype(precision), n)

    def __call__(self, frames: Numbers) -> Images:
        """The images of frames (F, R)."""
        found = np.empty((len(frames), self.matrix.shape[1]), self.matrix.dtype)
        for start in range(0, len(frames), _CHUNK):
            part = slice(start, start + _CHUNK)
            np.matmul(self._columns(frames[part]), self.matrix, out=found[part])
        return found.reshape(len(frames), self.cells + 1, self.cells + 1)

    def _columns(self, frames: Numbers) -> Any:
        own, second, factor = self.partners
        change = frames - self.reference
        columns = change.take(own, 1)
        columns[:, : len(second)] += change.take(second, 1) * factor
        if not np.isfinite(columns).all():
            raise InputError("v1: some readings are not finite, and those of v0 or of earlier frames are")
        return columns.astype(self.matrix.dtype)


def partners(rows: Numbers, present: Any, pattern: Pattern) -> Partners:
    """Reciprocal readings whose rows of a matrix are proportional: the second of each pair, and its factor."""
    pairs = pattern.reciprocal()
    one, other = pairs.one.numpy(), pairs.other.numpy()
    _, first = np.unique(one, return_index=True)  # a reading takes one partner
    some = first[present[one[first]] & present[other[first]] & ~np.isin(one[first], other)]
    one, other = one[some], other[some]
    size = np.einsum("pn,pn->p", rows[one], rows[one])
    factor = np.einsum("pn,pn->p", rows[one], rows[other]) / np.maximum(size, np.finfo(np.float64).tiny)
    away = np.linalg.norm(rows[other] - factor[:, None] * rows[one], axis=1)
    same = away <= _SAME * np.sqrt(size)
    one, other, factor = one[same], other[same], factor[same]
    alone = np.setdiff1d(np.flatnonzero(present), np.concatenate([one, other]))
    return Partners(np.concatenate([one, alone]), other, factor)
