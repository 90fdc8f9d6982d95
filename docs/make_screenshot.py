"""docs/images/page.png and page-tank.png, screenshots of `eitlens serve`: `python docs/make_screenshot.py`.

It needs Chromium and the extra `dev`.
"""

import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from make_images import IMAGES, shrink
from playwright.sync_api import sync_playwright

from eitlens.web.app import create
from eitlens.web.gallery import Gallery
from eitlens.web.jobs import Jobs

SIZE, TALL = {"width": 1440, "height": 900}, {"width": 1440, "height": 1210}
PATIENT = 90_000  # milliseconds


def main() -> None:
    """Serve, wait for the images, keep the pictures."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    app = create(Gallery.open(), Jobs())
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}")
        page.wait_for_selector(".result dd", timeout=PATIENT)
        page.get_by_text("uit-small", exact=True).click()
        page.wait_for_selector(".result.busy", state="detached", timeout=PATIENT)
        page.screenshot(path=f"{folder}/page.png")
        page.set_viewport_size(TALL)
        page.locator('[name="mode"][value="tank"]').check(force=True)
        page.wait_for_selector('.result[data-name="gauss-newton"] dd', timeout=PATIENT)
        page.screenshot(path=f"{folder}/page-tank.png")
        browser.close()
        for name in ("page.png", "page-tank.png"):
            shrink(Path(folder) / name, IMAGES / name)
    server.should_exit = True
    thread.join(10)


if __name__ == "__main__":
    main()
