"""Heavy drawings on every worker of the page's server: how long somebody else waits for a light one.

    python benchmarks/heavy_drawings.py --model uit-small [--heavy 2] [--out results/heavy_drawings.json]

Three light requests alone, then one while heavy ones are under way, twelve zigzag polygons of conductivities from 10³
to 10⁻³, then one after senders of heavy drawings have hung up. Printed are seconds and statuses. It fails where a
light one takes 2 s, or a heavy one is neither answered nor refused within its budget.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from load import free_port, wait_for

from eitlens.files import write_json
from eitlens.web.jobs import Jobs

LIGHT = [{"kind": "ellipse", "center": [0.3, 0.2], "semi_axes": [0.3, 0.2], "conductivity": 10.0}]
BEGIN, LIMIT = 0.5, 2.0
"""Seconds after which the heavy ones are under way, and that a light one may take."""


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


async def measure(url: str, model: str, count: int) -> dict[str, Any]:
    """Each case: seconds and statuses."""
    told: dict[str, Any] = {"light, alone": [await ask(url, "light", LIGHT, model) for _ in range(3)]}
    for hang_up in (False, True):
        heavy = [asyncio.ensure_future(ask(url, f"heavy-{k}-{hang_up}", HEAVY, model)) for k in range(count)]
        await asyncio.sleep(BEGIN)
        if hang_up:
            for one in heavy:
                one.cancel()
        case = "light, after heavy ones have hung up" if hang_up else "light, beside heavy ones"
        told[case] = await ask(url, "light", LIGHT, model)
        if not hang_up:
            told["the heavy ones"] = await asyncio.gather(*heavy)
    return told | {"load": [round(each, 1) for each in os.getloadavg()]}


def missed(told: dict[str, Any]) -> list[str]:
    """Which bars were missed."""
    light = [told["light, beside heavy ones"], told["light, after heavy ones have hung up"]]
    bars = {
        f"a light one takes {LIMIT:g} s": any(seconds > LIMIT or status != 200 for seconds, status in light),
        "a heavy one is neither answered nor refused within its budget": any(
            seconds > Jobs.longest_wait + Jobs.budget or status not in (200, 422, 503)
            for seconds, status in told["the heavy ones"]
        ),
    }
    return [bar for bar, broken in bars.items() if broken]


def main() -> None:
    """Start a server and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="uit-small", help="name or folder of a trained network")
    parser.add_argument("--heavy", type=int, default=2, help="heavy requests at once")
    parser.add_argument("--out", type=Path, help="a file for what is told")
    given, port = parser.parse_args(), free_port()
    command = [sys.executable, "-m", "eitlens", "serve", "--model", given.model, "--port", str(port)]
    server = subprocess.Popen(command)
    try:
        wait_for(port)
        told = asyncio.run(measure(f"http://127.0.0.1:{port}", given.model, given.heavy))
    finally:
        server.terminate()
        server.wait(10)
    told["missed"] = missed(told)
    print(json.dumps(told, indent=1))
    if given.out is not None:
        write_json(given.out, told)
    sys.exit(1 if told["missed"] else 0)


if __name__ == "__main__":
    main()
