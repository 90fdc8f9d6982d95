"""Electrodes: where they are, what they drive and read, and the complete electrode model."""

from eitlens.electrodes.base import ElectrodeSolver, simulate_readings
from eitlens.electrodes.config import TankConfig
from eitlens.electrodes.disk import CompleteElectrodeSolver
from eitlens.electrodes.instrument import Instrument
from eitlens.electrodes.layout import Electrodes
from eitlens.electrodes.patterns import Pattern
from eitlens.electrodes.waves import EmptyTank, empty_tank, even_resistance

__all__ = [
    "CompleteElectrodeSolver",
    "ElectrodeSolver",
    "Electrodes",
    "EmptyTank",
    "Instrument",
    "Pattern",
    "TankConfig",
    "empty_tank",
    "even_resistance",
    "simulate_readings",
]
