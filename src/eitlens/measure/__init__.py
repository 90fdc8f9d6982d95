"""Measurements: what a device knows of a body, its files, and the form a method wants them in."""

from eitlens.measure.base import Measurement
from eitlens.measure.setup import Setup

__all__ = ["Measurement", "Setup"]
