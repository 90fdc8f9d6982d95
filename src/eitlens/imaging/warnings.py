"""Doubts about an image, in words: the measurement is not like those the network was trained on."""

from collections.abc import Iterator

import torch

from eitlens.forward.base import Data
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.reconstruction import Refinement
from eitlens.measure.base import Flag, Prepared

MARGIN = 1.1
"""Times the noise of training to which a network is trusted: estimates of the noise are off by a few percent."""
NO_NOISE = 1e-3
"""Less noise than this is none: the solver's own error is estimated as noise of that size."""
# A gap is wider than between 64 even points on the square (0.125); a mean or a residual is more than rounding leaves.
WIDEST_GAP, LARGEST_MEAN, LARGEST_RESIDUAL = 0.13, 0.02, 2e-3


def too_noisy(noise: float | None, noisiest: float | None) -> bool:
    """Whether the data are noisier than any that the network saw in training."""
    return noise is not None and noisiest is not None and noise > max(MARGIN * noisiest, NO_NOISE)


def input_flags(
    prepared: Prepared, noise: float | None, calibration: Calibration, noisiest: float | None = None
) -> Iterator[Flag]:
    """Doubts from the data alone; `noisiest` is the largest noise in the training of the network, if there is one."""
    yield from _noise(noise, noisiest)
    if prepared.mean > LARGEST_MEAN:
        yield Flag(
            "mean", f"the voltages hold a constant of {prepared.mean:.1%} of f - f0, which was taken off"
        )
    if prepared.gap > WIDEST_GAP:
        yield Flag(
            "gap",
            f"a piece of length {prepared.gap:.2g} of the boundary (of {prepared.domain.perimeter:.3g}) has no "
            "voltage: there the data are interpolated (from 64 even points to 0.1 %, from 32 to 2 %, from 16 to 10 %)",
        )
    if prepared.residual > LARGEST_RESIDUAL:
        yield Flag(
            "currents", f"the currents combine to those of the network with {prepared.residual:.1%} left over"
        )
    if prepared.unread:
        read = len(prepared.difference)
        yield Flag(
            "currents",
            f"the currents given combine to cos lθ only up to l = {read}, and what else they tell is not used: "
            f"inject cos {read + 1}θ too",
        )
    yield from prepared.doubts
    yield from _amplitude(prepared.difference, calibration)


def plain_flags(
    data: Data,
    drive: Data,
    noise: float | None,
    calibration: Calibration,
    noisiest: float | None,
    empty: bool,
) -> Iterator[Flag]:
    """Doubts about f - f0 in a network's own form that need no forward solver; of an `empty` image the misfit is 1."""
    yield from _noise(noise, noisiest)
    yield from _amplitude(data, calibration)
    yield from contrast_flags(data, drive, 1.0 if empty else None, noise, calibration, noisiest)


def sign_flags(data: Data, drive: Data) -> Iterator[Flag]:
    """A doubt where the power Σ g (f - f0) is not negative, as for inclusions that conduct better than the body."""
    if float((drive[: len(data)] * data).sum()) > 0:
        yield Flag(
            "contrast",
            "f - f0 has the sign of inclusions that conduct less than the body: are voltages and reference swapped?",
        )


def contrast_flags(
    data: Data,
    drive: Data,
    misfit: float | None,
    noise: float | None,
    calibration: Calibration,
    noisiest: float | None,
    gap: float = 0.0,
) -> Iterator[Flag]:
    """Doubts from the physics of data and image together; `drive` are the currents, `gap` that of the points."""
    wrong = [*sign_flags(data, drive)]
    if wrong:
        yield from wrong
        return
    if too_noisy(noise, noisiest):
        return  # Nobody knows what to expect, and the noise has a flag of its own.
    limit = calibration.misfit(noise)
    if misfit is not None and limit is not None and misfit > limit:
        few = "are the points too few, or " if gap > WIDEST_GAP else "are "
        yield Flag(
            "contrast",
            f"the network's image leaves {misfit:.0%} of the data unexplained (in training 99 % left at most "
            f"{limit:.0%}): "
            f"{few}the inclusions not {calibration.contrast:g} times as conductive as the body?",
        )


def unexplained_flags(misfit: float | None, noise: float | None, calibration: Calibration) -> Iterator[Flag]:
    """A doubt where an image of σ itself leaves more of the data unexplained than in training."""
    limit = calibration.misfit(noise)
    if misfit is not None and limit is not None and misfit > limit:
        text = (
            f"the network's image leaves {misfit:.0%} of the data unexplained (in training 99 % left at most "
        )
        yield Flag("contrast", f"{text}{limit:.0%}): is the body unlike those it was trained with?")


def refined_flags(change: Refinement, contrast: float) -> Iterator[Flag]:
    """Doubts from the fine-tuning."""
    if change.contrast is not None:
        side = "less" if change.contrast < contrast else "more"
        text = f"fine-tuning asks for inclusions {side} conductive than {contrast:g} times the body"
        yield Flag(
            "contrast", f"{text}, nearer to {change.contrast:.2g}: the image may be too large or too small"
        )


def _noise(noise: float | None, noisiest: float | None) -> Iterator[Flag]:
    if too_noisy(noise, noisiest):
        yield Flag("noise", f"noise of about {noise:.1%}: the network was trained for up to {noisiest:.1%}")


def _amplitude(data: Data, calibration: Calibration) -> Iterator[Flag]:
    sizes = data.square().mean(-1).sqrt().tolist()
    for k, (size, (low, high)) in enumerate(zip(sizes, calibration.amplitudes, strict=False)):
        if not low <= size <= high:
            text = f"f - f0 of current {k + 1} has size {size:.3g}, usual are {low:.3g} to {high:.3g}"
            yield Flag(
                "amplitude", f"{text}: inclusions too small or too large, another contrast or another unit?"
            )
            return
    if not calibration.amplitudes and not bool(torch.any(data != 0)):
        yield Flag("amplitude", "f - f0 is zero: there is nothing to see")
