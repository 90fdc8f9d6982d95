"""Classical images straight from the boundary data, without training."""

from eitlens.classical.dsm import direct_sampling, probing_tensor
from eitlens.classical.theorem1 import index_function, picard_sum

__all__ = ["direct_sampling", "index_function", "picard_sum", "probing_tensor"]
