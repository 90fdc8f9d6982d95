"""Classical images straight from the boundary data, without training."""

from eitlens.classical.d_bar import DBar, dbar
from eitlens.classical.dsm import Probe, direct_sampling, probing
from eitlens.classical.minimisation import Minimum, minimise
from eitlens.classical.theorem1 import index_function, picard_sum

__all__ = [
    "DBar",
    "Minimum",
    "Probe",
    "dbar",
    "direct_sampling",
    "index_function",
    "minimise",
    "picard_sum",
    "probing",
]
