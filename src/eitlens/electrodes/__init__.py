"""Electrodes: where they are, what they drive and read, and the complete electrode model."""

from eitlens.electrodes.disk import CompleteElectrodeSolver, Electrodes
from eitlens.electrodes.instrument import Instrument
from eitlens.electrodes.waves import EmptyTank, empty_tank

__all__ = ["CompleteElectrodeSolver", "Electrodes", "EmptyTank", "Instrument", "empty_tank"]
