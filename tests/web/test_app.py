import base64
import io
import json

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from web_drawings import ELLIPSE, TRIANGLE, drawing

from eitlens import (
    Disk,
    Electrodes,
    Pattern,
    Phantom,
    Square,
    circle,
    currents,
    direct_sampling,
    indicator,
)
from eitlens.errors import InputError
from eitlens.evaluate.metrics import hard_dice
from eitlens.measure import Measurement
from eitlens.measure.simulation import simulated
from eitlens.web.app import LIMITS, create
from eitlens.web.drawing import simulate
from eitlens.web.gallery import Gallery
from eitlens.web.jobs import Jobs
from eitlens.web.schema import read_drawing

BINARY = {"content-type": "application/octet-stream"}


def _levels(field):
    raw = np.frombuffer(base64.b64decode(field["bytes"]), np.uint8).astype(float)
    values = field["low"] + (field["high"] - field["low"]) * raw / 255
    return torch.from_numpy(values).reshape(field["nodes"], field["nodes"])


def test_the_answer_to_a_drawing_is_what_the_library_computes(client):
    asked = drawing(shapes=[ELLIPSE, TRIANGLE])
    answer = client.post("/api/drawing", json=asked).json()
    phantom = read_drawing(json.dumps(asked).encode()).phantom
    data = simulate(phantom, 3).difference
    sent = np.frombuffer(base64.b64decode(answer["data"]["floats"]), np.float32).reshape(3, 800)
    assert np.abs(sent - data.numpy()).max() < 1e-6
    index = direct_sampling(Square(100), data[:, ::2])
    assert (_levels(answer["classical"]["image"]) - index / index.max()).abs().max() < 3e-3
    truth = indicator(Square(100), phantom)[None]
    dice = hard_dice((index / index.max() - 0.5)[None], truth.double())
    assert answer["classical"]["scores"]["dice"] == pytest.approx(float(dice), abs=1e-9)
    assert [field["nodes"] for field in answer["phi"]] == [101] * 3


def test_the_network_gives_image_uncertainty_and_scores(client, gallery):
    answer = client.post("/api/drawing", json=drawing(tau=0.05, seed=3)).json()
    (result,) = answer["images"]
    image, spread = _levels(result["image"]), _levels(result["uncertainty"])
    assert image.shape == (51, 51)
    assert (spread - (image * (1 - image)).sqrt()).abs().max() < 0.05
    assert 0 <= result["scores"]["dice"] <= 1
    assert result["scores"]["l2"] > 0
    assert result["seconds"] > 0
    assert answer["clean"]["floats"] != answer["data"]["floats"]


def test_a_network_that_cannot_read_the_data_says_why(client):
    (result,) = client.post("/api/drawing", json=drawing(currents=1)).json()["images"]
    assert "currents" in result["reason"]


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_measurement_file_is_imaged(client, suffix):
    phantom = read_drawing(json.dumps(drawing()).encode()).phantom
    made = Measurement.of_difference(simulate(phantom, 3).difference)
    stream = io.BytesIO()
    if suffix == "npz":
        np.savez(stream, **{key: np.array(value) for key, value in made.to_dict().items()})
    else:
        stream.write(json.dumps(made.to_dict()).encode())
    answer = client.post(
        "/api/measurement?client=me&models=tiny", content=stream.getvalue(), headers=BINARY
    ).json()
    drawn = client.post("/api/drawing", json=drawing()).json()
    assert answer["classical"]["image"] == drawn["classical"]["image"]
    assert answer["images"][0]["image"] == drawn["images"][0]["image"]
    assert answer["images"][0]["scores"] is None


def test_readings_of_electrodes_on_the_square_are_imaged(client):
    body = Phantom([circle((0.4, 0.3), 0.2)], 4.0, 0.4)
    made = Measurement.from_arrays(
        simulated(Electrodes.even(Square(32), 32), Pattern.named("adjacent", 32), body).to_dict()
    )
    answer = client.post(
        "/api/measurement?client=me&models=tiny",
        content=json.dumps(made.to_dict()).encode(),
        headers=BINARY,
    ).json()
    index = _levels(answer["classical"]["image"])
    node = Square(100).nodes().flatten(0, 1)[index.argmax()]
    assert float((node - torch.tensor([0.4, 0.3])).norm()) < 0.15
    assert "image" in answer["images"][0]


def test_a_measurement_of_a_disk_is_refused_by_a_page_about_the_square(client):
    disk = Disk(16, 64)
    made = Measurement.of_difference(0.1 * currents.cosine(disk, 3), domain=disk)
    content = json.dumps(made.to_dict()).encode()
    response = client.post("/api/measurement?client=me&models=tiny", content=content, headers=BINARY)
    assert response.status_code == 422
    assert "of a disk" in response.json()["reason"]
    assert "--" not in response.json()["reason"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"", 422),
        (json.dumps(drawing(models=["other"])).encode(), 422),
        (json.dumps(drawing(shapes=[ELLIPSE | {"center": [0.9, 0]}])).encode(), 422),
        (b" " * (LIMITS["/api/drawing"] + 1), 413),
    ],
)
def test_bad_requests_are_refused_with_the_reason(client, body, status):
    response = client.post("/api/drawing", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status
    assert len(response.json()["reason"]) > 10


def test_a_polygon_that_crosses_itself_is_refused(client):
    bow = TRIANGLE | {"vertices": [[0, 0], [0.5, 0.5], [0.5, 0], [0, 0.3]]}
    response = client.post("/api/drawing", json=drawing(shapes=[bow]))
    assert response.status_code == 422
    assert "crosses itself" in response.json()["reason"]


@pytest.mark.parametrize("kind", ["text/plain", "", "multipart/form-data"])
def test_only_what_a_foreign_page_cannot_send_is_taken(client, kind):
    response = client.post("/api/drawing", content=b"{}", headers={"content-type": kind})
    assert response.status_code == 415


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "evil.example:80:80", "[evil]", ""],
)
def test_other_host_names_are_refused(client, host):
    response = client.get("/", headers={"host": host})
    assert response.status_code == 400
    assert "--name" in response.json()["reason"]
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8000", "192.168.7.5:8000", "[fe80::1]:8000", "[::1]"]
)
def test_addresses_are_no_names(client, host):
    assert client.get("/settings.json", headers={"host": host}).status_code == 200


def test_names_that_were_given(gallery):
    def status(name, host):
        app = TestClient(create(gallery, Jobs(workers=1), names=(name,)), base_url="http://127.0.0.1")
        return app.get("/settings.json", headers={"host": host}).status_code

    assert status("Lab.example", "lab.EXAMPLE:8000") == 200
    assert status("lab.example", "a.lab.example") == 400
    assert status("*", "evil.example") == 200
    assert status("", "") == 400


def test_as_many_workers_as_cores_may_be_used(gallery, monkeypatch):
    monkeypatch.setattr("eitlens.device.os.sched_getaffinity", lambda _: {5}, raising=False)
    made = []
    monkeypatch.setattr("eitlens.web.app.Jobs", lambda workers: made.append(workers) or Jobs(workers))
    create(gallery)
    assert made == [1]


@pytest.mark.parametrize(
    "path", ["/../../pyproject.toml", "/%2e%2e/app.py", "/js/../../app.py", "//etc/passwd", "/js/", "/app.py"]
)
def test_no_file_is_reached_by_its_path(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/settings.json", "/nowhere"])
def test_every_answer_has_the_security_headers(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_holds_no_inline_script_or_style_and_asks_nobody_else(client):
    page = client.get("/").text
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick=" not in page
    assert page.count("<script") == page.count('<script type="module" src="js/')
    assert "http://" not in page
    assert "https://" not in page


def test_without_networks_the_page_still_has_the_classical_image():
    with TestClient(create(Gallery()), base_url="http://localhost") as alone:
        assert alone.get("/settings.json").json()["models"] == []
        answer = alone.post("/api/drawing", json=drawing(models=[])).json()
    assert answer["images"] == []
    assert answer["classical"]["scores"]["dice"] > 0


def test_two_networks_of_one_name_are_refused_and_none_is_dropped(run_folder):
    with pytest.raises(InputError, match="two networks are called 'tiny'"):
        Gallery.open((str(run_folder), str(run_folder)))


def zigzag(row: int, column: int) -> list[list[float]]:
    """A strip that goes up and down, as long as its place among twelve allows."""
    x, y = -0.92 + 0.48 * column, -0.6 + 0.6 * row
    line = [[x + 0.08 * k, y + (0.15 if k % 2 else -0.15)] for k in range(6)]
    return line + [[a, b + 0.16] for a, b in reversed(line)]


def test_a_drawing_that_takes_too_long_is_refused_with_advice_and_the_next_is_answered(gallery):
    places = [(k // 4, k % 4) for k in range(12)]
    heavy = [
        {"kind": "polygon", "vertices": zigzag(*place), "conductivity": 10.0 ** (3 - k / 2)}
        for k, place in enumerate(places)
    ]
    jobs = Jobs(workers=1)
    with TestClient(create(gallery, jobs), base_url="http://127.0.0.1") as client:
        jobs.budget = 0.05
        answer = client.post("/api/drawing", json=drawing(shapes=heavy))
        assert answer.status_code == 422
        assert "fewer or simpler shapes" in answer.json()["reason"]
        assert not jobs._running
        jobs.budget = 60.0
        assert client.post("/api/drawing", json=drawing()).status_code == 200
