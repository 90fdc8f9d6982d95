"""The page without a server: the graphs, the forward solve in JavaScript, and the whole of it in a browser."""

import functools
import json
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from eitlens import (
    Ellipse,
    GridSolver,
    Phantom,
    Square,
    add_noise,
    currents,
    direct_sampling,
    harmonic_extension,
    imaging,
)
from eitlens.errors import InputError
from eitlens.feature import Codes, gaussian
from eitlens.feature.gaussian import GaussianPrior
from eitlens.forward.currents import CurrentsConfig
from eitlens.measure import Measurement
from eitlens.models.export import write_graph
from eitlens.phantom import files
from eitlens.web import graphs, runtime
from eitlens.web.drawing import simulate
from eitlens.web.export import export_network, export_page
from eitlens.web.gallery import Gallery

FIRST = Phantom(  # what the page shows when it is opened
    [
        Ellipse((0.4, 0.42), (0.34, 0.2), 0.6),
        Ellipse((-0.45, -0.4), (0.2, 0.28), 0.3),
        Ellipse((-0.42, 0.45), (0.26, 0.18), 2.6),
    ]
)
SENT = [
    {"kind": "ellipse", "center": [0.32, 0.28], "semi_axes": [0.36, 0.2], "angle": 0.6, "conductivity": 10},
    {"kind": "ellipse", "center": [-0.42, -0.36], "semi_axes": [0.2, 0.26], "angle": 0.3, "conductivity": 10},
]
TWO = files.from_dict({"shapes": SENT})
POLYGON = {"kind": "polygon", "vertices": [[-0.6, -0.6], [-0.1, -0.5], [-0.3, -0.1]], "conductivity": 10}
WORSE = SENT[0] | {"conductivity": 0.1}
OVERLAPPING = SENT[0] | {"center": [-0.2, -0.2], "conductivity": 3}


def _run(path: Path, difference: torch.Tensor) -> list[torch.Tensor]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return [torch.from_numpy(found) for found in session.run(None, {"difference": difference.numpy()})]


@pytest.fixture(scope="module")
def folder(gallery, tmp_path_factory):
    """The exported page, with placeholders for the runtime."""
    dist = tmp_path_factory.mktemp("dist")
    for name in runtime.FILES:
        (dist / name).touch()
    made = tmp_path_factory.mktemp("site") / "page"
    assert list(export_page(made, gallery, dist))[-1] == "the network tiny"
    return made


def test_the_classical_graph(folder):
    square, data = Square(100), simulate(TWO, 2).difference[:, ::2]
    found = [_run(folder / "graphs" / "classical.onnx", row[None]) for row in data]
    phi, index = (torch.stack(part) for part in zip(*found, strict=True))
    assert (phi - harmonic_extension(square, data)).abs().max() < 1e-7
    assert (index.mean(0) - direct_sampling(square, data)).abs().max() < 1e-6


def test_a_network_from_boundary_data_to_logits(folder, gallery):
    data = add_noise(simulate(TWO, 3).difference[:, ::4], 0.05, seed=1)
    (logits,) = _run(folder / "graphs" / "tiny.onnx", data[None])
    expected = gallery.imager("tiny").reader(data[None])[0]
    assert (logits - expected).abs().max() < 1e-4


def _first(data: torch.Tensor, count: int) -> torch.Tensor:
    """What the page sends where fewer currents are measured: nan in the place of the others."""
    sent = data.clone()
    sent[count:] = torch.nan
    return sent


@pytest.mark.parametrize("count", [2, 3])
def test_a_graph_reads_as_few_currents_as_its_network(folder, gallery, count):
    data, reader = simulate(TWO, 3).difference[:, ::4], gallery.imager("tiny").reader
    assert (reader.fewest, reader.currents.count) == (2, 3)
    (logits,) = _run(folder / "graphs" / "tiny.onnx", _first(data, count)[None])
    assert (logits - reader(data[None, :count])[0]).abs().max() < 1e-4


def test_the_page_is_told_the_temperatures_for_each_number_of_currents(folder):
    (model,) = json.loads((folder / "settings.json").read_text())["models"]
    assert {count: given["temperatures"] for count, given in model["calibrations"].items()} == {
        "2": [2.0],
        "3": [1.0],
    }


@pytest.mark.parametrize("name", imaging.shipped())
def test_shipped_networks_take_nan_for_the_last_currents(name):
    """What is exported is this very function, and compared with every number of currents as it is written."""
    reader, data = imaging.load(name).reader, simulate(TWO, 3).difference
    for count in range(reader.fewest, reader.currents.count):
        assert torch.equal(reader(_first(data, count)[None]), reader(data[None, :count]))


def test_a_code_is_the_same_in_a_graph(monkeypatch, tmp_path):
    monkeypatch.setattr(gaussian, "_ROUNDS", (1,))  # a hundred steps make a large graph
    monkeypatch.setattr(gaussian, "_TAU_STEPS", 1)
    rows = torch.randn(12, 3, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).cumsum(-1)
    prior = GaussianPrior(rows.mean(0), rows, torch.zeros(12, dtype=torch.int64), 3e-4)
    codes, path = Codes(32, CurrentsConfig(count=3), prior), tmp_path / "codes.onnx"
    write_graph(_Coded(codes), path, ["codes"], difference=rows[:1])
    for count in (1, 2, 3):
        (found,) = _run(path, _first(rows[1], count)[None])
        torch.testing.assert_close(found, codes(rows[1:2, :count]), rtol=1e-4, atol=1e-4)


class _Coded(torch.nn.Module):
    def __init__(self, codes: Codes) -> None:
        super().__init__()
        self.codes = codes

    def forward(self, difference: torch.Tensor) -> torch.Tensor:
        return self.codes(difference)


@pytest.mark.parametrize("wrong", [1, 2, 3])
def test_a_graph_that_is_wrong_with_some_number_of_currents_is_refused(monkeypatch, gallery, tmp_path, wrong):
    """Three is the first to be looked at: a nan that comes later must not be lost."""
    trained, path = gallery.imager("tiny").reader, tmp_path / "network.onnx"
    trained = replace(trained, features=replace(trained.features, fewest=1))

    def run(_, difference):
        given = int(torch.isfinite(difference).all(-1).sum())
        return [torch.full((51, 51), torch.nan) if given == wrong else trained(difference)[0]]

    monkeypatch.setattr(graphs, "write_graph", lambda _, path, *__, **___: path.touch())
    monkeypatch.setattr(graphs, "run_graph", run)
    with pytest.raises(InputError, match="differs from PyTorch by nan"):
        graphs.write_network(trained, path)
    assert not path.exists()


def test_the_static_page_has_the_policy_and_no_other_addresses(folder):
    page = (folder / "index.html").read_text()
    assert "script-src 'self' 'wasm-unsafe-eval'" in page
    assert "http://" not in page
    assert "https://" not in page
    assert '"engine": "local"' in (folder / "settings.json").read_text()


def test_what_cannot_be_exported_is_refused_in_a_line(run_folder, tmp_path):
    with pytest.raises(InputError, match=r"\.onnx"):
        export_network(str(run_folder), tmp_path / "tiny.txt")
    with pytest.raises(InputError, match=r"ort\.wasm"):
        list(export_page(tmp_path / "page", Gallery(), tmp_path))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(InputError, match="not empty"):
        list(export_page(tmp_path / "full", Gallery(), tmp_path))


@pytest.mark.parametrize("given", ["", "nonsense", "file:///etc"])
def test_only_addresses_are_taken_for_a_registry(monkeypatch, given):
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", given or "undefined")
    assert runtime.registry() == "https://registry.npmjs.org/"
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://npm.example/sub")
    assert runtime.registry() == "https://npm.example/sub/"


@pytest.mark.parametrize(
    ("shapes", "bound"),
    [(SENT, 0.006), ([POLYGON, SENT[0]], 0.008), ([WORSE], 0.004), ([*SENT, OVERLAPPING], 0.01)],
    ids=["two", "polygon", "worse", "overlapping"],
)
def test_the_forward_solve_in_the_browser(browser, address, shapes, bound):
    page = browser.new_page()
    page.goto(address + "/icon.svg")
    found = page.evaluate(
        "async (shapes) => (await import('/compute/forward.js')).difference(shapes, 3, 200).map((r) => [...r])",
        shapes,
    )
    page.close()
    square = Square(200)
    exact = GridSolver(square).difference(files.from_dict({"shapes": shapes}), currents.cosine(square, 3))
    error = (torch.tensor(found, dtype=torch.float64) - exact).norm(dim=1) / exact.norm(dim=1)
    assert float(error.max()) < bound


def test_scores_noise_and_resampling_in_the_browser(browser, address):
    page = browser.new_page()
    page.goto(address + "/icon.svg")
    found = page.evaluate(
        """async () => {
          const { addNoise, resampled } = await import('/compute/boundary.js');
          const { scores } = await import('/compute/scores.js');
          const row = Float64Array.from({length: 400}, (_, k) => 1 + Math.floor(k / 200));
          const smooth = Float64Array.from({length: 256}, (_, k) => Math.cos(2 * Math.PI * k / 64));
          return {noise: [...addNoise([row], 0.1, 7)[0]], again: [...addNoise([row], 0.1, 7)[0]],
                  scores: scores([0.9, 0.2, 0.6, 0.1], [1, 0, 0, 0]), fine: [...resampled(smooth, 100)]};
        }"""
    )
    page.close()
    assert found["noise"] == found["again"]
    noise = torch.tensor(found["noise"]).reshape(2, 200)
    assert torch.allclose(noise.std(1), torch.tensor([0.1, 0.2]), rtol=0.15)
    assert found["scores"]["dice"] == pytest.approx(2 / 3)
    assert found["scores"]["l2"] == pytest.approx((81 * (0.01 + 0.04 + 0.36 + 0.01) / 103) ** 0.5)
    wave = torch.cos(2 * torch.pi * torch.arange(400) / 100)
    assert torch.allclose(torch.tensor(found["fine"]), wave, atol=2e-5)


@pytest.fixture(scope="module")
def site(folder):
    """The exported page with the real runtime, behind a plain file server."""
    try:
        runtime.place_runtime(folder / "runtime", None)
    except InputError as error:
        pytest.skip(f"onnxruntime-web is not to be had: {error}")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_the_static_page_computes_by_itself(browser, site, address):
    def scores(url):
        problems: list[str] = []
        page = browser.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        page.wait_for_selector(".result dd", timeout=60_000)
        cards = page.locator(".result").all()
        found = {card.get_attribute("data-name"): card.locator("dd").all_inner_texts()[:2] for card in cards}
        page.close()
        assert problems == []
        return found

    local, served = scores(site), scores(address)
    assert local.keys() == served.keys() == {"tiny", "direct sampling"}
    for name, values in served.items():
        assert [float(v) for v in local[name]] == pytest.approx([float(v) for v in values], abs=0.01)


def test_the_static_page_opens_a_measurement(browser, site, tmp_path):
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(Measurement.of_difference(simulate(FIRST, 3).difference[:, ::2]).to_dict()))
    page = browser.new_page()
    page.goto(site)
    page.wait_for_selector(".result dd", timeout=60_000)
    assert page.is_visible("#no-tanks")
    assert page.is_disabled('[name="mode"][value="tank"]')
    drawn = page.get_attribute('.result[data-name="direct sampling"] canvas', "aria-label")
    page.set_input_files("#file", file)
    page.wait_for_selector("#solver:text('measured.json')")
    opened = page.get_attribute('.result[data-name="direct sampling"] canvas', "aria-label")
    assert page.locator(".result dd").first.inner_text() == "–"
    assert _percent(opened) == pytest.approx(_percent(drawn), abs=0.2)
    file.write_text('{"points": [[0, 1]]}')
    page.set_input_files("#file", file)
    page.wait_for_selector("#banner:text('expected rows of numbers')")
    page.close()


def _percent(label: str) -> float:
    return float(label.split(": ")[1].split(" %")[0])


def test_a_network_is_exported_without_the_extra_of_the_page():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'starlette', 'pydantic', 'uvicorn'])); "
        "import eitlens.web.export, eitlens.web.gallery"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
