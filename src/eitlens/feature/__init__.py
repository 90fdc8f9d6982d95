"""Inputs of networks: boundary data as pictures or as codes."""

from eitlens.feature.base import Input, InputRecipe, Reading
from eitlens.feature.codes import Codes
from eitlens.feature.fields import Features
from eitlens.feature.harmonic import harmonic_extension
from eitlens.feature.storage import INPUTS, read_input

__all__ = [
    "INPUTS",
    "Codes",
    "Features",
    "Input",
    "InputRecipe",
    "Reading",
    "harmonic_extension",
    "read_input",
]
