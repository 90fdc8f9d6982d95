"""Around a network: calibration, warnings, methods, and the one-call form."""

import json
from dataclasses import replace

import pytest
import torch

import eitlens as eit
from eitlens import weights
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.feature import Codes
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import Imager, Options, Refinement, shipped
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.methods import METHODS
from eitlens.imaging.warnings import too_noisy
from eitlens.measure import Measurement
from eitlens.models import create, save
from eitlens.phantom import EllipseSampler


@pytest.fixture(scope="module")
def imager(folder):
    return Imager.load(folder)


def kinds(found) -> set[str]:
    return {flag.kind for flag in found.warnings}


def test_the_image_is_the_networks_calibrated(imager, difference):
    found = imager(Measurement.of_difference(difference))
    logits = imager.reader(difference[None, :2])[0].double()
    assert torch.allclose(found.image, torch.sigmoid(logits), atol=1e-6)
    assert torch.allclose(found.uncertainty, (found.image * (1 - found.image)).sqrt())
    cool = Imager(imager.reader, Calibration((0.0,), (2.0,)), "cool")(Measurement.of_difference(difference))
    assert torch.allclose(cool.image, torch.sigmoid(logits / 2), atol=1e-6)


def test_other_sizes_of_the_image_and_no_misfit(imager, difference):
    found = imager(Measurement.of_difference(difference), n=30, misfit=False)
    assert found.image.shape == (31, 31)
    assert found.misfit is None
    json.dumps(found.summary(), allow_nan=False)


def test_noise_amplitude_mean_and_gaps_are_flagged(imager, square, difference):
    strict = Imager(imager.reader, Calibration(amplitudes=((0.01, 0.02), (0.0, 1.0))), "strict")
    assert "amplitude" in kinds(strict(Measurement.of_difference(difference)))
    assert kinds(imager(Measurement.of_difference(difference))) == set()
    assert kinds(imager(Measurement.of_difference(add_noise(difference, 0.4, 0)))) >= {"noise"}
    g, zero = currents.cosine(square, 3), torch.zeros_like(difference)
    assert "mean" in kinds(imager(Measurement.of_points(square.boundary(), g, difference + 0.1, zero)))
    few = Measurement.of_points(square.boundary()[::8], g[:, ::8], difference[:, ::8], zero[:, ::8])
    assert kinds(imager(few)) == {"gap"}


def test_inclusions_that_conduct_less_are_flagged(imager, square, phantom):
    body = eit.Phantom(phantom.shapes, 0.1, 1.0)
    less = BoundaryIntegralSolver(square).difference(body, currents.cosine(square, 3))
    found = imager(Measurement.of_difference(less))
    assert "contrast" in kinds(found)


def test_a_misfit_beyond_that_of_training_is_flagged(imager, difference):
    wary = Imager(imager.reader, Calibration(misfits=(1e-6,)), "wary")
    whole = Measurement.of_difference(difference)
    assert "contrast" in kinds(wary(whole))
    sparse = Measurement.of_points(
        whole.points[::8], whole.currents[:, ::8], difference[:, ::8], torch.zeros_like(difference[:, ::8])
    )
    (text,) = [flag.text for flag in wary(sparse).warnings if flag.kind == "contrast"]
    assert "are the points too few, or the inclusions not" in text


def test_a_misfit_that_the_noise_explains_says_nothing_of_the_contrast(imager, difference):
    """Above the noise of training the misfit is large whatever the contrast; nor is it known what to expect."""
    usual = Imager(imager.reader, Calibration((0.0, 0.2), (1.0, 1.0), misfits=(0.02, 0.02)), "usual", 0.2)
    loud = Measurement.of_difference(add_noise(difference, 0.5, 0))
    assert kinds(usual(loud)) == {"noise"}
    assert "contrast" in kinds(usual(loud, tau=0.1))


def test_refinement_does_not_trust_data_of_unknown_noise(imager, square, difference, monkeypatch):
    asked = []

    def kept(problem, image, before, steps):
        asked.append(problem.noise)
        return image, Refinement(0, before, before, "kept")

    monkeypatch.setattr("eitlens.imaging.imager.fine_tune", kept)
    g, zero = currents.cosine(square, 3), torch.zeros_like(difference)
    few = Measurement.of_points(square.boundary()[::8], g[:, ::8], difference[:, ::8], zero[:, ::8])
    assert imager(few, refine=1).noise is None
    imager(few, refine=1, tau=0.0)
    assert asked == [0.2, 0.0]


@pytest.mark.parametrize(
    "bad",
    [
        {"refine": -1},
        {"refine": 1.5},
        {"tau": -0.1},
        {"tau": float("nan")},
        {"tau": "low"},
        {"n": 1},
        {"n": 40.5},
    ],
)
def test_options_that_cannot_be_meant(imager, difference, bad):
    (name,) = bad
    with pytest.raises(InputError, match=f"^{name}: expected"):
        imager(Measurement.of_difference(difference), **bad)
    with pytest.raises(InputError, match=f"^{name}: expected"):
        Options(**bad)


@pytest.mark.parametrize("given", [torch.zeros(3, 256), "scan.npz"])
def test_an_imager_says_what_it_takes(imager, given):
    with pytest.raises(InputError, match=r"Measurement, .*Measurement\.of_difference"):
        imager(given)


def test_one_call(folder, square, difference):
    image = eit.reconstruct(difference, model=str(folder))
    assert image.shape == (65, 65)
    both = eit.reconstruct(torch.stack([difference, difference]), model=str(folder), n=40)
    assert both.shape == (2, 41, 41)
    placed = eit.reconstruct(difference.numpy(), model=str(folder), points=square.boundary().numpy())
    assert torch.allclose(placed, image, atol=1e-4)
    turned = eit.reconstruct(-difference, model=str(folder), currents=-currents.cosine(square, 3))
    assert torch.allclose(turned, image, atol=1e-4)
    with pytest.raises(InputError, match=r"expected \(L, 4n\) values"):
        eit.reconstruct(difference[:, :5], model=str(folder))
    with pytest.raises(InputError, match=r"got a Measurement: use eitlens.Imager.load\(model\)"):
        eit.reconstruct(eit.Measurement.of_difference(torch.zeros(3, 800, dtype=torch.float64)))
    with pytest.raises(InputError, match=r"^difference: expected real numbers"):
        eit.reconstruct("nothing", model=str(folder))
    with pytest.raises(InputError, match=r"^difference: .*real.*complex128$"):
        eit.reconstruct(difference * 1j, model=str(folder))


def test_direct_sampling_as_a_method(difference):
    found = METHODS["dsm"](Measurement.of_difference(difference[:1]), Options(n=40))
    assert found.image.shape == (41, 41)
    assert float(found.image.max()) == 1.0
    assert found.uncertainty is None
    with pytest.raises(InputError, match=r"'magic': .*network, dsm"):
        METHODS["magic"]


@pytest.mark.parametrize("name", ["dsm", "posterior"])
def test_a_network_is_refused_where_none_is_asked(difference, name):
    with pytest.raises(InputError, match=f"^{name}: .* leave out --model$"):
        METHODS[name](Measurement.of_difference(difference), Options(model="flagship"))


def test_currents_that_are_not_read_are_flagged(square, phantom):
    """Both cos 3θ and sin θ are of no use to what reads cos lθ one after the other."""
    cosines = currents.cosine(square, 3)
    given = torch.stack([cosines[0], cosines[2], currents.sine(square, 1)[0]])
    data = BoundaryIntegralSolver(square).difference(phantom, given)
    measured = Measurement.of_points(square.boundary(), given, data, torch.zeros_like(data))
    (flag,) = METHODS["dsm"](measured, Options(n=32)).warnings
    assert flag.kind == "currents"
    assert "cos lθ only up to l = 1, and what else they tell is not used: inject cos 2θ too" in flag.text


def test_a_name_that_is_not_there(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="no trained network 'nothing'"):
        Imager.load("nothing")
    with pytest.raises(InputError, match="no trained network"):
        Imager.load("\0")
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    assert shipped() == []
    with pytest.raises(InputError, match="no trained network is installed"):
        Imager.load()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: no features\.json in it"):
        Imager.load(tmp_path / "empty")


def test_shipped_folders_are_found_by_name_the_default_first(monkeypatch, tmp_path, folder):
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    for name in ("uit-small", "flagship", "another"):
        (tmp_path / name).mkdir()
        for file in folder.iterdir():
            (tmp_path / name / file.name.replace("best", name)).write_bytes(file.read_bytes())
    assert shipped() == ["flagship", "uit-small", "another"]
    assert Imager.load().name == "flagship"


def test_a_network_of_codes_reads_fewer_currents_and_gaps(tmp_path, square, difference):
    """One that takes 1 to 3 currents, nan for what was not measured, and says how noisy the data are."""
    batch = EllipseSampler(seed=0, count=2, disjoint=True).batch(0, 40)
    data = BoundaryIntegralSolver(square, tolerance=1e-4).difference(batch, currents.cosine(square, 3))
    codes = Codes.of_data(64, CurrentsConfig("cosine", 3), data, modes=60)
    small = {
        "width": 16,
        "layers": 1,
        "heads": 2,
        "grid": 8,
        "hidden": 16,
        "waves": 4,
        "amplitudes": 2,
        "fine": 8,
    }
    torch.manual_seed(0)
    save(create("flagship", currents=3, modes=60, tokens=2, **small), tmp_path / "best")
    codes.save(tmp_path)
    imager = Imager.load(tmp_path)
    assert (imager.reader.fewest, imager.reader.features.reads_gaps) == (1, True)
    for count in (1, 3):
        assert imager(Measurement.of_difference(difference[:count])).image.shape == (65, 65)
    noisy = add_noise(difference, 0.1, 0)
    assert imager(Measurement.of_difference(noisy)).noise == pytest.approx(0.1, rel=0.15)
    g, zero = currents.cosine(square, 3), torch.zeros_like(difference)
    few = imager(Measurement.of_points(square.boundary()[::4], g[:, ::4], noisy[:, ::4], zero[:, ::4]))
    assert bool(torch.isfinite(few.image).all())
    # What it was not told it did not see: the other nodes may hold anything.
    mask = torch.arange(256) % 4 == 0
    wild = torch.where(mask, noisy, torch.nan)
    masked = imager(Measurement.of_points(square.boundary(), g, wild, zero, mask))
    assert torch.allclose(masked.image, few.image, atol=1e-4)


def test_square_of_another_size(folder, phantom):
    square = Square(100)
    data = BoundaryIntegralSolver(square).difference(phantom, currents.cosine(square, 2))
    assert eit.reconstruct(data, model=str(folder)).shape == (65, 65)


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e6, 1e11])
def test_data_of_any_size_give_an_image_or_one_line(imager, difference, size):
    try:
        found = imager(Measurement.of_difference(size * difference))
    except InputError as error:
        assert "is the unit right" in str(error)  # noqa: PT017
        return
    assert bool(torch.isfinite(found.image).all())
    json.dumps(found.summary(), allow_nan=False)


def test_a_run_without_a_validation_is_read_by_its_last_weights(folder, difference, tmp_path):
    early = tmp_path / "early"
    early.mkdir()
    for file in folder.iterdir():
        (early / file.name.replace("best", "last")).write_bytes(file.read_bytes())
    given = Measurement.of_difference(difference)
    found, expected = (Imager.load(place)(given, misfit=False).image for place in (early, folder))
    torch.testing.assert_close(found, expected)


def test_data_without_an_image_are_named(imager, difference, monkeypatch):
    nothing = torch.full((1, 1, 65, 65), torch.nan)
    monkeypatch.setattr(type(imager.reader), "read", lambda *_: nothing)
    scan = replace(Measurement.of_difference(difference), source="scan.npz")
    with pytest.raises(InputError, match=r"^scan\.npz: .*no image of data.*unit"):
        imager(scan)


def test_the_error_of_a_solver_is_no_noise_to_a_network_trained_without():
    assert not too_noisy(1e-4, 0.0)
    assert too_noisy(0.01, 0.0)
    assert not too_noisy(0.27, 0.25)
    assert too_noisy(0.28, 0.25)
    assert not too_noisy(None, 0.25)
