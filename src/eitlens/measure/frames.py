"""The choice of frames of a sequence in words: "1-20", "21-", "7", "1-5,9"; frames are counted from 1 there."""

import re

from eitlens.errors import InputError, prefix_errors
from eitlens.measure.base import Measurement

_RANGE = re.compile(r"(\d{1,9})(-(\d{1,9})?)?$")


def choose(
    measurement: Measurement,
    frames: str | None = None,
    reference: str | None = None,
    average: int | None = None,
) -> Measurement:
    """Compare a sequence with the mean of its `reference` frames, keep `frames` of it, `average` so many into one.

    >>> tank = eit.Electrodes.even(eit.Disk(32), 16), eit.Pattern.named("adjacent", 16)
    >>> data = choose(eit.Measurement.of_electrodes(*tank, torch.ones(30, 208)), "11-", "1-10", average=5)
    >>> data.voltages.shape, data.reference.shape
    (torch.Size([4, 208]), torch.Size([10, 208]))
    """
    chosen = measurement
    if reference is not None:
        with prefix_errors("reference frames"):
            chosen = chosen.against(numbers(reference, measurement.frames))
    if frames is not None:
        with prefix_errors("frames"):
            chosen = chosen.selected(numbers(frames, measurement.frames))
    return chosen if average is None or average == 1 else chosen.averaged(average)


def origins(count: int, frames: str | None = None, average: int | None = None) -> list[int]:
    """Where the frames that `choose` returns come from: the first of each average, counted from 1.

    >>> origins(30, "11-", average=5)
    [11, 16, 21, 26]
    """
    kept, size = [*range(count)] if frames is None else numbers(frames, count), average or 1
    return [kept[k * size] + 1 for k in range(len(kept) // size)]


def numbers(text: str, count: int) -> list[int]:
    """The frames, counted from 0, that a text such as "1-5,9,20-" chooses of `count`."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = _RANGE.match(part)
        if match is None:
            raise InputError(f"expected frames such as 1-20, 21- or 1-5,9, got {text[:40]!r}")
        first, last = int(match[1]), int(match[3] or (count if match[2] else match[1]))
        if not 1 <= first <= last <= count:
            raise InputError(f"there are no frames {part[:40]}: the measurement has frames 1 to {count}")
        found += range(first - 1, last)
    return found
