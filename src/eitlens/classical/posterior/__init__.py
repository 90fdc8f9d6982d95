"""The Bayesian posterior of the ellipses given noisy boundary data, sampled: what the data can say at best."""

from eitlens.classical.posterior.diagnostics import Diagnostics
from eitlens.classical.posterior.images import Images, smoothed
from eitlens.classical.posterior.sampler import PosteriorResult, sample
from eitlens.classical.posterior.settings import Settings

__all__ = ["Diagnostics", "Images", "PosteriorResult", "Settings", "sample", "smoothed"]
