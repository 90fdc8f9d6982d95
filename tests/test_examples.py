"""Every example runs, with a number asserted. Those that take long are given less to do."""

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
NAMES = {file.stem for file in EXAMPLES.glob("*.py")}


@pytest.fixture
def example(monkeypatch):
    """Imports an example as it imports its neighbours."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def get(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    yield get
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def out(tmp_path):
    """Where the picture goes: it must be there in the end."""
    path = tmp_path / "a.png"
    yield path
    assert path.read_bytes().startswith(b"\x89PNG")


def test_every_example_is_tested():
    tree = ast.parse(Path(__file__).read_text())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert {call.args[0].value for call in calls if getattr(call.func, "id", "") == "example"} == NAMES


def test_the_gallery_shows_every_example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_gallery = importlib.import_module("make_gallery")
    assert set(make_gallery.names()) == NAMES
    assert len(NAMES) >= 20
    assert make_gallery.PAGE.read_text() == make_gallery.compose(), "run `python docs/make_gallery.py`"
    assert {file.stem for file in make_gallery.PICTURES.glob("*.png")} == NAMES


def test_first_image(example, out):
    assert example("first_image").main(out) > 0.95


def test_noise_sweep(example, out):
    one, two, three = example("noise_sweep").main(out, bodies=1, levels=(0.0, 0.1))
    assert three[0] > 0.9
    assert one[1] < two[1] < three[0]


def test_electrodes(example, out, capsys):
    assert example("electrodes").main(out) > 0.9
    assert "has no voltage" in capsys.readouterr().out


def test_direct_sampling(example, out):
    classical, learned = example("direct_sampling").main(out)
    assert classical == pytest.approx(0.907, abs=0.003)
    assert learned > 0.98


def test_uncertainty(example, out):
    plain, refined, body = example("uncertainty").main(out, steps=4)
    assert refined.misfit < plain.misfit < 0.1
    assert refined.dice(body) > 0.95


def test_train_your_own(example, out):
    before, after = example("train_your_own").main(out, n=32, samples=256, data=64)
    assert before == pytest.approx(0.69, abs=0.2)
    assert after < 0.8 * before


def test_theorem1(example, out):
    scores = example("theorem1").main(out, n=100)
    assert scores == sorted(scores)
    assert scores[-1] > 0.9


def test_first_tank(example, out):
    assert example("first_tank").main(out) > 0.8


def test_gauss_newton(example, out):
    assert example("gauss_newton").main(out) < 0.02


def test_total_variation(example, out):
    edges, smooth = example("total_variation").main(out)
    assert edges > smooth > 0.7


def test_level_set(example, out):
    assert example("level_set").main(out) > 0.85


def test_outlines(example, out):
    dice, misfit = example("outlines").main(out)
    assert dice > 0.95
    assert misfit < 0.01


def test_greit(example, out):
    assert example("greit").main(out) < 0.05


def test_d_bar(example, out):
    least, most = example("d_bar").main(out)
    assert least == pytest.approx(0.1, abs=0.1)
    assert 0.5 < most < 1.0


def test_any_body(example, out):
    assert example("any_body").main(out) > 0.85


def test_patterns(example, out):
    told = example("patterns").main(out)
    assert told["adjacent"] > told["opposite"] > 30
    assert max(told.values()) <= 104  # of 208 readings half are the others' reciprocals


def test_contact_impedance(example, out):
    at_drives, elsewhere = example("contact_impedance").main(out)
    assert elsewhere < 0.2 * at_drives


def test_faulty_measurement(example, out):
    faults, before, after = example("faulty_measurement").main(out)
    assert len(faults) == 1
    assert "11 and 12" in faults[0]
    assert after > 0.7 > 0.5 > before


def test_moving_object(example, out):
    assert example("moving_object").main(out) < 0.15


def test_from_pyeit(example, out):
    assert example("from_pyeit").main(out) < 0.1


def test_own_body(example, out):
    eit = importlib.import_module("eitlens")
    try:
        assert example("own_body").main(out) > 0.8
    finally:
        del eit.registered("body")["bean"]


def test_own_solver(example, out):
    errors = example("own_solver").main(out)
    assert errors == sorted(errors)
    assert errors[0] < 0.005 < 1 < errors[-1]


def test_own_method(example, out):
    eit = importlib.import_module("eitlens")
    try:
        assert example("own_method").main(out) > 0.5
    finally:
        del eit.registered("method")["both"]


def test_own_network(example, out):
    assert example("own_network").main(out, steps=30) > 0.9


def test_posterior(example, out):
    assert example("posterior").main(out) > 0.9


def test_data_set(example, out):
    assert 0.03 < example("data_set").main(out) < 0.2


def test_device_file(example, out):
    assert example("device_file").main(out) < 0.3


def test_two_solvers(example, out):
    errors = example("two_solvers").main(out)
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[-1] < 1e-4


def test_compare_methods(example, out):
    dice = example("compare_methods").main(out)
    assert dice["level-set"] > 0.85
    assert min(dice["network"], dice["gauss-newton"]) > dice["dsm"]


def test_minimisation(example, out):
    assert example("minimisation").main(out) > 2
