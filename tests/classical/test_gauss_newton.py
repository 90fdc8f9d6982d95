"""Gauss-Newton, total variation, level sets and outlines on simulated tanks: what is there comes out where it is."""

import math
from dataclasses import replace

import pytest
import torch

import eitlens as eit
from eitlens.classical.classes import three_classes
from eitlens.classical.gauss_newton import UNKNOWN, SmoothPrior, TankImage, gauss_newton_image, identity
from eitlens.classical.level_set import Levels, level_set_image
from eitlens.classical.newton import TankProblem
from eitlens.classical.outline_fit import OutlinePrior, OutlineProblem
from eitlens.classical.outlines import fit_outlines, pieces
from eitlens.classical.tank_frame import ReadingErrors, TankFrame, white_noise
from eitlens.classical.total_variation import Variation, total_variation_image
from eitlens.imaging import METHODS, Options

CELLS, WATER = 24, 0.3
TANK = eit.Disk(32, scale=0.1)
ELECTRODES = eit.Electrodes.even(TANK, 16, impedance=2e-4)
PATTERN = eit.Pattern.named("skip-3", 16, current=1e-3, driven=True)
PLACES = torch.tensor([[0.45, 0.25], [-0.4, -0.15]], dtype=torch.float64)
TRUTH = eit.Phantom([eit.circle((0.45, 0.25), 0.22), eit.circle((-0.4, -0.15), 0.25)], [6.0, 0.02], WATER)
ERRORS = ReadingErrors(relative=0.01, floor=0.01)


def _measurement(
    absolute: bool = False, noise: float = 1e-4, drift: float = 1.0, electrodes: eit.Electrodes = ELECTRODES
) -> eit.Measurement:
    drifted = eit.Phantom(TRUTH.shapes, [s * drift for s in TRUTH.inside], WATER * drift)
    volts = torch.stack(
        [eit.simulate_readings(electrodes, PATTERN, one) for one in (drifted, eit.Phantom([], outside=WATER))]
    )
    generator = torch.Generator().manual_seed(0)
    volts = (
        volts + noise * volts.square().mean().sqrt() * torch.randn(volts.shape, generator=generator).double()
    )
    return eit.Measurement.of_electrodes(electrodes, PATTERN, volts[:1], None if absolute else volts[1:])


@pytest.fixture(scope="module")
def frame() -> TankFrame:
    return TankFrame.of(_measurement(), ERRORS, cells=CELLS)


@pytest.fixture(scope="module")
def smooth(frame: TankFrame) -> TankImage:
    return gauss_newton_image(frame)


def _centres(image: TankImage) -> torch.Tensor:
    """Of the nodes of each sign that are above half of the most."""
    found = []
    for side in (1, -1):
        height = (side * image.contrast).clamp(min=0)
        weight = height * (height > height.max() / 2)
        found.append(weight @ image.frame.model.lattice.nodes / weight.sum())
    return torch.stack(found)


def test_the_slope_of_the_errors_is_their_derivative(frame: TankFrame) -> None:
    problem = TankProblem(frame, Levels(2.0, 3.0, 0.9).around(torch.zeros(frame.model.unknowns).double()))
    generator = torch.Generator().manual_seed(1)
    x, towards = (0.3 * torch.randn(problem.size, generator=generator).double() for _ in range(2))
    step = 1e-4
    change = (problem.errors(x - step * towards) - problem.errors(x + step * towards)) / (2 * step)
    found = problem.linearised(x).slope @ towards
    assert float((found - change).norm() / change.norm()) < 1e-5


def test_as_few_numbers_say_the_same_as_all_readings(frame: TankFrame) -> None:
    model = frame.model
    sigma = model.uniform(WATER) * (1 + 0.3 * model.lattice.nodes[:, 0])
    potentials = model.potentials(sigma)
    errors = (frame.readings - model.reading @ potentials) / frame.deviation
    few = frame.reduced.values - frame.reduced.potentials @ potentials
    rows = frame.model.reading / frame.deviation[:, None]
    outside = errors - rows @ (torch.linalg.pinv(rows, rtol=1e-9) @ errors)
    assert float(few.square().sum() + outside.square().sum()) == pytest.approx(
        float(errors.square().sum()), rel=1e-8
    )
    assert len(few) < len(errors)


def test_gauss_newton_reaches_the_noise_level_and_finds_both_objects(smooth: TankImage) -> None:
    assert smooth.misfits[0] > 100 > smooth.misfits[-1]
    assert smooth.misfits[-1] <= 1.0
    assert float((_centres(smooth) - PLACES).norm(dim=1).max()) < 0.06
    assert float(smooth.sigma.min()) > 0
    assert float(smooth.contrast.max()) > 1
    assert float(smooth.contrast.min()) < -1
    assert smooth.background == pytest.approx(WATER, rel=0.02)


def test_the_posterior_is_surer_than_the_prior_and_surest_at_the_boundary(smooth: TankImage) -> None:
    deviation, far = smooth.deviation, smooth.frame.model.lattice.nodes.norm(dim=1)
    assert deviation is not None
    assert float(deviation.max()) < SmoothPrior().contrast
    assert float(deviation[far > 0.9].mean()) < 0.85 * float(deviation[far < 0.3].mean())


def test_a_drift_of_the_water_is_no_object() -> None:
    frame = TankFrame.of(_measurement(drift=1.05), ERRORS, cells=CELLS)
    found = gauss_newton_image(frame)
    assert found.background == pytest.approx(1.05 * WATER, rel=0.03)
    assert float((_centres(found) - PLACES).norm(dim=1).max()) < 0.07


def test_absolute_images_find_water_and_contacts_along() -> None:
    contacts = eit.Electrodes.even(TANK, 16, impedance=torch.linspace(0.01, 0.02, 16))
    frame = TankFrame.of(
        _measurement(absolute=True, electrodes=contacts), ReadingErrors(2e-3, 1e-3), cells=CELLS
    )
    found = gauss_newton_image(frame, steps=15)
    assert found.misfits[-1] <= 1.0
    assert found.background == pytest.approx(WATER, rel=0.15)
    assert float((found.impedance / contacts.impedance).log().abs().mean()) < 0.2
    assert float((_centres(found) - PLACES).norm(dim=1).max()) < 0.08


def test_the_variation_of_a_step_is_its_height_times_its_length(frame: TankFrame) -> None:
    lattice, sharp = frame.model.lattice, Variation(edge=1e-6)
    x, y = lattice.nodes.unbind(-1)
    square = 2.0 * ((x.abs() < 0.41) & (y.abs() < 0.41)).double()
    sides = 4 * float((square > 0).sum()) ** 0.5 * float(lattice.step[0])
    assert sharp.of(lattice, square) == pytest.approx(
        2 * sides, rel=0.05
    )  # at two corners a slope runs aslant
    half = 0.5 * float(square @ sharp.precision(lattice, square) @ square)
    assert 2 * half == pytest.approx(sharp.of(lattice, square), rel=1e-3)


def test_total_variation_is_flatter_and_as_near_to_the_data(frame: TankFrame, smooth: TankImage) -> None:
    found = total_variation_image(frame)
    assert found.misfits[-1] < 1.5
    assert float((_centres(found) - PLACES).norm(dim=1).max()) < 0.06
    lattice, variation = frame.model.lattice, Variation()
    relative = [
        variation.of(lattice, one.contrast) / float(one.contrast.abs().max()) for one in (found, smooth)
    ]
    assert relative[0] < relative[1]


def test_level_sets_find_the_classes_and_outlines_better_than_the_smooth_image(
    frame: TankFrame, smooth: TankImage
) -> None:
    grid = TANK.at(100)
    nodes, inside = grid.nodes(), grid.inside()
    truth = torch.zeros(grid.shape, dtype=torch.int64)
    for shape, sign in zip(TRUTH.shapes, (1, -1), strict=True):
        truth[shape.level_set(shape.parameters(), nodes) < 0] = sign
    image = frame.model.image(smooth.contrast, grid)
    classes = torch.zeros_like(truth)
    classes[inside] = three_classes(image[inside])
    level = level_set_image(frame, steps=5)
    field = frame.model.image(level.field, grid)
    by_level = (field > 1).long() - (field < -1).long()
    outlined = fit_outlines(frame, pieces(classes, grid))
    by_outline = outlined.classes(nodes.flatten(0, 1)).reshape(grid.shape)
    wrong = [int((one != truth)[inside].sum()) for one in (classes, by_level, by_outline)]
    assert wrong[1] < 0.03 * int(inside.sum())  # the lattice is coarse, and edges lie between its nodes
    assert wrong[2] < 0.5 * wrong[0]
    assert wrong[2] < 0.01 * int(inside.sum())
    assert sorted(outlined.sign) == [-1, 1]


def test_outlines_are_the_circles_that_there_are(frame: TankFrame) -> None:
    start = torch.tensor([[0.35, 0.3, math.log(0.15), 0.0], [-0.3, -0.2, math.log(0.3), 0.0]]).double()
    found = fit_outlines(frame, (start, (1, -1)))
    rows = torch.stack([shape.parameters()[:3] for shape in found.phantom.shapes])
    expected = torch.cat([PLACES, torch.tensor([[0.22], [0.25]]).double()], 1)
    assert float((rows - expected).abs().max()) < 0.01
    assert found.relative_misfit < 0.01
    assert found.background == pytest.approx(WATER, rel=0.01)


def test_the_derivatives_in_outlines_are_forward_derivatives(frame: TankFrame) -> None:
    problem = replace(OutlineProblem.of(frame, OutlinePrior()), sign=(1, -1))
    rows = torch.tensor([[0.4, 0.2, -1.5, 1.0, 0.1, 0.0], [-0.4, -0.1, -1.3, 1.2, 0.0, -0.1]]).double()
    vector = torch.cat([rows.flatten(), torch.tensor([0.05]).double()])
    step = 1e-4 * torch.linspace(-1, 1, len(vector)).double()
    change = problem.numbers(torch.stack([vector + step, vector - step]))
    found = problem.slope(vector) @ step
    assert float((found - (change[0] - change[1]) / 2).norm() / found.norm()) < 1e-4


def test_outlines_that_touch_are_no_errors_but_refused(frame: TankFrame) -> None:
    problem = replace(OutlineProblem.of(frame, OutlinePrior()), sign=(1, -1))
    rows = torch.tensor([[0.1, 0.0, -1.5, 1.0], [-0.1, 0.0, -1.3, 1.0]]).double()
    assert problem.errors(torch.cat([rows.flatten(), torch.zeros(1).double()])) is None


def test_reciprocal_readings_tell_the_white_noise() -> None:
    pattern = eit.Pattern.named("adjacent", 16, current=1e-3)
    volts = eit.simulate_readings(ELECTRODES, pattern, TRUTH)
    noise = 1e-6 * torch.randn(len(volts), generator=torch.Generator().manual_seed(2)).double()
    assert white_noise(pattern, volts + noise) == pytest.approx(1e-6, rel=0.2)


@pytest.mark.parametrize("name", ["gauss-newton", "outlines"])
def test_methods_of_tanks_give_a_change_and_a_misfit(name: str) -> None:
    found = METHODS[name](_measurement(), Options(n=40, tau=1e-4))
    assert found.image.shape == (41, 41)
    assert found.quantity == "change"
    assert found.misfit < 0.05
    assert float(found.image.max()) > 0.3
    assert float(found.image.min()) < -0.2
    absolute = _measurement(absolute=True)
    with pytest.raises(eit.InputError):
        METHODS[name](absolute, Options(model="flagship"))


def test_points_are_refused_in_a_line() -> None:
    data = eit.Measurement.of_difference(torch.ones(3, 800, dtype=torch.float64))
    with pytest.raises(eit.InputError, match="electrodes"):
        eit.gauss_newton(data)


def test_the_identity_has_the_slope_one() -> None:
    assert identity(torch.zeros(3))[1].tolist() == [1.0, 1.0, 1.0]
    assert UNKNOWN.background > 1


def test_frames_of_a_sequence_share_the_tank_and_are_those_of_one_by_one():
    one = _measurement()
    weaker = one.reference + 0.5 * (one.voltages - one.reference)
    missing = one.voltages.clone()
    missing[0, 3] = torch.nan
    both = replace(one, voltages=torch.cat([one.voltages, weaker, missing]))
    first = TankFrame.of(both.frame(0), cells=CELLS)
    second = first.following(both.frame(1))
    alone = TankFrame.of(both.frame(1), cells=CELLS)
    assert second.model is first.model
    torch.testing.assert_close(second.readings, alone.readings, rtol=1e-12, atol=0)
    torch.testing.assert_close(second.deviation, alone.deviation, rtol=1e-12, atol=0)
    third = second.following(both.frame(2))
    assert third.model is not first.model
    assert third.model.count == first.model.count - 1


def test_methods_image_every_frame():
    one = _measurement()
    both = replace(
        one, voltages=torch.cat([one.voltages, one.reference + 0.3 * (one.voltages - one.reference)])
    )
    options = Options(n=24, steps=1)
    found = list(eit.imaging.images(both, "gauss-newton", options))
    alone = eit.gauss_newton(both.frame(1), options)
    assert len(found) == 2
    torch.testing.assert_close(found[1].image, alone.image, rtol=1e-9, atol=1e-12)
    assert float((found[1].image - found[0].image).abs().max()) > 0.05


def test_the_response_of_the_uniform_tank_is_kept_and_that_of_others_is_not(frame):
    model = frame.model
    water, own = model.uniform(WATER), model.electrodes.impedance
    assert model.response(water, own) is model.response(water.clone())
    moved = model.response(water, 1.1 * own)
    fresh = model.readings(water, 1.1 * own)
    torch.testing.assert_close(model.reading @ moved.potentials, fresh, rtol=1e-9, atol=0)
    assert float((fresh - model.readings(water)).norm() / fresh.norm()) > 1e-5


def test_an_image_without_uncertainty_is_the_same(frame, smooth):
    plain = gauss_newton_image(frame, uncertainty=False)
    torch.testing.assert_close(plain.sigma, smooth.sigma, rtol=0, atol=0)
    assert plain.deviation is None
