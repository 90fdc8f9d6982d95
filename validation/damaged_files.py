"""Damaged measurement files: 2,000 of them over all readers, each one line or a measurement, and nothing else.

    python validation/damaged_files.py [--count 2000] [--out results/damaged_files.json]

A small sound file of every format is damaged by chance: bytes changed, numbers made huge, pieces cut out, repeated or
swapped, the end cut off. A few more are made by hand to do harm: archives that claim to hold terabytes, links to other
files, lists in lists. Asserted: each is a measurement or an `InputError` of one line; neither this process nor the one
that reads .mat and .h5 grows above 1 GiB; no file but those of the interpreter is opened, decoys least of all.
"""

import argparse
import ctypes
import io
import json
import os
import pickle
import random
import resource
import struct
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from study import expect

from eitlens.domain import Disk, Square
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError
from eitlens.files import write_json
from eitlens.forward import currents
from eitlens.measure import Measurement, Setup
from eitlens.measure.formats import frames_table, hdf5, matlab, npz, table, text
from eitlens.measure.guard import MOST_LINES
from eitlens.measure.isolation import SafeParser
from eitlens.measure.simulation import simulated
from eitlens.phantom import Phantom

SETUP = Setup(electrodes=16, pattern="adjacent")
NUMBERS = ("eidors.mat", "frames.txt", "frames.npy", "short numbers.txt", "short lines.txt")
"""Those that need a setup."""
_GIB = 1 << 20  # kibibytes, in which the system counts
_IN_OPEN, _IN_NONBLOCK = 0x20, 0x800  # of Linux's inotify
_EDGES = [
    b"0",
    b"-1",
    b"1e308",
    b"99999999999999999999",
    b"nan",
    b"\xff\xff\xff\x7f",
    b"\x00",
    b"{",
    b"::",
    b"\n",
]


def samples() -> dict[str, bytes]:
    """A small sound file of every format."""
    electrodes = Electrodes.even(Disk(200, scale=0.1), 8)
    tank = simulated(electrodes, Pattern.named("adjacent", 8), Phantom([]), snr=60.0)
    square = Square(16)
    points = Measurement.of_points(square.boundary(), currents.cosine(square, 2), currents.cosine(square, 2))
    found = {"tank.json": text.write(tank.to_dict()), "points.json": text.write(points.to_dict())}
    for name, measurement, sheet in (("tank", tank, frames_table), ("points", points, table)):
        values = measurement.to_arrays()
        for suffix, form in ((".npz", npz), (".csv", sheet), (".h5", hdf5), (".mat", matlab)):
            found[name + suffix] = form.write(values)
    return found | _devices()


def _devices() -> dict[str, bytes]:
    draw = np.random.default_rng(1)
    frames = draw.normal(size=(3, 256))
    ring = np.eye(32) - np.roll(np.eye(32), 1, 1)
    ktc = {"Uel": draw.normal(size=(992, 1)), "Inj": ring.T, "Mpat": ring[:31].T}
    uef = {
        "Uel": draw.normal(size=(16, 16)),
        "CurrentPattern": np.eye(16) - 1 / 16,
        "MeasPattern": np.eye(16) - 1 / 16,
    }
    lines = [f"{v:.6g} {v / 9:.6g} 0.0003" for v in draw.normal(size=209)]
    header = ["#MEAS", "#Length, 208", "#Electrodes, 16", "#Strategy, Adjacent , Partial Model", "#Start"]
    stream = io.BytesIO()
    np.save(stream, frames[:, :208])
    return {
        "ktc.mat": matlab.write(ktc),
        "uef.mat": matlab.write(uef),
        "eidors.mat": matlab.write({"vh": frames[0], "vi": frames[1] + 1j}),
        "act3.txt": "\n".join(["0.2", *map(repr, draw.normal(size=992).tolist())]).encode(),
        "manchester.txt": "\n".join([*header, *lines]).encode(),
        "sciospec.eit": _sciospec(draw),
        "draeger.eit": _draeger(draw),
        "frames.get": frames.astype("<f4").tobytes(),
        "frames.txt": "\n".join(" ".join(map(repr, row)) for row in frames.tolist()).encode(),
        "frames.npy": stream.getvalue(),
    }


def _sciospec(draw: np.random.Generator) -> bytes:
    told = ["1.0"] * 5
    header = [
        "18",
        "2",
        "setup",
        "2025.02.12. 13:19:58.685",
        "1e4",
        "1e4",
        "1",
        "1",
        "0.005",
        "20.0",
        "0.0",
        *told,
    ]
    header += [
        "MeasurementChannels: " + ",".join(map(str, range(1, 17))),
        "MeasurementChannelsIndependent: 1",
    ]
    for k in range(16):
        header += [f"{k + 1} {(k + 1) % 16 + 1}", "\t".join(map(repr, draw.normal(size=64).tolist()))]
    return "\n".join(header).encode()


def _draeger(draw: np.random.Generator, frames: int = 3) -> bytes:
    header = (
        b"---Draeger EIT-Software V1.20---\r\nFramerate [Hz]:    20\r\nAmplitude [uA]:    8785\r\n"
        + b"*" * 200
    )
    body = b""
    for k in range(frames):
        numbers = np.concatenate([[0.6 + k * 0.05 / 86400], 1 + draw.random(685)])
        body += numbers.tobytes() + bytes(5495 - 8 * 686)
    preamble = struct.pack("<3i", 51, 12 + len(header) - 8, 1557)
    return preamble + header + body


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The file after an accident or two."""
    found = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4])):
        at, much = draw.randrange(len(found)), draw.choice([1, 4, 64, 1024])
        piece = bytes(found[at : at + much])
        kind = draw.randrange(6)
        if kind == 0:
            for _ in range(much):
                found[draw.randrange(min(len(found), draw.choice([64, 600, len(found)])))] = draw.randrange(
                    256
                )
        elif kind == 1:
            edge = draw.choice(_EDGES)
            found[at : at + len(edge)] = edge
        elif kind == 2:
            del found[at : at + much]
        elif kind == 3:
            found[at:at] = piece * draw.choice([1, 2, 50])
        elif kind == 4:
            del found[at:]
        else:
            to = draw.randrange(len(found))
            found[to : to + len(piece)] = piece
        found = found or bytearray(b"\x00")
    return bytes(found)


def crafted(decoy: Path) -> dict[str, bytes]:
    """Files that are made to do harm: what they claim is false, or points at a decoy."""
    huge = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    start = (str(huge) + " " * (117 - len(str(huge))) + "\n").encode()
    claim = b"\x93NUMPY\x01\x00" + len(start).to_bytes(2, "little") + start
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", bytes(200 << 20))
    objects = io.BytesIO()
    np.savez(objects, points=np.array([{"a": decoy}], dtype=object))
    found = {
        "claims.npy": claim,
        "bomb.npz": bomb.getvalue(),
        "objects.npz": objects.getvalue(),
        "pickle": pickle.dumps(decoy),
        "lists.json": b"[" * 5_000_000,
        "empty lists.json": b'{"points": [' + b"[]," * 10_000_000 + b"[]]}",
        "short numbers.json": b'{"points": [' + b"1.5," * 8_000_000 + b"1]}",
        "short numbers.txt": b"1 " * 16_000_000,
        "short lines.txt": b"1\n" * (MOST_LINES - 1),
        "columns.csv": b"a," * 16_000_000,
        "cells.csv": b"x,y\n" + b"12,34\n" * (MOST_LINES - 2),
        "channels.eit": b"9\nsetup\n0\n1\n1\n0\n999999999\n1\n1\n1 2\n1 2\n",
        "header.eit": struct.pack("<3i", 51, 2**31 - 1, 0) + b"---Draeger EIT-Software" + bytes(10_000),
        "frames.get": np.ones(256 * 40_000, "<f4").tobytes(),
    }
    return found | _links(decoy)


def _links(decoy: Path) -> dict[str, bytes]:
    """HDF5 files that point at another file in every way there is."""
    import h5py

    found: dict[str, bytes] = {}
    for name in ("link", "storage", "virtual", "huge"):
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            if name == "link":
                file["points"] = h5py.ExternalLink(str(decoy), "points")
            elif name == "storage":
                file.create_dataset("points", (8, 2), "f8", external=[(str(decoy), 0, 128)])
            elif name == "virtual":
                layout = h5py.VirtualLayout((8, 2), "f8")
                layout[:] = h5py.VirtualSource(str(decoy), "points", (8, 2))
                file.create_virtual_dataset("points", layout)
            else:
                file.create_dataset("points", (1 << 20, 1 << 20), "f8", chunks=(1024, 1024))
        found[f"{name}.h5"] = stream.getvalue()
    return found


class Opened:
    """Watches what is opened while it is looked at: by this process, and of the decoys by any."""

    def __init__(self, decoys: Path) -> None:
        self.paths: list[str] = []
        self.on = False
        sys.addaudithook(self._note)
        self.system = ctypes.CDLL(None, use_errno=True)
        self.watch = self.system.inotify_init1(_IN_NONBLOCK)
        self.system.inotify_add_watch(self.watch, os.fsencode(decoys), _IN_OPEN)

    def _note(self, event: str, told: tuple[Any, ...]) -> None:
        if self.on and event == "open" and isinstance(told[0], str | bytes):
            path = os.fsdecode(told[0])
            if not path.endswith((".py", ".pyc", ".so")) and not path.startswith(("/proc/", "/dev/")):
                self.paths.append(path)

    def decoys(self) -> int:
        """How often a decoy was opened."""
        try:
            return len(os.read(self.watch, 1 << 16))
        except BlockingIOError:
            return 0


def outcome(parser: SafeParser, content: bytes, name: str) -> str:
    """`read`, `refused`, or what must not happen."""
    try:
        parser(content, name, SETUP if name in NUMBERS else None)
    except InputError as error:
        said = str(error)
        return "refused" if said.startswith(name) and len(said.splitlines()) == 1 else f"bad line: {said!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "read"


def main() -> None:
    """Damage, read, count and assert."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--out", type=Path, default=Path("results/damaged_files.json"))
    given = options.parse_args()
    print("Damaged measurement files", flush=True)
    sound, draw, parser = samples(), random.Random(1), SafeParser()
    for name, content in sound.items():
        expect(outcome(parser, content, name) == "read", f"{name} is read as it is")
    counts: dict[str, Counter[str]] = {name: Counter() for name in sound}
    with tempfile.TemporaryDirectory() as folder:
        decoy = Path(folder) / "decoy.h5"
        decoy.write_bytes(sound["points.h5"])
        harmful = crafted(decoy)
        opened = Opened(Path(folder))
        opened.on = True
        for k in range(given.count):
            name = list(sound)[k % len(sound)]
            counts[name][outcome(parser, damaged(sound[name], draw), name)] += 1
            if k % 200 == 199:
                print(f"  {k + 1} of {given.count}", flush=True)
        by_hand = {name: outcome(parser, content, name) for name, content in harmful.items()}
        opened.on = False
        touched = opened.decoys()
    parser.close()
    own, child = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(json.dumps(by_hand, indent=1))
    wrong = {kind for found in counts.values() for kind in found} | set(by_hand.values())
    expect(wrong <= {"read", "refused"}, f"every file is a measurement or one line {sorted(wrong)[:5]}")
    expect(not opened.paths and not touched, f"no other file is opened {opened.paths[:3]}")
    expect(own < _GIB, f"this process took {own / 1024:.0f} MiB at most")
    expect(child < _GIB, f"the process for .mat and .h5 took {child / 1024:.0f} MiB at most")
    told = {name: {kind: found[kind] for kind in ("read", "refused")} for name, found in counts.items()}
    total = {
        "files": given.count,
        "by hand": len(by_hand),
        "MiB": {"reader": round(own / 1024), "child": round(child / 1024)},
    }
    write_json(given.out, total | {"formats": told, "harmful": by_hand})


if __name__ == "__main__":
    main()
