import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import eitlens as eit
from eitlens.classical.frame_product import partners
from eitlens.classical.merit import position_error
from eitlens.classical.time_difference import METHODS
from eitlens.electrodes.protocols import to_pyeit

DISK = eit.Disk(32)
ELECTRODES = eit.Electrodes.even(DISK, 16, first=math.pi, clockwise=True)
PATTERN = eit.Pattern.named("adjacent", 16)
PROTOCOL = SimpleNamespace(**dict(zip(("ex_mat", "meas_mat"), to_pyeit(PATTERN), strict=True)))
PLACE = (0.4, 0.2)


@pytest.fixture(scope="module")
def readings() -> np.ndarray:
    bodies = [eit.Phantom([eit.circle(PLACE, 0.15)], 3.0), eit.Phantom([])]
    return eit.simulate_readings(ELECTRODES, PATTERN, bodies).numpy()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_place(readings, method):
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)
    imaging.setup(method=method, lamb=1e-4 if method in ("kotre", "lm", "dgn") else None)
    image = imaging.solve(*readings)
    assert image.shape == (33, 33)
    assert position_error(DISK, torch.from_numpy(image).double(), PLACE) < 0.1


def test_frames_are_imaged_together_and_the_matrix_is_made_once(readings):
    v1, v0 = readings
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)
    imaging.setup(method="dgn", lamb=1e-4, precision="float64")
    one = imaging.solve(v1, v0)
    matrix = imaging.fitted
    both = imaging.solve(np.stack([v1, v0 + 2 * (v1 - v0)]), v0)
    assert imaging.fitted is matrix
    np.testing.assert_allclose(both, np.stack([one, 2 * one]), atol=1e-9)


def test_normalized_images_do_not_see_gains(readings):
    v1, v0 = readings
    gains = np.random.default_rng(0).uniform(0.5, 1.5, len(v0))
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)
    imaging.setup(method="dgn", lamb=1e-3)

    def relative(gain: object, normalize: bool) -> np.ndarray:
        image = imaging.solve(gain * v1, gain * v0, normalize)
        return image / imaging.fitted.tank.conductivity

    plain = relative(1.0, normalize=True)
    assert np.abs(relative(gains, normalize=True) - plain).max() < 0.03 * np.abs(plain).max()
    assert np.abs(relative(gains, normalize=False) - plain).max() > 0.2 * np.abs(plain).max()


def test_what_cannot_be_meant_is_refused(readings):
    with pytest.raises(eit.InputError, match="ex_mat"):
        eit.TimeDifference(ELECTRODES, "adjacent")
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)
    with pytest.raises(eit.InputError, match="kotre"):
        imaging.setup(method="svd")
    with pytest.raises(eit.InputError, match="zero"):
        imaging.solve(readings[0], np.where(np.arange(208) == 3, 0.0, readings[1]), normalize=True)


def test_single_precision_says_the_same(readings):
    v1, v0 = readings
    frames = np.stack([v1, v0 + 0.5 * (v1 - v0)])
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)

    def images(precision: str) -> np.ndarray:
        imaging.setup(method="noser", lamb=1e-5, precision=precision)
        return imaging.solve(frames, v0)

    exact, single = images("float64"), images("float32")
    plain = imaging.fitted(torch.from_numpy(frames - v0), 32).numpy()
    np.testing.assert_allclose(exact, plain, rtol=0, atol=1e-10 * np.abs(plain).max())
    np.testing.assert_allclose(single, plain, rtol=0, atol=2e-6 * np.abs(plain).max())
    assert (exact.dtype, single.dtype) == (np.float64, np.float32)


def test_reciprocal_readings_are_added_before_the_product(readings):
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)
    imaging.setup(method="dgn", lamb=1e-4)
    imaging.solve(*readings)
    rows = imaging.fitted.onto(32).numpy()
    every = np.ones(208, dtype=bool)
    found = partners(rows, every, PATTERN)
    assert (len(found.own), len(found.second)) == (104, 104)
    rebuilt = np.zeros_like(rows)
    rebuilt[found.own] = rows[found.own]
    rebuilt[found.second] = found.factor[:, None] * rows[found.own[: len(found.second)]]
    np.testing.assert_allclose(rebuilt, rows, atol=1e-9 * np.abs(rows).max())
    rows[found.second[0]] *= -np.linspace(1, 2, rows.shape[1])  # no longer proportional
    assert len(partners(rows, every, PATTERN).own) == 105


def test_missing_readings_are_left_out_and_later_ones_refused(readings):
    v1, v0 = (each.copy() for each in readings)
    v1[5] = v0[17] = np.nan
    imaging = eit.TimeDifference(ELECTRODES, PROTOCOL)
    imaging.setup(method="dgn", lamb=1e-4)
    assert position_error(DISK, torch.from_numpy(imaging.solve(v1, v0)).double(), PLACE) < 0.1
    v1[40] = np.nan
    with pytest.raises(eit.InputError):
        imaging.solve(v1, v0)
    with pytest.raises(eit.InputError):
        imaging.solve(v1[:200], v0)
