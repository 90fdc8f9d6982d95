"""Measured sequences and tanks become images with the objects where they were."""

import math
from pathlib import Path

import pytest
import torch

import eitlens as eit
from eitlens.imaging import Options, images
from eitlens.imaging.table import row
from eitlens.measure import files

SHARED = Path(__file__).parents[3] / "shared"
REAL, KTC = SHARED / "real", SHARED / "ktc2023" / "training"
PLAIN = Options(n=64)


def place(found: eit.Reconstruction) -> tuple[float, float]:
    """The place of the strongest change in units of the body."""
    one = row(1, None, found)
    return one.x / found.domain.scale, one.y / found.domain.scale


@pytest.mark.skipif(not REAL.exists(), reason="the measured data are not here")
def test_a_rod_that_turns_turns_one_way():
    """A hundred frames of a rod on a circle, five at a time: the same radius, and equal steps one way round."""
    scan = files.read(REAL / "eidors" / "iirc_data_2006.mat").averaged(5)
    places = torch.tensor([place(found) for found in images(scan, "dsm", PLAIN)], dtype=torch.float64)
    radius, angle = places.norm(dim=1), torch.atan2(places[:, 1], places[:, 0])
    step = torch.remainder(torch.diff(angle) + math.pi, 2 * math.pi) - math.pi
    assert float(radius.std()) < 0.06
    assert 0.3 < float(radius.mean()) < 0.7
    assert bool((step > 0).all()) or bool((step < 0).all())
    assert float(step.std()) < 0.25 * abs(float(step.mean()))


@pytest.mark.skipif(not REAL.exists(), reason="the measured data are not here")
def test_a_rod_along_the_wall_goes_once_round():
    """Ninety-nine frames of a rod that is moved along the wall, and frames of the empty tank in the same file."""
    source = REAL / "eidors" / "montreal_data_1995.mat"
    scan = files.read(f"{source}::zc_demo3", reference=f"{source}::zc_h_demo3").averaged(9)
    angle = torch.tensor([math.atan2(y, x) for x, y in (place(one) for one in images(scan, "dsm", PLAIN))])
    step = torch.remainder(torch.diff(angle) + math.pi, 2 * math.pi) - math.pi
    assert abs(float(step.sum())) == pytest.approx(2 * math.pi * 10 / 11, rel=0.15)
    assert scan.times is not None


@pytest.mark.skipif(not REAL.exists(), reason="the measured data are not here")
def test_files_of_a_device_are_a_sequence():
    """The cup of the Sciospec frames is away in frames 1 to 3, and somewhere else in each of the last three."""
    scan = files.read(REAL / "sciospec" / "131950_*")
    moved = scan.against([0, 1, 2]).selected([3, 4, 5])
    places = [place(found) for found in images(moved, "dsm", PLAIN)]
    assert all(math.dist(one, other) > 0.3 for k, one in enumerate(places) for other in places[:k])


@pytest.mark.skipif(not KTC.exists(), reason="the data of the challenge are not here")
@pytest.mark.parametrize("target", [3])
def test_a_target_of_the_challenge(target):
    """The square of target 3, by the truth that goes with the data."""
    from scipy.io import loadmat

    data = files.read(KTC / f"data{target}.mat", reference=KTC / "ref.mat")
    truth = torch.from_numpy(loadmat(KTC / "ground_truth" / f"true{target}.mat")["truth"].astype("float64"))
    rows, columns = torch.nonzero(truth, as_tuple=True)
    middle = (columns.double().mean() - 127.5) / 128, (127.5 - rows.double().mean()) / 128
    assert math.dist(place(next(images(data, "dsm", PLAIN))), [float(part) for part in middle]) < 0.1
