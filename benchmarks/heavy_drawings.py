"""Heavy drawings on every worker of the page's server: how long somebody else waits for a light one.

    python benchmarks/heavy_drawings.py --model uit-small

Three light requests alone, then one while every worker is busy with twelve zigzag polygons of conductivities from 10³
to 10⁻³, then one after senders of heavy drawings have hung up. Printed are seconds and statuses.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from typing import Any

import httpx
from load import free_port, wait_for

from eitlens.device import available_cores

LIGHT = [{"kind": "ellipse", "center": [0.3, 0.2], "semi_axes": [0.3, 0.2], "conductivity": 10.0}]
BEGIN = 0.5
"""Seconds after which the heavy ones are under way."""


def zigzag(row: int, column: int) -> list[list[float]]:
    """A strip that goes up and down in its place among twelve."""
    x, y = -0.92 + 0.48 * column, -0.6 + 0.6 * row
    line = [[x + 0.08 * k, y + (0.15 if k % 2 else -0.15)] for k in range(6)]
    return line + [[a, b + 0.16] for a, b in reversed(line)]


HEAVY = [
    {"kind": "polygon", "vertices": zigzag(k // 4, k % 4), "conductivity": 10.0 ** (3 - 6 * k / 11)}
    for k in range(12)
]


async def ask(url: str, client: str, shapes: list[dict[str, Any]], model: str) -> tuple[float, int]:
    """Seconds until the answer, and its status."""
    question = {"client": client, "shapes": shapes, "currents": 3, "tau": 0.0, "models": [model]}
    start = time.perf_counter()
    async with httpx.AsyncClient(timeout=120) as http:
        answer = await http.post(f"{url}/api/drawing", json=question | {"seed": time.time_ns() % 2**31})
    return round(time.perf_counter() - start, 2), answer.status_code


async def measure(url: str, model: str) -> None:
    """Print each case."""
    print("light, alone:", [await ask(url, "light", LIGHT, model) for _ in range(3)], flush=True)
    many = range(available_cores())
    for hang_up in (False, True):
        heavy = [asyncio.ensure_future(ask(url, f"heavy-{k}-{hang_up}", HEAVY, model)) for k in many]
        await asyncio.sleep(BEGIN)
        if hang_up:
            for one in heavy:
                one.cancel()
        found = await ask(url, "light", LIGHT, model)
        print("light, after heavy ones have hung up:" if hang_up else "light, beside heavy ones:", found)
        if not hang_up:
            print("the heavy ones:", await asyncio.gather(*heavy), flush=True)


def main() -> None:
    """Start a server and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="uit-small", help="name or folder of a trained network")
    model, port = parser.parse_args().model, free_port()
    command = [sys.executable, "-m", "eitlens", "serve", "--model", model, "--port", str(port)]
    server = subprocess.Popen(command)
    try:
        wait_for(port)
        asyncio.run(measure(f"http://127.0.0.1:{port}", model))
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
