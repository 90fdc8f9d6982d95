"""Every example runs, with a number asserted. Those that take long are given less to do."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
TESTED = {
    *("first_image", "noise_sweep", "electrodes", "direct_sampling"),
    *("uncertainty", "train_your_own", "theorem1"),
}


@pytest.fixture
def example(monkeypatch):
    """Imports an example as it imports its neighbours."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def get(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    yield get
    for name in TESTED:
        sys.modules.pop(name, None)


def drawn(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def test_every_example_is_tested():
    assert {file.stem for file in EXAMPLES.glob("*.py")} == TESTED


def test_first_image(example, tmp_path):
    assert example("first_image").main(tmp_path / "a.png") > 0.95
    assert drawn(tmp_path / "a.png")


def test_noise_sweep(example, tmp_path):
    one, two, three = example("noise_sweep").main(tmp_path / "a.png", bodies=1, levels=(0.0, 0.1))
    assert drawn(tmp_path / "a.png")
    assert three[0] > 0.9
    assert one[1] < two[1] < three[0]


def test_electrodes(example, tmp_path, capsys):
    assert example("electrodes").main(tmp_path / "a.png") > 0.9
    assert "has no voltage" in capsys.readouterr().out
    assert drawn(tmp_path / "a.png")


def test_direct_sampling(example, tmp_path):
    classical, learned = example("direct_sampling").main(tmp_path / "a.png")
    assert classical == pytest.approx(0.907, abs=0.003)
    assert learned > 0.98
    assert drawn(tmp_path / "a.png")


def test_uncertainty(example, tmp_path):
    plain, refined, body = example("uncertainty").main(tmp_path / "a.png", steps=4)
    assert refined.misfit < plain.misfit < 0.1
    assert refined.dice(body) > 0.95
    assert drawn(tmp_path / "a.png")


def test_train_your_own(example, tmp_path):
    before, after = example("train_your_own").main(tmp_path, n=32, samples=256, data=64)
    assert before == pytest.approx(0.69, abs=0.2)
    assert after < 0.8 * before
    assert drawn(tmp_path / "learning_curve.png")


def test_theorem1(example, tmp_path):
    scores = example("theorem1").main(tmp_path / "a.png", n=100)
    assert scores == sorted(scores)
    assert scores[-1] > 0.9
    assert drawn(tmp_path / "a.png")
