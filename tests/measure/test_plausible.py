"""Units: amperes that are milliamperes and volts that are millivolts are seen, and what is right is left alone."""

import pytest
import torch

from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, TankConfig, simulate_readings
from eitlens.forward.currents import CurrentsConfig
from eitlens.measure import Measurement
from eitlens.measure.plausible import unit_warning
from eitlens.phantom import Phantom, circle

TANK, HEIGHT = TankConfig(electrodes=8, scale=0.1, impedance=1e-4, current=2e-3), 0.05
ROW, PATTERN = TANK.build(Disk(32))
BODY = Phantom([circle((0.3, 0.1), 0.4)], 0.001, 0.3)
VOLTS, EMPTY = simulate_readings(ROW, PATTERN, [BODY, Phantom([], outside=0.3)], HEIGHT)
MILLI = Pattern(1000 * PATTERN.stimulation, PATTERN.reading, PATTERN.mask)


def told(pattern: Pattern, factor: float, known: float | None, reference: bool = True) -> str | None:
    empty = factor * EMPTY if reference else None
    return unit_warning(
        Measurement.of_electrodes(ROW, pattern, factor * VOLTS, empty, conductivity=known, height=HEIGHT)
    )


@pytest.mark.parametrize("known", [0.3, 0.5, None])
@pytest.mark.parametrize("reference", [True, False])
def test_what_is_right_is_left_alone(known: float | None, reference: bool) -> None:
    assert told(PATTERN, 1.0, known, reference) is None


@pytest.mark.parametrize("known", [0.3, 0.5, None])
@pytest.mark.parametrize("reference", [True, False])
def test_milliamperes_for_amperes(known: float | None, reference: bool) -> None:
    assert "are the amperes milliamperes?" in str(told(MILLI, 1.0, known, reference))


def test_millivolts_for_volts() -> None:
    assert "are the volts millivolts?" in str(told(PATTERN, 1000.0, 0.3))


def test_both_agree_with_each_other_and_differences_tell_nothing() -> None:
    assert told(MILLI, 1000.0, 0.3) is None
    assert unit_warning(Measurement.of_electrodes(ROW, PATTERN, VOLTS, torch.zeros_like(VOLTS))) is None


def test_missing_readings_do_not_matter() -> None:
    volts = EMPTY.clone()
    volts[::3] = torch.nan
    data = Measurement.of_electrodes(
        Electrodes.even(Disk(32, scale=0.1), 8), MILLI, volts, conductivity=0.3, height=HEIGHT
    )
    assert "milliamperes" in str(unit_warning(data))


def test_an_image_comes_with_the_warning() -> None:
    from eitlens.imaging.calibration import Calibration
    from eitlens.imaging.warnings import input_flags

    data = Measurement.of_electrodes(ROW, MILLI, VOLTS, EMPTY, conductivity=0.3, height=HEIGHT)
    prepared = data.prepare(CurrentsConfig("cosine", 1), 1, Disk(32))
    assert "units" in [flag.kind for flag in input_flags(prepared, None, Calibration())]
