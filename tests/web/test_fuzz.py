"""Malformed requests and files: each is refused in a line or answered, none brings an error of the server's own.

EITLENS_FUZZ sets how many are tried: a few in every run of the tests, 2,000 before a release.
"""

import io
import json
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from web_drawings import ELLIPSE, TRIANGLE, drawing, tank_drawing

from eitlens.measure import Measurement
from eitlens.phantom import Ellipse, Phantom
from eitlens.web.drawing import simulate

COUNT = int(os.environ.get("EITLENS_FUZZ", "240"))
EXPECTED = {200, 400, 404, 405, 409, 413, 415, 422, 503}
PATHS = [
    "/",
    "/js/main.js",
    "/api/drawing",
    "/api/measurement",
    "/api/tank",
    "/api/files",
    "/settings.json",
    "/" + "a" * 3000,
    "/%00",
    "/..%2f",
]
KINDS = ["application/json", "text/html", "application/octet-stream", "", "application/json; charset=x"]
QUERIES = ["client=me&models=tiny"] * 8 + ["", "client=%00&models=,,", "models=%ff", "client=a&client=b"]
METHODS = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"]
BINARY = {"content-type": "application/octet-stream"}
ODD: list[Any] = [
    None, True, "", "x", "NaN", 0, -1, 1e308, -1e-308, 2**70, float("nan"), float("inf"), [], {}, [[]], [1, 2, 3],
    {"kind": "ellipse"}, "../../etc/passwd", "\ud800", "a" * 5000, [[0, 0]] * 100, [1e9, -1e9], 0.5,
]  # fmt: skip
ROUNDED = TRIANGLE | {"kind": "rounded-polygon", "radius": 0.03}
Rng = random.Random


def _anywhere(value: Any, rng: Rng) -> Any:
    """The same with something odd somewhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        changed = dict(value)
        if rng.random() < 0.1:
            del changed[key]
        elif rng.random() < 0.05:
            changed["surplus"] = rng.choice(ODD)
        else:
            changed[key] = _anywhere(value[key], rng)
        return changed
    if isinstance(value, list | tuple) and value and rng.random() < 0.9:
        changed, k = list(value), rng.randrange(len(value))
        changed[k] = _anywhere(value[k], rng)
        return changed
    return rng.choice(ODD)


def _bytes(content: bytes, rng: Rng) -> bytes:
    """The same with bytes changed, cut off, repeated or put in."""
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(made)) if made else 0
        kind = rng.randrange(4)
        if kind == 0 and made:
            made[at] = rng.randrange(256)
        elif kind == 1:
            del made[at:]
        elif kind == 2:
            made[at:at] = rng.randbytes(rng.randrange(1, 40))
        else:
            made[at:at] = made[at : at + rng.randrange(1, 200)]
    return bytes(made)


def _files() -> list[bytes]:
    """A good measurement in each format, small."""
    import h5py
    import scipy.io

    phantom = Phantom([Ellipse((0.3, 0.2), (0.3, 0.2), 0.4)])
    made = Measurement.of_difference(simulate(phantom, 3).difference[:, ::25])
    arrays = {key: np.array(value) for key, value in made.to_dict().items()}
    npz, mat, h5 = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(npz, **arrays)
    scipy.io.savemat(mat, arrays)
    with h5py.File(h5, "w") as file:
        for key, value in arrays.items():
            file[key] = value
    rows = zip(made.points.tolist(), made.currents[0].tolist(), made.voltages[0].tolist(), strict=True)
    table = "x,y,g1,f1\n" + "\n".join(f"{x},{y},{g},{f}" for (x, y), g, f in rows)
    binary = [stream.getvalue() for stream in (npz, mat, h5)]
    return [*binary, json.dumps(made.to_dict()).encode(), table.encode()]


def _ask_drawing(client: Any, rng: Rng) -> Any:
    body = json.dumps(_anywhere(drawing(shapes=[ELLIPSE, TRIANGLE], quick=True), rng)).encode(
        "utf-8", "surrogatepass"
    )
    if rng.random() < 0.3:
        body = _bytes(body, rng)
    return client.post("/api/drawing", content=body, headers={"content-type": "application/json"})


def _ask_upload(files: list[bytes]) -> Callable[[Any, Rng], Any]:
    def ask(client: Any, rng: Rng) -> Any:
        body = rng.choice(files)
        if body.startswith(b"{") and rng.random() < 0.7:
            body = json.dumps(_anywhere(json.loads(body), rng)).encode("utf-8", "surrogatepass")
        else:
            body = _bytes(body, rng)
        return client.post(f"/api/measurement?{rng.choice(QUERIES)}", content=body, headers=BINARY)

    return ask


def _ask_tank(client: Any, rng: Rng) -> Any:
    body = json.dumps(_anywhere(tank_drawing(shapes=[ELLIPSE, ROUNDED], methods=["dsm"]), rng)).encode(
        "utf-8", "surrogatepass"
    )
    if rng.random() < 0.3:
        body = _bytes(body, rng)
    return client.post("/api/tank", content=body, headers={"content-type": "application/json"})


def _ask_files(files: list[bytes]) -> Callable[[Any, Rng], Any]:
    def ask(client: Any, rng: Rng) -> Any:
        file = rng.choice(files)
        head = {
            "client": "me",
            "methods": ["dsm"],
            "files": [{"name": "a", "size": len(file)}],
            "setup": {"unit": "mV"},
        }
        line = json.dumps(_anywhere(head, rng) if rng.random() < 0.5 else head).encode(
            "utf-8", "surrogatepass"
        )
        body = line + b"\n" + file
        return client.post(
            "/api/files", content=_bytes(body, rng) if rng.random() < 0.5 else body, headers=BINARY
        )

    return ask


def _ask_anything(client: Any, rng: Rng) -> Any:
    headers, body = {"content-type": rng.choice(KINDS)}, rng.randbytes(rng.choice([0, 1, 100, 70_000]))
    return client.request(rng.choice(METHODS), rng.choice(PATHS), content=body, headers=headers)


@pytest.mark.parametrize("part", range(4))
def test_nothing_malformed_brings_the_server_down(client, part):
    rng = Rng(part)
    asks = [_ask_drawing, _ask_upload(_files()), _ask_drawing, _ask_upload(_files()), _ask_anything]
    asks += [_ask_tank, _ask_files(_files())]
    seen = set()
    for k in range(COUNT // 4):
        response = asks[k % len(asks)](client, rng)
        seen.add(response.status_code)
        assert response.status_code in EXPECTED
        assert "Traceback" not in response.text
        if response.status_code in (413, 415, 422):
            assert "\n" not in response.json()["reason"]
    assert 422 in seen
    assert client.post("/api/drawing", json=drawing(quick=True)).status_code == 200
