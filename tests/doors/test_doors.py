"""Things of a user's own, defined outside the package, go the whole way through the command line."""

import json
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import eitlens as eit
from eitlens import models
from eitlens.cli.main import app
from eitlens.dataset import DataConfig, check
from eitlens.errors import InputError
from eitlens.registry import HOMES

HERE = Path(__file__).parent
DATA = {
    "name": "own",
    "n": 32,
    "train": 8,
    "validation": 4,
    "test": 4,
    "shard": 8,
    "currents": {"count": 2},
    "sampler": {"count": 1, "disjoint": True},
    "solver": {"name": "boundary-integral", "tolerance": 1e-6},
}
RECIPE = {
    "name": "own",
    "network": {"preset": "uit-small", "settings": {"width": 8, "resolution": 32}},
    "batch": 4,
    "samples": 16,
    "log_every": 2,
}


@pytest.fixture(autouse=True)
def _beside_the_plugins(monkeypatch):
    """Run beside the plug-ins, and forget what they registered."""
    monkeypatch.chdir(HERE)
    monkeypatch.syspath_prepend(HERE)
    before = {kind: set(eit.registered(kind)) for kind in HOMES}
    yield
    for kind, names in before.items():
        for name in set(eit.registered(kind)) - names:
            del eit.registered(kind)[name]
    for module in ("pear", "own"):
        sys.modules.pop(module, None)


def eitlens(*words: object, plugin: str) -> str:
    done = CliRunner().invoke(app, ["--plugin", plugin, *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


def whole_way(home: Path, plugin: str, data: dict, recipe: dict, phantom: dict, body: str = "square") -> dict:
    """Simulate, generate, train, evaluate, reconstruct; returns the summary of the reconstruction."""
    for name, values in (("data", DATA | data), ("recipe", RECIPE | recipe), ("phantom", phantom)):
        (home / f"{name}.json").write_text(json.dumps(values))
    eitlens(
        "generate", "--config", home / "data.json", "--out", home / "data", "--device", "cpu", plugin=plugin
    )
    assert check(home / "data").spot_checks > 0
    run, file = home / "run", home / "measured.npz"
    words = ("--config", home / "recipe.json", "--data", home / "data", "--device", "cpu")
    eitlens("train", *words, "--out", run, plugin=plugin)
    eitlens("evaluate", run, "--device", "cpu", plugin=plugin)
    eitlens(
        "simulate",
        home / "phantom.json",
        "-o",
        file,
        "--currents",
        2,
        "--n",
        32,
        "--body",
        body,
        plugin=plugin,
    )
    told = eitlens("reconstruct", file, "--model", run, "--device", "cpu", "--json", plugin=plugin)
    return json.loads(told[told.index("{") :])


CIRCLE = {"shapes": [{"kind": "circle", "center": [0.2, 0.1], "radius": 0.2}]}


def test_a_body(tmp_path):
    data = {"body": "pear", "sampler": DATA["sampler"] | {"shapes": "in-the-pear"}}
    found = whole_way(tmp_path, "pear", data, {}, CIRCLE, "pear")
    assert found["method"] == "network"
    assert json.loads((tmp_path / "data" / "manifest.json").read_text())["body"] == "pear"


def test_a_body_by_its_outline(tmp_path):
    eit.register("body", "tank", eit.bodies.ellipse(0.2, 0.17, "tank"))
    data = {"body": "tank", "sampler": DATA["sampler"] | {"shapes": "in-the-pear"}}
    assert whole_way(tmp_path, "pear", data, {}, CIRCLE, "tank")["domain"] == "tank"


def test_the_pear_solves_its_neumann_problem():
    """The flux of Re w and of Im w² gives back these functions, less their means over the boundary."""
    from pear import Pear

    body = Pear(32)
    w = torch.complex(*body.boundary().unbind(-1))
    along = torch.fft.ifft(torch.fft.fft(w) * 1j * torch.fft.fftfreq(len(w), 1 / len(w), dtype=torch.float64))
    normal = -1j * along / along.abs()
    for value, slope in ((w.real, torch.ones_like(w)), ((w * w).imag, -2j * w)):
        flux = (slope * normal).real
        trace = body.background(flux)
        assert (trace - value + value.mean()).abs().max() < 1e-8


def test_a_shape_and_a_sampler(tmp_path):
    data = {"sampler": {"shapes": "diamonds", "count": 1}, "solver": {"name": "grid", "tolerance": 1e-3}}
    phantom = {
        "shapes": [
            {"kind": "diamond", "x": 0.2, "y": 0.1},
            {"kind": "circle", "center": [-0.5, 0], "radius": 0.2},
        ]
    }
    whole_way(tmp_path, "own", data, {}, phantom)


def test_a_shape_that_is_only_passed():
    from own import Diamond

    class Unnamed(Diamond):
        """A diamond of a class that nobody registered."""

    square = eit.Square(32)
    one, other = (eit.indicator(square, eit.Phantom([kind(0.1, 0.0)])) for kind in (Diamond, Unnamed))
    assert torch.equal(one, other)


def test_a_solver(tmp_path):
    whole_way(tmp_path, "own", {"solver": {"name": "own-integral", "tolerance": 1e-6}}, {}, CIRCLE)


def test_an_input_and_a_network(tmp_path):
    whole_way(tmp_path, "own", {}, {"network": {"preset": "plain"}, "input": "doubled"}, CIRCLE)
    with pytest.raises(InputError, match="--plugin"):
        models.create("nobody")


def test_a_method_and_a_format(tmp_path):
    plain, card = tmp_path / "plain.json", tmp_path / "measured.card"
    eitlens("simulate", "--random", 3, "--n", 32, "-o", plain, plugin="own")
    card.write_bytes(b"CARDS 1\n" + plain.read_bytes())
    told = eitlens("reconstruct", card, "--method", "own-method", "--json", plugin="own")
    assert json.loads(told)["method"] == "own-method"


def test_a_pattern(tmp_path):
    phantom, file = tmp_path / "phantom.json", tmp_path / "tank.json"
    phantom.write_text(json.dumps(CIRCLE))
    words = ("--electrodes", 16, "--pattern", "every-third")
    eitlens("simulate", phantom, "-o", file, *words, plugin="own")
    told = eitlens("reconstruct", file, "--method", "own-method", "--json", plugin="own")
    assert json.loads(told)["method"] == "own-method"


def test_arrays(tmp_path):
    square = eit.Square(32)
    phantoms = eit.EllipseSampler(seed=0, count=1, disjoint=True).batch(0, 20)
    data = eit.BoundaryIntegralSolver(square, 1e-6).difference(phantoms, eit.currents.cosine(square, 2))
    truth = eit.indicator(square, phantoms)
    made = eit.Dataset.from_arrays(data.numpy(), truth.numpy(), tmp_path / "data")
    assert torch.equal(made.read(0, 20).mask, truth)
    torch.testing.assert_close(made.read(0, 20).difference, data, rtol=0, atol=1e-12)
    assert check(tmp_path / "data").samples == 20
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    words = ("--config", tmp_path / "recipe.json", "--data", tmp_path / "data", "--device", "cpu")
    eitlens("train", *words, "--out", tmp_path / "run", plugin="own")
    eitlens("evaluate", tmp_path / "run", "--device", "cpu", plugin="own")


def test_arrays_that_do_not_fit(tmp_path):
    truth, data = torch.zeros(3, 17, 17), torch.zeros(3, 2, 64)
    for bad, word in (
        ((data[:2], truth), "each sample"),
        ((data, truth[0]), "pictures"),
        ((data, truth + 0.5), "threshold"),
        ((data[..., :60], truth), "boundary values"),
    ):
        with pytest.raises(InputError, match=word):
            eit.Dataset.from_arrays(*bad, tmp_path / "data")


def test_unknown_names_tell_of_the_plugin():
    for values in ({"body": "moon"}, {"sampler": {"shapes": "stars"}}, {"solver": {"name": "oracle"}}):
        with pytest.raises(InputError, match="--plugin"):
            DataConfig.from_dict({"name": "x"} | values)
    done = CliRunner().invoke(app, ["--plugin", "not_there", "doctor"])
    assert done.exit_code == 2
    assert "not_there" in done.output
    done = CliRunner().invoke(app, ["doctor", "--plugin", "own"])
    assert done.exit_code == 2
    assert "--plugin MODULE" in done.output


def test_names_of_the_package_stay():
    with pytest.raises(InputError, match="choose another name"):
        eit.register("body", "square", eit.Square(10))
