"""Tanks of the page, at the server: the answers are those of the library, and what is wrong is refused in a line."""

import base64
import json
import math

import numpy as np
import pytest
import torch
from web_drawings import ELLIPSE, tank_drawing

import eitlens as eit
from eitlens import imaging
from eitlens.errors import InputError
from eitlens.evaluate.images import scores
from eitlens.measure.isolation import SafeParser
from eitlens.measure.simulation import simulated
from eitlens.web import encoding, tank
from eitlens.web.tank_schema import BODIES, read_files, read_tank

BINARY = {"content-type": "application/octet-stream"}


def _asked(**changes):
    return read_tank(json.dumps(tank_drawing(**changes)).encode())


def _answer(**changes):
    return tank.answer_tank(_asked(**changes), lambda: None)


def _floats(sent):
    return np.frombuffer(base64.b64decode(sent["floats"]), np.float32).reshape(sent["rows"], -1)


def _levels(field):
    raw = np.frombuffer(base64.b64decode(field["bytes"]), np.uint8).astype(float)
    return field["low"] + (field["high"] - field["low"]) * raw.reshape(field["nodes"], -1) / 255


def _measurement(frames=1, sign=1.0):
    """A round tank of which an object moves along x."""
    electrodes, pattern = tank.built(_asked().tank)
    moving = [eit.Phantom([eit.circle((0.1 * k, 0.3), 0.25)], 10.0) for k in range(frames)]
    made = simulated(electrodes, pattern, moving, 0.05, 70.0, rate=10)
    values = made.to_dict()
    for name in ("voltages", "reference"):
        values[name] = (sign * torch.tensor(values[name], dtype=torch.float64)).tolist()
    return values


def _sent(*files, reference=(), **changes):
    """The body of a request with these files."""
    contents = [json.dumps(file).encode() for file in (*files, *reference)]
    sizes = [{"name": f"{k}.json", "size": len(content)} for k, content in enumerate(contents)]
    head = {
        "client": "me",
        "methods": ["dsm"],
        "files": sizes[: len(files)],
        "reference": sizes[len(files) :],
    }
    return json.dumps(head | changes).encode() + b"\n" + b"".join(contents)


def _read(body):
    return tank.answer_files(*read_files(body), SafeParser(), lambda: None)


def test_readings_and_images_are_those_of_the_library():
    asked, answer = _asked(), _answer()
    electrodes, pattern = (
        eit.Electrodes.even(BODIES["disk"], 16, 0.5, 1e-5),
        eit.Pattern.named("adjacent", 16, 1e-3),
    )
    made = simulated(electrodes, pattern, asked.phantom, 0.05, 60.0, seed=1)
    shown = _floats(answer["readings"]["frames"])[0]
    assert np.nanmax(np.abs(shown - pattern.spread(made.voltages)[0].flatten().numpy())) < 1e-9
    assert np.isnan(shown).sum() == 48
    found = next(imaging.images(made, "greit", imaging.Options(n=80)))
    (image,) = answer["images"]
    assert np.abs(_levels(image["frames"][0]) - found.image.numpy()).max() < 0.01 * float(
        found.image.abs().max()
    )
    wanted = scores(found.image, found.quantity, found.domain, asked.phantom)
    assert image["scores"]["dice"] == pytest.approx(wanted.dice, abs=1e-9)


def test_the_network_tells_classes_and_conductivity():
    both = [ELLIPSE | {"center": [-0.4, -0.2]}, ELLIPSE | {"center": [0.4, 0.3], "conductivity": 0.05}]
    (image,) = _answer(shapes=both, methods=["network"])["images"]
    sign, sigma = (_levels(image[name][0]) for name in ("frames", "sigma"))
    conductive, resistive = np.argwhere(sign > 0.5).mean(0), np.argwhere(sign < -0.5).mean(0)
    assert np.abs(conductive / 40 - 1 - np.array([-0.4, -0.2])).max() < 0.1
    assert np.abs(resistive / 40 - 1 - np.array([0.4, 0.3])).max() < 0.1
    assert sigma.max() > math.log(3)
    assert sigma.min() < -math.log(3)
    assert image["scores"]["dice"] > 0.8


def test_an_empty_tank_has_readings_and_no_images():
    answer = _answer(shapes=[])
    assert answer["images"] == []
    assert np.isfinite(_floats(answer["readings"]["reference"])).sum() == 208
    assert len(answer["electrodes"]) == 16


def test_what_a_method_cannot_do_is_told_without_options_of_the_command_line():
    (image,) = _answer(tank=tank_drawing()["tank"] | {"body": "ellipse"}, methods=["network"])["images"]
    assert "round tanks" in image["reason"]
    assert "--" not in image["reason"]
    assert encoding.plain("no pattern: give --pattern, or (see --setup) another") == "no pattern"
    assert encoding.plain("a: b, c") == "a: b, c"


def test_a_saved_drawing_is_opened_to_the_same_image():
    drawn = _answer(methods=["dsm"])["images"][0]["frames"]
    answer = _read(_sent(_answer(save=True)["file"]))
    assert answer["images"][0]["frames"] == drawn
    assert answer["findings"] == []
    assert answer["images"][0]["scores"] is None


def test_the_inspection_is_told():
    answer = _read(_sent(_measurement(sign=-1.0), methods=[]))
    assert [finding["kind"] for finding in answer["findings"]] == ["polarity"]
    assert "--" not in json.dumps(answer["findings"])


def test_frames_come_in_parts_and_against_a_reference():
    three = _measurement(3)
    water = {key: value for key, value in three.items() if key not in ("reference", "times")}
    water["voltages"] = three["reference"]
    bare = {key: value for key, value in three.items() if key != "reference"}
    part = _read(_sent(bare, reference=[water], first=1, count=5))
    assert part["frames"] | {"times": None} == {"count": 3, "first": 1, "shown": 2, "times": None}
    assert len(part["images"][0]["frames"]) == 2
    whole = _read(_sent(bare, reference=[water], count=3))
    assert np.allclose(
        _floats(whole["readings"]["frames"])[1:], _floats(part["readings"]["frames"]), equal_nan=True
    )
    own = _read(_sent(bare, reference_frames=1, count=1, methods=[]))
    now, before = (_floats(own["readings"][name])[0] for name in ("frames", "reference"))
    assert np.array_equal(now, before, equal_nan=True)


def test_points_on_a_disk_are_imaged_by_direct_sampling(client):
    disk = eit.Disk(64)
    difference = 0.1 * eit.currents.cosine(disk, 3)
    made = eit.Measurement.of_difference(difference, domain=disk).to_dict()
    refused = client.post(
        "/api/measurement?client=me&models=tiny", content=json.dumps(made).encode(), headers=BINARY
    )
    assert "choose Tank" in refused.json()["reason"]
    answer = client.post("/api/files", content=_sent(made, methods=["dsm"]), headers=BINARY).json()
    assert answer["readings"] is None
    assert "frames" in answer["images"][0]


THIN = [ELLIPSE | {"center": [0, 0.1 * k - 0.6], "semi_axes": [0.6, 0.01], "angle": 0} for k in range(12)]
CROSSED = [shape | {"semi_axes": [0.6, 0.02], "angle": 0.5 * (k % 2)} for k, shape in enumerate(THIN)]


@pytest.mark.parametrize("shapes", [THIN, CROSSED])
def test_a_drawing_that_takes_seconds_is_refused_before_it_is_solved(shapes):
    with pytest.raises(InputError, match="fewer, thicker or simpler"):
        _answer(shapes=shapes)


@pytest.mark.parametrize(
    "changes",
    [
        {"tank": {"body": "/etc/passwd", "electrodes": 16, "coverage": 0.5, "pattern": "adjacent"}},
        {"tank": {"body": "disk", "electrodes": 500, "coverage": 0.5, "pattern": "adjacent"}},
        {"tank": {"body": "disk", "electrodes": 16, "coverage": 1.5, "pattern": "adjacent"}},
        {"tank": {"body": "disk", "electrodes": 16, "coverage": 0.5, "pattern": "skip-99"}},
        {"shapes": [ELLIPSE] * 13},
        {"snr": 500.0},
        {"methods": ["a"] * 7},
        {"methods": ["../x"]},
        {"path": "x"},
    ],
)
def test_bad_drawings_are_refused(changes):
    with pytest.raises(InputError) as caught:
        _asked(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no line",
        b"{}\n",
        _sent({}, setup={"body": "tank.json"}),
        _sent({}, setup={"points": [[0, 0]]}),
        _sent({}) + b"more",
        _sent({}, count=1000),
        _sent({})[:-1],
        b"[" * 100_000 + b"\n",
    ],
)
def test_bad_requests_with_files_are_refused(body):
    with pytest.raises(InputError):
        read_files(body)


def test_the_server_answers_and_refuses(client):
    answer = client.post("/api/tank", json=tank_drawing())
    assert answer.json()["images"][0]["name"] == "greit"
    outside = tank_drawing(shapes=[ELLIPSE | {"center": [0.9, 0.3]}])
    assert client.post("/api/tank", json=outside).status_code == 422
    assert client.post("/api/tank", json=tank_drawing(methods=["none"])).status_code == 422
    assert client.post("/api/files", content=_sent({}), headers=BINARY).status_code == 422
    assert client.post("/api/files", content=b"", headers={"content-type": "text/plain"}).status_code == 415
    settings = client.get("/settings.json").json()["tank"]
    assert {"network", "greit", "gauss-newton"} <= {method["name"] for method in settings["methods"]}
