"""What a network reads: boundary data as pictures or as codes."""

from eitlens.feature.codes import Codes
from eitlens.feature.fields import Features
from eitlens.feature.harmonic import harmonic_extension

__all__ = ["Codes", "Features", "harmonic_extension"]
