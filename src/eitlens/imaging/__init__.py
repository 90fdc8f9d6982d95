"""From a measurement to an image: measurement files, trained networks, calibration, doubts, refinement.

>>> eit.imaging.shipped()
['flagship', 'uit-small']
>>> eit.imaging.load("uit-small").reader.currents.count
3
"""

from eitlens.imaging.api import reconstruct
from eitlens.imaging.by_tank import gauss_newton, level_sets, outlines, total_variation
from eitlens.imaging.imager import Imager, load
from eitlens.imaging.methods import METHODS, Batched
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Phases, Reconstruction, Refinement
from eitlens.imaging.sequence import images
from eitlens.imaging.tank_imager import TankImager
from eitlens.measure import Measurement
from eitlens.measure.base import Flag
from eitlens.weights import DEFAULT, shipped

__all__ = [
    "DEFAULT",
    "METHODS",
    "Batched",
    "Flag",
    "Imager",
    "Measurement",
    "Options",
    "Phases",
    "Reconstruction",
    "Refinement",
    "TankImager",
    "gauss_newton",
    "images",
    "level_sets",
    "load",
    "outlines",
    "reconstruct",
    "shipped",
    "total_variation",
]
