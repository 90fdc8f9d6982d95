"""From a phantom to a measurement to an image, as typed."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from eitlens.cli.main import app
from eitlens.feature import Features
from eitlens.forward.currents import CurrentsConfig
from eitlens.models import create, save

PHANTOM = {"shapes": [{"kind": "ellipse", "center": [0.2, -0.1], "semi_axes": [0.15, 0.3], "angle": 0.4}]}


def run(*words: object, data: bytes | None = None):
    return CliRunner().invoke(app, [str(word) for word in words], input=data)


@pytest.fixture
def phantom(tmp_path):
    path = tmp_path / "phantom.json"
    path.write_text(json.dumps(PHANTOM))
    return path


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    save(create("uit-small", currents=2, resolution=32), tmp_path / "run" / "best")
    features = Features(64, CurrentsConfig("cosine", 2)).to_dict()
    (tmp_path / "run" / "features.json").write_text(json.dumps(features))
    return tmp_path / "run"


def test_from_phantom_to_image(phantom, model, tmp_path):
    data = tmp_path / "data.npz"
    made = run("simulate", phantom, "-o", data, "--n", 64, "--tau", 0.05, "--seed", 3)
    assert made.exit_code == 0, made.output
    assert "3 currents at 256 points, τ = 0.05, boundary-integral solver" in made.output
    targets = [tmp_path / f"deep/image.{suffix}" for suffix in ("png", "npz", "json")]
    words = [word for target in targets for word in ("-o", target)]
    done = run("reconstruct", data, "--model", model, *words)
    assert done.exit_code == 0, done.output
    assert "of the body inside, noise about" in done.output
    assert targets[0].read_bytes().startswith(b"\x89PNG")
    image = np.load(targets[1])["image"]
    told = json.loads(targets[2].read_text())
    assert image.shape == (65, 65)
    assert np.allclose(told["image"], image)
    assert told["noise"] == pytest.approx(0.05, rel=0.2)


def test_electrodes_see_the_same_of_any_grid(phantom, tmp_path):
    for n in (16, 200):
        assert run("simulate", phantom, "--n", n, "--points", 32, "-o", tmp_path / f"{n}.npz").exit_code == 0
    coarse, fine = (np.load(tmp_path / f"{n}.npz")["voltages"] for n in (16, 200))
    assert np.array_equal(coarse, fine)


def test_what_is_wrong_with_a_body_is_said_of_its_file(tmp_path):
    path = tmp_path / "wide.json"
    path.write_text('{"shapes": [{"kind": "circle", "center": [0, 0], "radius": 1}]}')
    done = run("simulate", path, "-o", tmp_path / "data.npz")
    assert done.exit_code == 2
    assert "wide.json: phantom 0: Ellipse" in done.output.replace("\n", "")
    path.write_text('{"shapes": []}')
    done = run("simulate", path, "--points", 5, "-o", tmp_path / "data.npz")
    assert "error: points: expected 8 to 20000" in done.output.replace("\n", " ")


def test_a_random_body_is_that_of_its_seed(tmp_path):
    for name, seed in (("one", 3), ("again", 3), ("other", 4)):
        assert run("simulate", "--random", seed, "--n", 32, "-o", tmp_path / f"{name}.npz").exit_code == 0
    one, again, other = (np.load(tmp_path / f"{name}.npz")["voltages"] for name in ("one", "again", "other"))
    assert np.array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3


def test_through_a_pipe(phantom):
    made = run(
        "simulate", "-", "-o", "-", "--n", 64, "--points", 80, "--currents", 2, data=phantom.read_bytes()
    )
    assert made.exit_code == 0, made.output
    done = run("reconstruct", "-", "--method", "dsm", "--n", 40, "--json", data=made.stdout_bytes)
    told = json.loads(done.output)
    assert (told["method"], told["n"], told["warnings"]) == ("dsm", 40, [])
    done = run("reconstruct", "-", "--method", "dsm", "--n", 40, data=made.stdout_bytes)
    assert done.output.startswith("dsm, ")
    assert "inside" not in done.output  # the index has no outline


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "nowhere.json", "-o", "data.npz"), "nowhere.json: No such file"),
        (("reconstruct", "nowhere.npz"), "nowhere.npz: No such file"),
        (("reconstruct", "src", "--method", "dsm"), "src: 0 files: expected a frame in each"),
        (("reconstruct", "-", "--method", "magic"), "choose one of network, dsm"),
        (("reconstruct", "-", "-o", "image.bmp"), "image.bmp: images are written as .png, .pdf, .npz, .json"),
        (("reconstruct", "-", "--method", "dsm"), "error: standard input: empty"),
        (
            ("sweep", "nowhere"),
            "no trained network 'nowhere': the names installed are: flagship, uit-small, tank",
        ),
        (("demo", "--n", "32", "--out", "demo.foo"), "demo.foo: pictures are written as .png, .pdf, .svg"),
        (("demo", "--n", "32", "--out", "/dev/null/demo.png"), "/dev/null: File exists: check the path"),
        (("reconstruct", "-", "--model", "nothing"), "standard input: empty"),
    ],
)
def test_a_users_mistake_is_one_line_and_status_2(words, message):
    done = run(*words, data=b"")
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seconds", 9), "network: it takes the time it needs: leave out --seconds"),
        (("--method", "dsm", "--refine", 2), "dsm: its image cannot be refined: leave out --refine"),
        (
            ("--method", "dsm", "--strength", 2),
            "dsm: it has no regularisation to choose: leave out --strength",
        ),
        (("--steps", 2), "network: it takes no steps of its own: leave out --steps"),
        (("--strength", -1), "strength must be positive"),
        (("--frames", "1-2"), "there are no frames 1-2: the measurement has frames 1 to 1"),
        (("--average", 2), "it has one frame and its own reference: no frames can be averaged"),
    ],
)
def test_a_wish_that_a_method_has_no_use_for_is_refused(phantom, words, message):
    made = run("simulate", phantom, "-o", "-", "--n", 32, "--points", 40)
    done = run("reconstruct", "-", *words, data=made.stdout_bytes)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")


def test_what_is_read_is_not_replaced(phantom):
    for command, more in (("simulate", ("--n", 16)), ("reconstruct", ("--method", "dsm"))):
        before = phantom.read_bytes()
        done = run(command, phantom, "-o", phantom.parent / "." / phantom.name, *more)
        assert done.exit_code == 2
        assert "is the file that is read: give the output another name" in done.output.replace("\n", " ")
        assert phantom.read_bytes() == before


def test_outputs_are_tried_before_the_work(phantom, tmp_path, monkeypatch):
    def work(*_):
        pytest.fail("the work was begun")

    monkeypatch.setattr("eitlens.measure.files.read", work)
    monkeypatch.setattr("eitlens.forward.automatic.simulate", work)
    monkeypatch.setattr("eitlens.web.export.export_network", work)
    bad = phantom / "image.npz"
    for words in (("reconstruct", "data.npz"), ("simulate", "--random", 1), ("export", "uit-small")):
        done = run(*words, "-o", bad)
        assert done.exit_code == 2
        assert "Not a directory: check the path" in done.output.replace("\n", " ")


def test_imaging_needs_no_training_extra():
    code = "import sys, eitlens.imaging; sys.exit('lightning' in sys.modules or 'h5py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_calibrate_writes_its_file_and_picture(model):
    recipe = {"name": "tiny", "n": 64, "train": 4, "validation": 9, "test": 8, "shard": 20}
    recipe |= {
        "sampler": {"count": 2, "disjoint": True},
        "solver": {"name": "boundary-integral", "tolerance": 1e-4},
    }
    (model / "data.json").write_text(json.dumps(recipe))
    done = run("calibrate", model, "--preset", "smoke")
    assert done.exit_code == 2
    assert "error: --preset smoke: " in done.output
    assert "data.json says what data the network was trained on: leave it out" in done.output
    # Sixteen of the nine there are: the tenth would be the first of the test samples.
    done = run("calibrate", model, "--samples", 16, "--misfits", 2)
    assert done.exit_code == 0, done.output
    assert "fitted on 9 validation samples, measured on 8 test samples" in done.output
    told = json.loads((model / "calibration.json").read_text())
    assert told["samples"] == 9
    assert told["levels"] == [0.0, 0.02, 0.05, 0.1, 0.2]
    assert len(told["amplitudes"]) == 2
    assert (model / "calibration.png").exists()


def test_where_a_calibration_cannot_be_written_is_told_before_the_work(model, monkeypatch):
    monkeypatch.setattr(
        "eitlens.imaging.calibrate.first_samples", lambda *_: pytest.fail("samples were simulated")
    )
    for name in ("calibration.png", "calibration.json"):
        (model / name).mkdir()
        done = run("calibrate", model)
        assert done.exit_code == 2, done.output
        assert f"{name}: is a folder" in done.output
