"""The Bayesian posterior of the ellipses given noisy boundary data, sampled: what the data can say at best."""

from eitlens.posterior.sampler.diagnostics import Diagnostics
from eitlens.posterior.sampler.images import Images, smoothed
from eitlens.posterior.sampler.sampler import PosteriorResult, sample
from eitlens.posterior.sampler.settings import Settings

__all__ = ["Diagnostics", "Images", "PosteriorResult", "Settings", "sample", "smoothed"]
