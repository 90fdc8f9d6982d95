"""The Bayesian posterior of the ellipses given noisy boundary data, sampled: what the data can say at best.

`model/` is the prior, the likelihood and the target; `moves/` are the steps of a chain; `sampler/` runs the chains by
parallel tempering; `guide/` is a network that proposes phantoms to them.
"""

from eitlens.posterior.sampler.diagnostics import Diagnostics
from eitlens.posterior.sampler.images import Images, smoothed
from eitlens.posterior.sampler.sampler import PosteriorResult, sample
from eitlens.posterior.sampler.settings import Settings

__all__ = ["Diagnostics", "Images", "PosteriorResult", "Settings", "sample", "smoothed"]
