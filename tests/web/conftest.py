"""A small network, the application around it, a server on a free port, and a browser where there is one."""

import json
import shutil
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from eitlens import models
from eitlens.feature import Features
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import Imager
from eitlens.imaging.calibration import Calibration
from eitlens.web.app import create
from eitlens.web.connections import Connection
from eitlens.web.gallery import Gallery
from eitlens.web.jobs import Jobs

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
_PATIENT = 60.0  # seconds for a request: the machine of the tests may be busy
HOW = "no Chromium: the tests of the page need it (on Debian: apt-get install -y chromium)"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of a run, with an untrained network of the smallest size."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    torch.manual_seed(0)
    network = models.create("unet", currents=3, width=8)  # the quickest to export
    models.save(network, folder / "best")
    features = Features(n=50, currents=CurrentsConfig(count=3), scale=(0.05,) * 9, fewest=2)
    (folder / "features.json").write_text(json.dumps(features.to_dict()))
    return folder


@pytest.fixture(scope="session")
def gallery(run_folder: Path) -> Gallery:
    two = Calibration(temperatures=(2.0,))
    return Gallery({"tiny": replace(Imager.load(run_folder), calibration=Calibration(fewer={2: two}))})


@pytest.fixture
def client(gallery: Gallery) -> Iterator[Any]:
    from starlette.testclient import TestClient

    with TestClient(
        create(gallery, Jobs(workers=1, budget=_PATIENT, longest_wait=_PATIENT)), base_url="http://127.0.0.1"
    ) as made:
        yield made


@pytest.fixture(scope="session")
def address(gallery: Gallery) -> Iterator[str]:
    """A running server."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    app = create(gallery, Jobs(workers=1, budget=_PATIENT, longest_wait=_PATIENT))
    server = uvicorn.Server(uvicorn.Config(app, http=Connection, ws="none", log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        warnings.warn(HOW, stacklevel=1)
        pytest.skip(HOW)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
