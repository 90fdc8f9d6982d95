"""Classical images, without training: direct sampling from boundary data, linear images and GREIT from electrodes."""

from eitlens.classical.d_bar import DBar, dbar
from eitlens.classical.dsm import Probe, direct_sampling, probing
from eitlens.classical.greit import fit_greit
from eitlens.classical.linear import LinearImage, linear_image
from eitlens.classical.minimisation import Minimum, minimise
from eitlens.classical.theorem1 import index_function, picard_sum
from eitlens.classical.time_difference import TimeDifference

__all__ = [
    "DBar",
    "LinearImage",
    "Minimum",
    "Probe",
    "TimeDifference",
    "dbar",
    "direct_sampling",
    "fit_greit",
    "index_function",
    "linear_image",
    "minimise",
    "picard_sum",
    "probing",
]
