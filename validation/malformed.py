"""Malformed requests and files at a running server: 3,000 of them, bombs included.

    python validation/malformed.py [--count 3000] [--out results/malformed.json]

Drawings with something odd in them, measurement files of every format damaged by chance, files made to take memory, and
bytes that are hardly HTTP. Asserted: no status 500 and no other that is not known, no traceback in the server's log, no
process above 1 GiB; a good drawing is answered afterwards.
"""

import argparse
import asyncio
import io
import json
import os
import random
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from damaged_files import crafted, damaged, samples
from servers import ELLIPSE, TRIANGLE, descendants, drawing, highest, served
from study import expect

from eitlens.files import write_json

KNOWN = {200, 400, 404, 405, 408, 409, 413, 415, 422, 431, 503}
CLOSED = 0
"""Where a status would stand, had the server not closed the connection instead of answering."""
FILES = "application/octet-stream"
TOGETHER = 4
"""Clients at once."""
_TRIES = 10
"""Of a request that is refused because the server is busy."""
_GIB = 1024.0  # MiB
ODD: list[Any] = [None, True, "", "NaN", -1, 1e308, -1e-308, 2**70, float("nan"), [], {}, [[]], "\ud800"]
ODD += ["a" * 5000, [[0, 0]] * 100, [1e9, -1e9], {"kind": "ellipse"}, 0, 0.5, [1, 2, 3]]
RAW = [
    b"\x00" * 400,
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"POST /api/drawing HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /api/drawing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0",
    b"POST /api/drawing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    b"POST /api/drawing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"[" * 65536 + b"\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
    b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300),
    b"GET /%ff%00%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50,
]


@dataclass
class Seen:
    """What came back: statuses by kind of request, and the highest memory of each process in MiB."""

    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    memory: dict[int, float] = field(default_factory=dict)

    def note(self, kind: str, status: int, text: str = "") -> None:
        """Count an answer, and keep one that must not be."""
        self.statuses.setdefault(kind, Counter())[status] += 1
        if status not in KNOWN | {CLOSED} or "Traceback" in text:
            self.wrong.append(f"{kind}: {status} {text[:200]}")


def bombs() -> dict[str, bytes]:
    """Files that are small and claim, or unpack to, much."""
    return {
        "chunk.h5": _hdf5(chunk=1 << 25),
        "item.h5": _hdf5(item=1 << 31),
        "zeros.h5": _zeros(),
    } | _matlab()


def _hdf5(chunk: int = 0, item: int = 0) -> bytes:
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file["points"] = np.ones((8, 2))
        if chunk:
            shape: dict[str, Any] = {"maxshape": (None, 2), "chunks": (chunk // 2, 2)}
            data = file.create_dataset("currents", (8, 2), "f8", compression=9, **shape)
            data[:] = 1.0
        if item:
            file.create_dataset("domain", (), f"S{item - 1}")
    return stream.getvalue()


def _zeros() -> bytes:
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for name in ("points", "currents", "voltages", "reference"):
            file.create_dataset(name, (1 << 24,), "f8", chunks=(1 << 22,), compression=9, fillvalue=1.0)
    return stream.getvalue()


def _matlab() -> dict[str, bytes]:
    """Elements of zeros: a small variable with a long name, and one that is long itself."""
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    found = {}
    for name, size in (("long.mat", 1 << 30), ("name.mat", 1 << 29)):
        press = zlib.compressobj(9)
        head = np.array([14, size], "<u4").tobytes()
        body = press.compress(head)
        for _ in range(size >> 24):
            body += press.compress(bytes(1 << 24))
        body += press.flush()
        found[name] = header + np.array([15, len(body)], "<u4").tobytes() + body
    return found


def requests(count: int) -> Iterator[tuple[str, Any]]:
    """Kinds and contents: two in five drawings, two in five files, one in five bytes; bombs now and then."""
    draw, sound = random.Random(3), samples()
    with tempfile.TemporaryDirectory() as folder:
        decoy = Path(folder) / "decoy.h5"
        decoy.write_bytes(sound["points.h5"])
        harmful = list((crafted(decoy) | bombs()).items())
        names = list(sound)
        for k in range(count):
            if k % 60 == 7:
                yield "bomb", harmful[k // 60 % len(harmful)]
            elif k % 5 < 2:
                yield "drawing", _odd_drawing(draw)
            elif k % 5 < 4:
                name = names[k % len(names)]
                yield "file", (name, damaged(sound[name], draw))
            else:
                raw = bytearray(draw.choice(RAW))
                for _ in range(draw.choice([0, 0, 1, 5])):
                    raw[draw.randrange(len(raw))] = draw.randrange(256)
                yield "bytes", bytes(raw)


def _odd_drawing(draw: random.Random) -> bytes:
    if draw.random() < 0.02:
        return b"[" * 60_000
    body = json.dumps(_odd(drawing(shapes=[ELLIPSE, TRIANGLE], quick=True), draw))
    content = body.encode("utf-8", "surrogatepass")
    return damaged(content, draw) if draw.random() < 0.3 else content


def _odd(value: Any, draw: random.Random) -> Any:
    """The same with something odd somewhere in it."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        return value | {key: _odd(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        k = draw.randrange(len(value))
        return [*value[:k], _odd(value[k], draw), *value[k + 1 :]]
    return draw.choice(ODD)


async def attack(port: int, pid: int, count: int) -> Seen:
    """Send all, a few clients at once."""
    seen, left = Seen(), enumerate(requests(count))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:

        async def client(name: str) -> None:
            for k, (kind, content) in left:
                await _send(http, port, kind, content, name, seen)
                if k % 200 == 199:
                    print(f"  {k + 1} of {count}", flush=True)

        watch = asyncio.ensure_future(_watch(pid, seen))
        await asyncio.gather(*(client(f"client-{number}") for number in range(TOGETHER)))
        watch.cancel()
        answer = await http.post("/api/drawing", json=drawing(client="good"))
        seen.note("good", answer.status_code, answer.text)
    return seen


async def _watch(pid: int, seen: Seen) -> None:
    while True:
        for one in (pid, *descendants(pid)):
            seen.memory[one] = max(seen.memory.get(one, 0.0), highest(one))
        await asyncio.sleep(0.02)


async def _send(http: httpx.AsyncClient, port: int, kind: str, content: Any, name: str, seen: Seen) -> None:
    if kind == "bytes":
        seen.note(kind, await _raw(port, content))
        return
    where, kind_of = f"/api/measurement?client={name}&models=uit-small", FILES
    if kind == "drawing":
        where, kind_of = "/api/drawing", "application/json"
    body = content if kind == "drawing" else content[1]
    for _ in range(_TRIES):
        try:
            answer = await http.post(where, content=body, headers={"content-type": kind_of})
        except httpx.TransportError:
            seen.note(kind, CLOSED)
            return
        seen.note(kind, answer.status_code, answer.text)
        if answer.status_code != 503:
            return
        await asyncio.sleep(float(answer.headers["retry-after"]))


async def _raw(port: int, content: bytes) -> int:
    """The status of the answer to some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(content)
        writer.write_eof()
        first = await asyncio.wait_for(reader.readline(), 30)
    except OSError:
        return CLOSED
    finally:
        writer.close()
    return int(first.split()[1]) if first.startswith(b"HTTP/1.1 ") else CLOSED


def main() -> None:
    """Start a server, attack it, and write what came back."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=3000)
    options.add_argument("--out", type=Path, default=Path("results/malformed.json"))
    given = options.parse_args()
    print("Malformed requests and files", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as log:
        with served("uit-small", log) as (port, pid):
            seen = asyncio.run(attack(port, pid, given.count))
            server = highest(pid)
        log.seek(0)
        told = log.read()
    children = max((mib for one, mib in seen.memory.items() if one != pid), default=0.0)
    statuses = {
        kind: {str(status): n for status, n in sorted(found.items())} for kind, found in seen.statuses.items()
    }
    print(json.dumps(statuses, indent=1))
    expect(not seen.wrong, f"every status is known {seen.wrong[:3]}")
    expect("Traceback" not in told, f"no traceback in the log {told[-2000:] if 'Traceback' in told else ''}")
    expect(seen.statuses["good"] == {200: 1}, "a good drawing is answered afterwards")
    expect(
        max(server, children) < _GIB,
        f"the server took {server:.0f} MiB at most, a reader of files {children:.0f}",
    )
    found = {
        "requests": given.count,
        "statuses": statuses,
        "MiB": {"server": round(server), "reader": round(children)},
    }
    busy = {"seconds": round(time.monotonic() - began), "load": [round(each, 1) for each in os.getloadavg()]}
    write_json(given.out, found | busy)


if __name__ == "__main__":
    main()
