"""Fifty people drawing at once: does the page's server stay quick, refuse politely and keep its memory?

Each client draws again a second after its last answer, or when Retry-After says so; where the page knows tanks, every
second one draws in a tank. Told at the end: answers, how long they took, refusals, anything else (there must be
none), what the server's memory did, and how busy the machine was. Every answer takes
and gives back some 30 MiB, so two moments say nothing: medians over the thirds of the time do, the first of them
left out as a warm-up, and so does the highest memory ever in use.

    python benchmarks/load.py --model FOLDER_OR_NAME [--clients 50] [--seconds 60]
"""

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from eitlens.files import write_json

P95, FLAT = 5.0, 1.05
_START, _SAMPLING = 60.0, 0.5


@dataclass
class Record:
    """What all clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def ellipses(rng: random.Random) -> list[dict[str, Any]]:
    """One to three ellipses, and now and then a triangle, which takes the slower solver."""
    places = rng.sample([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)], rng.randint(1, 3))
    shapes: list[dict[str, Any]] = [
        {
            "kind": "ellipse",
            "center": [x + rng.uniform(-0.1, 0.1), y + rng.uniform(-0.1, 0.1)],
            "semi_axes": [rng.uniform(0.1, 0.3), rng.uniform(0.1, 0.2)],
            "angle": rng.uniform(0, 3),
            "conductivity": 10.0,
        }
        for x, y in places
    ]
    if rng.random() < 0.2:
        vertices = [[-0.2, -0.2], [0.25, -0.1], [rng.uniform(-0.2, 0.2), 0.2]]
        shapes.append({"kind": "polygon", "vertices": vertices, "conductivity": 10.0})
    return shapes


def square(number: int, rng: random.Random, model: str) -> tuple[str, dict[str, Any]]:
    """A drawing in the paper's square, and where it is sent."""
    asked = {"client": f"client-{number}", "shapes": ellipses(rng), "currents": 3, "tau": 0.05}
    return "/api/drawing", asked | {"seed": rng.randrange(10**6), "models": [model]}


def tank(number: int, rng: random.Random, method: str) -> tuple[str, dict[str, Any]]:
    """A drawing in a tank, and where it is sent."""
    place = {"center": [rng.uniform(-0.4, 0.4), rng.uniform(-0.4, 0.4)], "semi_axes": [0.2, 0.15]}
    kind = {"body": "disk", "electrodes": 16, "coverage": 0.5, "pattern": "adjacent"}
    shapes = [{"kind": "ellipse", "conductivity": rng.choice([0.1, 10.0])} | place]
    asked = {"client": f"client-{number}", "tank": kind, "shapes": shapes, "snr": 60.0}
    return "/api/tank", asked | {"seed": rng.randrange(10**6), "methods": [method]}


async def draw(
    number: int, http: httpx.AsyncClient, known: dict[str, Any], until: float, record: Record
) -> None:
    """One client, until the time is over."""
    rng = random.Random(number)
    tanks = "tank" in known and number % 2 == 1
    name = (known["tank"]["methods"] if tanks else known["models"])[0]["name"]
    await asyncio.sleep(rng.random())
    while time.monotonic() < until:
        where, question = (tank if tanks else square)(number, rng, name)
        start = time.monotonic()
        answer = await http.post(where, json=question)
        record.statuses[answer.status_code] += 1
        wait = 1.0
        if answer.status_code == 200:
            record.seconds.append(time.monotonic() - start)
        elif answer.status_code == 503 and "retry-after" in answer.headers:
            wait = float(answer.headers["retry-after"])
        else:
            record.problems.append(f"{answer.status_code}: {answer.text[:200]}")
        await asyncio.sleep(wait)


async def crowd(address: str, pid: int, clients: int, seconds: float) -> dict[str, Any]:
    """All clients together, and the server's memory beside them."""
    record, sizes, peaks = Record(), [], []
    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as http:
        known = (await http.get("/settings.json")).json()
        begun = time.monotonic()
        tasks = [asyncio.ensure_future(draw(k, http, known, begun + seconds, record)) for k in range(clients)]
        while time.monotonic() < begun + seconds:
            await asyncio.sleep(_SAMPLING)
            now = memory(pid)
            sizes.append(now["VmRSS"])
            peaks.append(now["VmHWM"])
        await asyncio.gather(*tasks)
    ordered = sorted(record.seconds)
    return {
        "clients": clients,
        "tanks": clients // 2 if "tank" in known else 0,
        "load": [round(each, 1) for each in os.getloadavg()],
        "seconds": seconds,
        "answers": len(ordered),
        "refused": record.statuses[503],
        "problems": record.problems[:5],
        "median_s": ordered[len(ordered) // 2],
        "p95_s": ordered[int(0.95 * len(ordered))],
        "largest_s": ordered[-1],
        "memory_mib": trend(sizes),
        "peak_mib": {"after_a_third": peaks[len(peaks) // 3], "end": peaks[-1]},
    }


def trend(sizes: Sequence[float]) -> dict[str, Any]:
    """The medians of three thirds, and the least and largest after the first of them."""
    third = len(sizes) // 3
    medians = [median(part) for part in (sizes[:third], sizes[third : 2 * third], sizes[2 * third :])]
    return {"medians_of_thirds": medians, "least": min(sizes[third:]), "largest": max(sizes[third:])}


def memory(pid: int) -> dict[str, float]:
    """Resident memory of a process, now and at its highest, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}


def missed(told: dict[str, Any]) -> list[str]:
    """Which bars were missed."""
    _, second, last = told["memory_mib"]["medians_of_thirds"]
    bars = {
        "an answer that is neither 200 nor 503 with Retry-After": bool(told["problems"]),
        f"p95 over {P95:g} s": told["p95_s"] >= P95,
        f"memory grows by more than {FLAT - 1:.0%} from the second third to the last": last >= FLAT * second,
        f"highest memory grows by more than {FLAT - 1:.0%} after the first third": (
            told["peak_mib"]["end"] >= FLAT * told["peak_mib"]["after_a_third"]
        ),
    }
    return [bar for bar, broken in bars.items() if broken]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Start a server, let the crowd at it, print what came out; fail where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="name or folder of a trained network")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, help="A file for what is told, as results/load.json.")
    given = parser.parse_args()
    port = free_port()
    command = [sys.executable, "-m", "eitlens", "serve", "--model", given.model, "--port", str(port)]
    server = subprocess.Popen(command)
    try:
        wait_for(port)
        told = asyncio.run(crowd(f"http://127.0.0.1:{port}", server.pid, given.clients, given.seconds))
    finally:
        server.terminate()
        server.wait(10)
    told["missed"] = missed(told)
    print(json.dumps(told, indent=1))
    if given.out is not None:
        write_json(given.out, told)
    sys.exit(1 if told["missed"] else 0)


def wait_for(port: int) -> None:
    """Until somebody listens."""
    end = time.monotonic() + _START
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"no server on port {port} after {_START:g} s")


if __name__ == "__main__":
    main()
