"""From a measurement to an image: measurement files, trained networks, calibration, doubts, refinement.

imager = load("flagship")                 # or the folder of a run; shipped() lists the names
result = imager(Measurement.of_difference(df))
result.image, result.uncertainty, result.warnings
"""

from eitlens.imaging.api import reconstruct
from eitlens.imaging.imager import Imager, load
from eitlens.imaging.methods import METHODS
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Flag, Reconstruction, Refinement
from eitlens.measure.measurement import Measurement
from eitlens.weights import DEFAULT, shipped

__all__ = [
    "DEFAULT",
    "METHODS",
    "Flag",
    "Imager",
    "Measurement",
    "Options",
    "Reconstruction",
    "Refinement",
    "load",
    "reconstruct",
    "shipped",
]
