"""The posterior as a method: a guide that is installed and knows the noise leads it, and none is needed."""

from dataclasses import replace

import pytest
import torch

from eitlens import posterior as bayes
from eitlens import weights
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.imaging import Imager, Options, shipped
from eitlens.imaging import by_posterior as sampling
from eitlens.imaging.methods import METHODS
from eitlens.measure import Measurement
from eitlens.phantom import Ellipse, Phantom
from eitlens.posterior.guide import network as guides
from eitlens.posterior.guide.network import Guide, GuideConfig
from eitlens.posterior.model.coordinates import Coordinates, ordered, to_numbers

SQUARE, TAU = Square(200), 0.1
ROWS = [
    (0.45, 0.45, 0.2, 0.3, 0.3),
    (-0.42, 0.4, 0.25, 0.35, 1.0),
    (-0.4, -0.45, 0.15, 0.3, 2.0),
    (0.35, -0.3, 0.2, 0.2, 0.5),
]
BODY = Phantom([Ellipse((x, y), (a, b), angle) for x, y, a, b, angle in ROWS])
TOY = GuideConfig(width=32, layers=1, heads=2, hidden=32, bins=32, tokens=1, modes=8)
SHORT = bayes.Settings(ensembles=4, levels=6, warmup=10, least=8, most=8, tries=4)


@pytest.fixture(scope="module")
def measurement() -> Measurement:
    clean = BoundaryIntegralSolver(SQUARE).difference(BODY, currents.cosine(SQUARE, 1))
    return Measurement.of_difference(add_noise(clean, TAU, seed=1))


@pytest.fixture
def home(monkeypatch, tmp_path):
    """The package's weights: none yet."""
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """The guide and the settings that the method hands to the sampler, which does not start."""
    found = []

    def refuse(*given, guide, **_):
        found.append((guide, given[5]))
        raise InputError("asked")

    monkeypatch.setattr(bayes, "sample", refuse)

    def ask(measurement, tau):
        with pytest.raises(InputError, match="asked"):
            METHODS["posterior"](measurement, Options(tau=tau))
        return found[-1]

    return ask


def knowing() -> Guide:
    """A guide that knows one body by heart: every place of the sequence has numbers of its own, whatever the data."""
    coordinates = Coordinates(sampling._PRIOR)
    z = coordinates.from_rows(torch.tensor([ROWS], dtype=torch.float64))
    numbers = to_numbers(ordered(SQUARE, coordinates, z))[0]
    guide = Guide(TOY)
    with torch.no_grad():
        for parameter in guide.parameters():
            parameter.zero_()
        guide.norm.weight.fill_(1.0)
        for t, number in enumerate(numbers.tolist()):
            guide.place[t, t] = 1.0
            away = torch.arange(TOY.bins) + 0.5 - number * TOY.bins
            guide.heads[t % 5, t] = -0.1 * away.square().clamp(max=60.0)
    return guide


def test_a_guide_is_no_network(home, folder):
    assert weights.guide() is None
    guides.save(Guide(TOY), home / "guide")
    assert weights.guide() == home / "guide"
    assert shipped() == []
    (home / "uit-small").mkdir()
    for file in folder.iterdir():
        (home / "uit-small" / file.name).write_bytes(file.read_bytes())
    assert shipped() == ["uit-small"]
    assert Imager.load().name == "uit-small"
    with pytest.raises(InputError, match=r"'guide': .*uit-small"):
        Imager.load("guide")


@pytest.mark.parametrize("tau", [0.01, 0.05, 0.2, None])
def test_the_guide_is_used_at_noise_it_knows(home, asked, measurement, tau):
    guides.save(Guide(TOY), home / "guide")
    guide, settings = asked(measurement, tau)
    assert isinstance(guide, Guide)
    assert not guide.training
    assert settings.levels < bayes.Settings().levels


@pytest.mark.parametrize("tau", [0.001, 0.009, 0.21])
def test_and_not_at_other_noise(home, asked, measurement, tau):
    guides.save(Guide(TOY), home / "guide")
    assert asked(measurement, tau) == (None, bayes.Settings())


def test_none_is_needed(home, asked, measurement):
    assert asked(measurement, 0.05) == (None, bayes.Settings())


def test_a_damaged_guide_is_one_line(home, measurement):
    (home / "guide").mkdir()
    (home / "guide" / "guide.json").write_text("{")
    with pytest.raises(InputError, match="no guide can be read"):
        METHODS["posterior"](measurement, Options())


def test_a_guide_that_knows_the_body_shows_it_soon(home, monkeypatch, measurement):
    guides.save(knowing(), home / "guide")
    monkeypatch.setattr(sampling, "GUIDED", SHORT)
    found = METHODS["posterior"](measurement, Options(n=100))
    assert found.noise == pytest.approx(TAU, rel=0.1)
    assert found.image.shape == (101, 101)
    assert -1e-9 <= float(found.image.min()) <= float(found.image.max()) <= 1 + 1e-9
    # 0.87 to 0.92 for eight seeds of the sampler; without the guide 0.20 to 0.41.
    assert found.dice(BODY) > 0.8


@pytest.mark.parametrize(("free", "ladders"), [(80, 32), (8, 28), (4, 14), (1, 3)])
def test_a_small_gpu_gets_fewer_ladders(monkeypatch, free, ladders):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free * 2**30, 0))
    assert sampling._guided(torch.device("cuda"), 3).ladders == ladders


def test_a_body_of_another_kind_is_noticed(home, monkeypatch):
    """Insulators, of which the model knows nothing, at much noise: no warning of what networks were trained for."""
    hasty = bayes.Settings(ensembles=2, levels=3, warmup=2, least=10, most=10)
    monkeypatch.setattr(sampling, "_ALONE", hasty)
    other = Phantom(BODY.shapes, inside=0.1)
    clean = BoundaryIntegralSolver(SQUARE).difference(other, currents.cosine(SQUARE, 1))
    found = METHODS["posterior"](Measurement.of_difference(add_noise(clean, 0.3, seed=1)), Options(tau=0.3))
    assert [flag.kind for flag in found.warnings] == ["amplitude", "contrast", "posterior", "contrast"]
    assert "f - f0 has the sign of inclusions that conduct less" in found.warnings[1].text
    assert "is the body not four ellipses apart" in found.warnings[3].text


@pytest.mark.parametrize(
    ("factor", "told"), [(-1.0, "are voltages and reference swapped"), (3.0, "f - f0 of current 1 has size")]
)
def test_a_wrong_sign_and_a_wrong_unit_are_noticed(home, monkeypatch, measurement, factor, told):
    monkeypatch.setattr(sampling, "_ALONE", bayes.Settings(ensembles=2, levels=3, warmup=2, least=1, most=1))
    found = METHODS["posterior"](Measurement.of_difference(factor * measurement.voltages), Options())
    assert told in found.warnings[0].text


def test_most_bodies_of_the_prior_have_the_usual_size():
    square = Square(32)
    data = BoundaryIntegralSolver(square, tolerance=1e-4).difference(
        sampling._PRIOR.batch(5000, 5100), currents.cosine(square, 3)
    )
    low, high = torch.tensor(sampling._USUAL.amplitudes, dtype=torch.float64).T
    size = data.square().mean(-1).sqrt()
    assert bool((size.quantile(0.02, 0) > low).all())
    assert bool((size.quantile(0.98, 0) < high).all())
    assert bool((size.amin(0) < 1.5 * low).all())
    assert bool((size.amax(0) > high / 1.5).all())


def test_an_image_without_a_guide(home, monkeypatch, measurement):
    hasty = bayes.Settings(ensembles=2, levels=3, warmup=2, least=1, most=1)
    monkeypatch.setattr(sampling, "_ALONE", hasty)
    found = METHODS["posterior"](measurement, Options())
    assert found.image.shape == (201, 201)
    (flag,) = found.warnings
    assert flag.kind == "posterior"
    assert "its sweeps, 3, were nearly all warm-up" in flag.text


def test_what_the_data_lack_is_said_with_the_name_of_their_file(home, measurement):
    some = torch.arange(800) % 8 == 0
    scan = replace(measurement, mask=torch.arange(800) > 9, source="scan.npz")
    with pytest.raises(InputError, match=r"^scan\.npz: posterior: .*every node"):
        METHODS["posterior"](scan, Options(tau=TAU))
    with pytest.raises(InputError, match=r"^scan\.npz: posterior: .*far apart"):
        METHODS["posterior"](replace(scan, mask=some), Options())
