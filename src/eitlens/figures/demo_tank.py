"""A tank as a device measures it, for the demo: electrodes a little off their places, bad contacts, gains, noise."""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from matplotlib.axes import Axes
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens import random
from eitlens.domain import Disk
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, Instrument, Pattern
from eitlens.evaluate.images import scores
from eitlens.figures.reconstruction import show_image
from eitlens.figures.style import outline, show_field
from eitlens.forward import BoundaryIntegralSolver
from eitlens.imaging import Options, Reconstruction, images
from eitlens.measure import Measurement
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import ObjectSampler, Phantom

METHODS = ("greit", "network")
_BODY = Disk(128, scale=0.14)  # metres
_HEIGHT, _WATER, _CURRENT = 0.05, 0.3, 5e-3  # metres, S/m, amperes
_COUNT, _COVERAGE, _CONTACT = 16, 0.5, 1e-4  # the contact in Ω m²
_OFF, _CONTACTS = 0.01, 0.2  # of an electrode's share of the wall, and of the contact: standard deviations
_GAIN, _COMMON, _SOURCE, _NOISE = (
    3e-3,
    3e-4,
    3e-3,
    2e-4,
)  # the same of the device; noise of the largest reading
_TITLES = {"greit": "GREIT", "network": "network"}
_SIZE = (0.15, 0.3)  # radius of an object
_RESISTIVE, _CONDUCTIVE = (
    (0.01, 0.1),
    (5.0, 50.0),
)  # σ of an object over that of the water: seen by such a device


class TankScene(NamedTuple):
    """What is in the tank, what the device says of it, what changed in that, and the images."""

    phantom: Phantom
    measurement: ElectrodeMeasurement
    change: Float64[Tensor, "readings"]
    found: dict[str, Reconstruction]


def tank_scene(seed: int, n: int) -> TankScene:
    """Measure a random tank and image it by GREIT and by the network for tanks, which are not told of the errors."""
    objects = ObjectSampler(
        seed, _BODY, 3, _SIZE, outside=_WATER, resistive=_RESISTIVE, conductive=_CONDUCTIVE
    )
    phantom = objects.phantom(0)
    told = Electrodes.even(_BODY, _COUNT, _COVERAGE, _CONTACT)
    pattern = Pattern.named("adjacent", _COUNT, current=_CURRENT)
    frame, water = _measured(told, pattern, phantom, seed)
    data = Measurement.of_electrodes(told, pattern, frame, water, height=_HEIGHT)
    found = {name: next(images(data, name, Options(n=n))) for name in METHODS}
    return TankScene(phantom, data, frame - water, found)


def _measured(
    told: Electrodes, pattern: Pattern, phantom: Phantom, seed: int
) -> Float64[Tensor, "frames readings"]:
    """The readings of the tank and of the water in it, by a device with errors."""
    shift, contact, gain, common, source, *noise = random.normal(
        random.mixed(seed, "demo", 0), torch.arange(5 + 2 * pattern.mask.shape[0]), _COUNT
    )
    share = told.body.perimeter / _COUNT
    true = Electrodes(
        told.body,
        told.places + _OFF * share * shift,
        told.widths,
        told.impedance * (_CONTACTS * contact).exp(),
    )
    solver = CompleteElectrodeSolver(BoundaryIntegralSolver(told.body), true)
    resistance = solver.resistances([phantom, Phantom([], outside=_WATER)]) / _HEIGHT
    device = Instrument(pattern.reading, _GAIN * gain, _COMMON * common, _SOURCE * source)
    clean = device.measure(resistance, pattern.stimulation)
    noisy = clean + _NOISE * clean.abs().max() * torch.stack(noise).reshape(clean.shape)
    return noisy[:, pattern.mask]


def draw_tank(axes: list[Axes], scene: TankScene) -> None:
    """Draw, in four panels, the tank, what changed in the readings, and the two images."""
    body = _BODY
    sigma = phantoms.conductivity(body, scene.phantom).where(body.inside(), torch.nan)
    show_field(axes[0], sigma / _WATER, "a tank: σ / σ of its water", limits=(0.0, 2.0))
    axes[0].set_title(axes[0].get_title(), pad=10)  # above the electrodes
    axes[0].set_axis_off()
    count = len(scene.change)
    axes[1].plot(1e3 * scene.change, color="0.2", linewidth=0.7)
    axes[1].set(title=f"change of {count} readings in mV", xlabel="reading", xlim=(0, count))
    for panel, (name, found) in zip(axes[2:], scene.found.items(), strict=True):
        show_image(panel, found, f"{_TITLES[name]}: Dice {tank_dice(found, scene.phantom):.2f}")
        outline(panel, phantoms.level_set(found.domain, scene.phantom), "black")
    for k, (x, y) in enumerate(scene.measurement.electrodes.points().tolist()):
        axes[0].plot(1.07 * x, 1.07 * y, "s", color="0.4", markersize=2.5, clip_on=False)
        if k == 0:
            axes[0].text(1.2 * x, 1.2 * y, "1", fontsize=6, ha="center", va="center")


def tank_dice(found: Reconstruction, phantom: Phantom) -> float:
    """The overlap of the area where an image departs from the water with the objects."""
    return scores(found.image, found.quantity, found.domain, phantom).dice
