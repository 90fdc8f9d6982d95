"""Contacts: what the skin between electrode and body does to the readings, by the complete electrode model.

    python examples/contact_impedance.py

Readings at electrodes that drive hold the contact's own voltage. Those at the others hardly know it.
"""

from pathlib import Path

import torch
from first_tank import TANK

import eitlens as eit
from eitlens.figures.style import picture

IMPEDANCES = (1e-5, 1e-4, 1e-3, 1e-2)  # Ω m²


def main(out: Path) -> tuple[float, float]:
    """Draw the change of the readings against the impedance; the last, at driving and at other electrodes."""
    alone = eit.Pattern.named("adjacent", 16, current=5e-3)
    driven = eit.Pattern.named("adjacent", 16, current=5e-3, driven=True)
    changes = {"at other electrodes": _changes(alone), "at all electrodes": _changes(driven)}
    with picture(out, 1, 1, 3.4) as axes:
        for (name, values), mark in zip(changes.items(), ("o-", "s-"), strict=True):
            axes[0, 0].loglog(IMPEDANCES, values, mark, label=name)
        axes[0, 0].set(title="change of the readings", xlabel="contact impedance in Ω m²")
        axes[0, 0].legend()
    return changes["at all electrodes"][-1], changes["at other electrodes"][-1]


def _changes(pattern: eit.Pattern) -> list[float]:
    """How far the readings of water are from those with perfect contacts, relatively."""
    rows = torch.stack([_water(pattern, z) for z in (1e-8, *IMPEDANCES)])
    return ((rows[1:] - rows[0]).norm(dim=1) / rows[0].norm()).tolist()


def _water(pattern: eit.Pattern, impedance: float) -> torch.Tensor:
    electrodes = eit.Electrodes.even(TANK, 16, coverage=0.5, impedance=impedance)
    return eit.simulate_readings(electrodes, pattern, eit.Phantom([], outside=0.3), height=0.05)


if __name__ == "__main__":
    at_drives, elsewhere = main(Path("out/contact_impedance.png"))
    print(
        f"contacts of 0.01 Ω m² change the readings by {at_drives:.0%} with driving electrodes, {elsewhere:.0%} without"
    )
