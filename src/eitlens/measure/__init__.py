"""Measurements: what a device knows of a body, its files, and the form a method wants them in."""

from eitlens.measure.base import Measurement

__all__ = ["Measurement"]
