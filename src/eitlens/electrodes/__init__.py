"""Electrodes: where they are, what they drive and read, and the complete electrode model."""

from eitlens.electrodes.disk import CompleteElectrodeSolver, Electrodes

__all__ = ["CompleteElectrodeSolver", "Electrodes"]
