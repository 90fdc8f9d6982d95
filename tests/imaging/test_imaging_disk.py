"""Imaging asks a measurement for its body: classical images are made in a disk, what knows only the square says so."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import eitlens as eit
from eitlens.domain import Disk, Square, boundary
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import Imager, Options
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.methods import METHODS
from eitlens.imaging.misfit import Simulation
from eitlens.measure import Measurement, files
from eitlens.measure import noise_estimate as noise
from eitlens.measure.points import PointMeasurement, measured
from eitlens.models.trained import Trained
from eitlens.phantom import circle, indicator

DISK = Disk(64, 128)
COSINES = currents.cosine(DISK, 3)


def data(center: tuple[float, float]) -> torch.Tensor:
    return BoundaryIntegralSolver(DISK).difference(eit.Phantom([circle(center, 0.2)]), COSINES)


def even(count: int) -> torch.Tensor:
    return (torch.arange(count, dtype=torch.float64) + 0.3) * (DISK.perimeter / count)


def test_points_are_found_on_the_circle_also_just_below_its_start():
    torch.testing.assert_close(boundary.arclength(1.004 * DISK.boundary(), DISK), DISK.arclength())
    assert float(DISK.locate(torch.tensor([1.0, -1e-17], dtype=torch.float64))) == 0.0
    with pytest.raises(InputError, match=r"boundary of the disk: .*\(-1, 1\)²"):
        boundary.arclength(0.5 * DISK.boundary(), DISK)


def test_points_of_another_body_are_recognised():
    with pytest.raises(InputError, match=r"square: .*disk: .*domain"):
        boundary.arclength(DISK.boundary(), Square(64))


def test_interpolation_around_the_circle_is_of_fourth_order():
    fine = Disk(8, 1024)
    values = torch.stack([torch.cos(5 * fine.angle()), torch.exp(torch.sin(fine.angle()))])
    errors = []
    for count in (32, 128):
        known = boundary.from_nodes(values, even(count), fine)
        errors.append(float((boundary.to_nodes(known, even(count), fine) - values).abs().max()))
    assert errors[1] < 2e-5
    assert errors[0] / errors[1] > 2**7


def test_the_noise_is_seen_around_the_whole_circle():
    disk = Disk(8, 256)
    values = torch.cos(disk.angle())[None]
    found = [noise.estimate(add_noise(values, 0.05, seed)[0], disk.arclength(), disk) for seed in range(8)]
    assert sum(found) / 8 == pytest.approx(0.05, rel=0.1)
    assert noise.estimate(values[0], disk.arclength(), disk) < 1e-4


@pytest.mark.parametrize("center", [(0.3, -0.4), (0.5, 0.3), (-0.2, 0.6)])
def test_an_inclusion_in_a_disk_from_a_file_of_electrodes_to_its_image(center, tmp_path):
    """From 32 noisy points, f0 computed: the index is brightest towards the inclusion, and high inside it."""
    given = measured(DISK, COSINES, data(center), 1.0, 0.02, 1, 32)
    files.write(replace(given, reference=None), tmp_path / "tank.json")
    assert json.loads((tmp_path / "tank.json").read_text())["domain"] == "disk"
    found = METHODS["dsm"](files.read(tmp_path / "tank.json"), Options(n=64))
    assert found.domain.shape == found.image.shape == (65, 65)
    assert found.summary()["domain"] == "disk"
    inside = found.domain.inside()
    assert bool((found.image[~inside] == 0).all())
    truth = indicator(found.domain, eit.Phantom([circle(center, 0.2)])).bool()
    assert float(found.image[truth].mean()) > 2 * float(found.image[inside].mean())
    assert bool(truth.flatten()[found.image.argmax()])


def test_plain_differences_at_the_nodes_give_the_index_itself():
    clean = data((0.3, -0.4))
    found = METHODS["dsm"](Measurement.of_difference(clean, domain=DISK), Options(n=64))
    index = eit.direct_sampling(DISK, clean)
    torch.testing.assert_close(found.image, index / index.max(), rtol=0, atol=1e-9)
    assert found.noise < 1e-3
    assert found.area is None
    certain = replace(found, uncertainty=found.image, quantity="probability")
    assert certain.area == pytest.approx(float((index > index.max() / 2).sum() / DISK.inside().sum()))
    assert 0 < found.dice(eit.Phantom([circle((0.0, 0.0), 0.4)])) <= 1
    with pytest.raises(InputError, match=r"128 .*100"):
        Measurement.of_difference(clean[:, :100], domain=DISK)
    with pytest.raises(InputError, match=r"expected \(L, N\) values"):
        Measurement.of_difference(clean[0], domain=DISK)
    with pytest.raises(InputError, match=r"such as eitlens\.Disk\(200\), got 'disk'"):
        PointMeasurement.__post_init__(SimpleNamespace(domain="disk"))


def test_what_knows_only_the_square_says_so(folder):
    given = Measurement.of_difference(data((0.3, -0.4)), domain=DISK)
    imager = Imager(Trained.open(folder, torch.device("cpu")), Calibration(), "blank")
    with pytest.raises(InputError, match=r"disk.*square: .*direct sampling"):
        imager(given)
    with pytest.raises(InputError, match="measurement is of a disk"):
        METHODS["posterior"](given, Options(tau=0.05))
    with pytest.raises(InputError, match=r"grid solver.*square.*disk"):
        Simulation(CurrentsConfig(count=3), DISK).image(torch.zeros(65, 65), 10.0)
