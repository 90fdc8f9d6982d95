"""What the studies of the page's server share: a running server, drawings to send, and the memory of processes."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_UP = 120.0
ELLIPSE = {
    "kind": "ellipse",
    "center": [0.3, 0.2],
    "semi_axes": [0.3, 0.2],
    "angle": 0.4,
    "conductivity": 10.0,
}
TRIANGLE = {"kind": "polygon", "vertices": [[-0.6, -0.6], [-0.1, -0.5], [-0.3, -0.1]], "conductivity": 10.0}


def drawing(**changes: Any) -> dict[str, Any]:
    """A good request, with changes."""
    made = {
        "client": "me",
        "shapes": [ELLIPSE],
        "currents": 3,
        "tau": 0.0,
        "seed": 1,
        "models": ["uit-small"],
    }
    return made | changes


@contextmanager
def served(model: str, log: IO[str]) -> Iterator[tuple[int, int]]:
    """The port and the process of a server, which stops with the block; what it says goes into the log."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "eitlens", "serve", "--model", model, "--port", str(port)]
    server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait(port, server)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(30)


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _UP
    while time.monotonic() < end and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"no server on port {port}")


def descendants(pid: int) -> list[int]:
    """The processes that a process has begun, and theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        found += [one for child in children for one in (child, *descendants(child))]
    return found


def highest(pid: int) -> float:
    """The highest resident memory of a process so far, in MiB; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
