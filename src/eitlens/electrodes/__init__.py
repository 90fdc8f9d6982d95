"""Electrodes: where they are, what they drive and read, and the complete electrode model."""

from eitlens.electrodes.base import ElectrodeSolver, simulate_readings
from eitlens.electrodes.disk import CompleteElectrodeSolver
from eitlens.electrodes.layout import Electrodes
from eitlens.electrodes.patterns import Pattern

__all__ = ["CompleteElectrodeSolver", "ElectrodeSolver", "Electrodes", "Pattern", "simulate_readings"]
