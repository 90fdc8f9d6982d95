"""The posterior of the paper's ellipses as an imaging method: slow, and the best there is for bodies of that kind."""

import math
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import torch

from eitlens import posterior as bayes
from eitlens import weights
from eitlens.device import pick_device
from eitlens.domain.bodies import SQUARE
from eitlens.errors import InputError, prefix_errors
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.misfit import on_grid
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.imaging.warnings import input_flags, sign_flags
from eitlens.measure.base import Flag, Measurement, Prepared
from eitlens.memory import chunk_size
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide import network as guides
from eitlens.posterior.sampler.settings import GUIDED, GUIDED_ON_A_GPU

# The prior and the guide know ellipses that fill the square, and no other body.
_CURRENTS, _PRIOR = 3, EllipseSampler(seed=0, disjoint=True)
# Below this noise the sampler takes the data to have it: the smaller it is the longer the way down from large noise.
_QUIETEST = 0.005
# Seconds, if the user names none: enough on a GPU, on two cores not always (docs/posterior_notebook.md).
_PATIENCE = 300.0
# The size of f - f0 of the bodies of the prior: that of 98 % of its first 4000, and a tenth more to either side.
_USUAL = Calibration(amplitudes=((0.130, 0.332), (0.0260, 0.0897), (0.0283, 0.147)))
_ALONE = bayes.Settings()
# χ² a node from which on the data are not explained, however badly their noise was estimated.
_WORST = 2.0
# Bytes for each current that a ladder of every ensemble takes at its peak, measured.
_A_LADDER = 48 * 2**20


def posterior(measurement: Measurement, options: Options) -> Reconstruction:
    """The mean over the posterior of four ellipses apart, σ = 10 in a body of 1; see `eitlens.posterior`.

    The noise level must be known or visible in the data. Below 0.005 it is taken to be that: the sampler narrows
    down on the posterior from large noise to small, and takes the longer the smaller it is. At the noise that the
    package's guide was trained for (`posterior.guide`) it is led: sooner there, and to the same posterior.
    """
    options.only("posterior", "seconds")
    start = perf_counter()
    currents = CurrentsConfig("cosine", _CURRENTS)
    prepared = measurement.prepare(currents, 1, SQUARE)
    noise = prepared.noise if options.tau is None else options.tau
    with prefix_errors(measurement.source):
        if noise is None:
            raise InputError(
                "posterior: the points are too far apart to see the noise level: give it with --tau"
            )
        if not bool(prepared.seen.all()):
            raise InputError(
                "posterior: needs a voltage at every node: measure at more points, or use --method network"
            )
    found = _sampled(prepared, max(noise, _QUIETEST), options)
    domain = SQUARE if options.n is None else SQUARE.at(options.n)
    image = on_grid(found.mean(), domain.n)
    # That a network was not trained for such noise is no concern of the sampler.
    doubts = [flag for flag in input_flags(prepared, noise, _USUAL) if flag.kind != "noise"]
    doubts += sign_flags(prepared.difference, currents.build(prepared.domain))
    doubts += _doubts(found)
    spread, seconds = (image * (1 - image)).clamp(min=0).sqrt(), perf_counter() - start
    return Reconstruction(image, spread, domain, noise, None, tuple(doubts), "posterior", "", seconds)


def _doubts(found: bayes.PosteriorResult) -> Iterator[Flag]:
    """Doubt that it is the posterior, and that a body of this kind explains the data at all."""
    if not bool(found.diagnostics.converged[0]):
        yield Flag("posterior", f"not converged ({_reason(found.diagnostics)}): give it more --seconds")
    misfit = float(found.misfit[0].median())
    if misfit > _WORST and bool(found.diagnostics.rhat[0].isfinite()):
        yield Flag(
            "contrast",
            f"the samples miss the data by {misfit**0.5:.2g} times their noise: is the body not four ellipses apart, "
            f"{_PRIOR.inside:g} times as conductive as the rest?",
        )


def _reason(found: bayes.Diagnostics) -> str:
    rhat = float(found.rhat[0])
    if math.isinf(rhat):
        return f"its sweeps, {found.sweeps}, were nearly all warm-up"
    if not bool(found.arrived[0]):
        return f"R-hat {rhat:.2f}, and not every ensemble found it anew from high noise"
    return f"R-hat {rhat:.2f}"


def _sampled(prepared: Prepared, tau: float, options: Options) -> bayes.PosteriorResult:
    device = pick_device(options.device)
    guide = _guide(tau, device)
    return bayes.sample(
        prepared.difference,
        SQUARE,
        CurrentsConfig("cosine", len(prepared.difference)).build(SQUARE, device),
        tau,
        _PRIOR,
        _ALONE if guide is None else _guided(device, len(prepared.difference)),
        options.progress,
        seconds=_PATIENCE if options.seconds is None else options.seconds,
        guide=guide,
        workers=1 if device.type == "cuda" else options.workers,
    )


def _guide(tau: float, device: torch.device) -> guides.Guide | None:
    """The shipped guide, if there is one and it knows this noise."""
    folder = weights.guide()
    guide = None if folder is None else guides.load(folder, device)
    return guide if guide is not None and guide.knows(tau) else None


def _guided(device: torch.device, currents: int) -> bayes.Settings:
    """Settings with a guide; on a GPU as many ladders as there is memory for."""
    if device.type != "cuda":
        return GUIDED
    fitting = chunk_size(_A_LADDER * currents, device)
    return replace(GUIDED_ON_A_GPU, ladders=min(GUIDED_ON_A_GPU.ladders, fitting))
