"""Commands killed at random moments, and two at once: nothing is lost, nothing is half-written.

    python validation/killed.py [--kills 30] [--out results/killed.json]

Each command that writes runs once in peace, which says how long it takes and what it leaves. Then it is killed
(SIGKILL) at moments drawn over that time, each in a fresh copy of the folder it began in. Asserted after each kill:
every file is whole, and those from before are there, as they were or as the command leaves them; the same command, run
again, ends well and leaves the files that peace left, to the bit where they say nothing of clocks. Then pairs of
commands write into one folder at once, and what both were to leave is there.

Commands run in forks of this process, so that the time is theirs and not that of importing libraries.
"""

import argparse
import csv
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from PIL import Image
from safetensors.torch import load
from study import expect
from wheel import RECIPE

from eitlens.cli.main import app
from eitlens.files import write_json

Words = tuple[str, ...]
_LIMIT = 600.0
RUN, CPU = "run", ("--device", "cpu")
COMMANDS: dict[str, Words] = {
    "demo": ("demo", "--out", "demo.png", "--n", "32", "--model", "uit-small"),
    "simulate": ("simulate", "--random", "3", "-o", "data.npz"),
    "simulate a tank": ("simulate", "--electrodes", "16", "--random", "2", "-o", "tank.json"),
    "inspect": ("inspect", "tank.json", "-o", "quality.png", "--fix", "fixed.npz"),
    "reconstruct": ("reconstruct", "data.npz", "-o", "image.npz", "--method", "dsm"),
    "compare": ("compare", "data.npz", "--methods", "dsm", "index", "-o", "compared.png"),
    "generate": ("generate", "--config", "recipe.data.json", "--out", "data", *CPU),
    "train": ("train", "--config", "recipe.json", "--out", RUN, *CPU, "--no-test"),
    "train --export": (
        "train",
        "--config",
        "recipe.json",
        "--out",
        RUN,
        *CPU,
        "--no-test",
        "--export",
        "home",
    ),
    "evaluate": ("evaluate", RUN, *CPU, "--tau", "0.1"),
    "sweep": ("sweep", RUN, *CPU, "--kind", "noise", "--samples", "1"),
    "calibrate": ("calibrate", RUN, *CPU, "--samples", "8", "--misfits", "0"),
    "export": ("export", RUN, "-o", "run.onnx"),
    "figures": ("figures", "fig1-pipeline", "--out", "figures"),
    "benchmark": ("benchmark", "table1"),
}
"""In the order in which each finds what those before it left."""
CLOCKS = {"seconds", "minutes", "images_per_second", "made_with", "commit", "changed"}
"""Keys and columns that say how long something took, or what it was made with."""


@dataclass(frozen=True)
class Calm:
    """A command in peace: the folder it began in, what it left, and its seconds."""

    words: Words
    before: Path
    after: Path
    seconds: float


def start(words: Words, folder: Path) -> int:
    """Begin a command in a folder, as a process of its own."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        os.chdir(folder)
        quiet = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.argv = ["eitlens", *words]
        app(list(words), standalone_mode=True)
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def finish(pid: int) -> int:
    """The status of a command that was begun; a negative one of a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def broken(file: Path) -> str:
    """What is wrong with a file, by its suffix; nothing where it is whole."""
    content = file.read_bytes()
    try:
        _read(file.suffix, content)
    except Exception as error:  # whatever a library says of a file that is not whole
        return f"{file.name}: {error!r}"
    return ""


def _read(suffix: str, content: bytes) -> None:
    if suffix == ".json":
        json.loads(content)
    elif suffix == ".npz":
        dict(np.load(io.BytesIO(content)))
    elif suffix == ".safetensors":
        load(content)
    elif suffix == ".png":
        Image.open(io.BytesIO(content)).load()
    elif suffix == ".pdf" and not content.rstrip().endswith(b"%%EOF"):
        raise ValueError("cut off")
    elif suffix == ".onnx":
        import onnxruntime

        onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    elif not content:
        raise ValueError("empty")


def files(folder: Path) -> dict[str, Path]:
    """The files that a reader would look at, by their names in the folder; locks and the log of the study left out."""
    found = (file for file in folder.rglob("*") if file.is_file())
    kept = (
        file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )
    return {str(file.relative_to(folder)): file for file in kept if file.name != "log.txt"}


def same(file: Path, other: Path) -> bool:
    """Whether two files are the same but for their clocks; pictures of these are not compared."""
    one, two = file.read_bytes(), other.read_bytes()
    if one == two or file.suffix in (".png", ".pdf", ".onnx"):
        return True
    if file.suffix == ".json":
        return bool(_timeless(json.loads(one)) == _timeless(json.loads(two)))
    if file.suffix == ".csv":
        rows = [list(csv.DictReader(io.StringIO(content.decode()))) for content in (one, two)]
        return bool(_timeless(rows[0]) == _timeless(rows[1]))
    return False


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(each) for key, each in value.items() if key not in CLOCKS}
    return [_timeless(each) for each in value] if isinstance(value, list) else value


def in_peace(home: Path) -> dict[str, Calm]:
    """Every command once, each in a copy of what the one before it left."""
    found, folder = {}, home / "0"
    folder.mkdir()
    (folder / "recipe.json").write_text(json.dumps(RECIPE))
    (folder / "recipe.data.json").write_text(json.dumps(RECIPE["data"]["stream"]))
    cell = Path(__file__).parents[1] / "results/table1/uit/0"
    shutil.copytree(cell, folder / "results/table1/uit/0")
    for k, (name, words) in enumerate(COMMANDS.items(), 1):
        after = home / str(k)
        shutil.copytree(folder, after)
        began = time.monotonic()
        status = finish(start(words, after))
        seconds = time.monotonic() - began
        expect(status == 0, f"{name} in peace: {seconds:.1f} s {_said(after) if status else ''}")
        found[name], folder = Calm(words, folder, after, seconds), after
    return found


def _said(folder: Path) -> str:
    return (folder / "log.txt").read_text()[-400:]


def killed(calm: Calm, folder: Path, share: float) -> tuple[bool, list[str]]:
    """Whether the command was killed in time, and what was wrong afterwards."""
    shutil.copytree(calm.before, folder)
    pid = start(calm.words, folder)
    time.sleep(share * calm.seconds)
    os.kill(pid, signal.SIGKILL)
    hit = finish(pid) == -signal.SIGKILL
    before, wanted, left = files(calm.before), files(calm.after), files(folder)
    wrong = [f"lost {name}" for name in before if name not in left]
    wrong += [told for file in left.values() if (told := broken(file))]
    status = finish(start(calm.words, folder))
    if status != 0 and "is finished" not in _said(folder):
        return hit, [*wrong, f"again: status {status}: {_said(folder)}"]
    after = files(folder)
    wrong += [f"not made: {name}" for name in wanted if name not in after]
    wrong += [f"differs: {name}" for name in wanted if name in after and not same(after[name], wanted[name])]
    return hit, wrong


def pairs(calm: dict[str, Calm], home: Path) -> dict[str, list[str]]:
    """Two commands at once in one folder, and what was wrong afterwards."""
    scored = calm["evaluate"].before
    cases: dict[str, tuple[Path, Words, Words, Callable[[Path], bool]]] = {
        "evaluate": (
            scored,
            (*COMMANDS["evaluate"][:-1], "0.1"),
            (*COMMANDS["evaluate"][:-1], "0.2"),
            _both_levels,
        ),
        "sweep": (scored, _sweep("noise"), _sweep("white-noise"), _both_sweeps),
    }
    for name in ("simulate", "generate", "calibrate", "export", "benchmark", "train"):
        words, wanted = calm[name].words, files(calm[name].after)

        def as_in_peace(folder: Path, wanted: dict[str, Path] = wanted) -> bool:
            found = files(folder)
            return all(key in found and same(found[key], file) for key, file in wanted.items())

        cases[name] = (calm[name].before, words, words, as_in_peace)
    return {name: _pair(home / f"pair {name}", *case) for name, case in cases.items()}


def _pair(folder: Path, before: Path, one: Words, two: Words, holds: Callable[[Path], bool]) -> list[str]:
    shutil.copytree(before, folder)
    statuses = [finish(pid) for pid in [start(words, folder) for words in (one, two)]]
    wrong = [told for file in files(folder).values() if (told := broken(file))]
    if sorted(statuses) != [0, 0] and not (one[0] == "train" and sorted(statuses) == [0, 2]):
        wrong.append(f"statuses {statuses}: {_said(folder)}")
    return wrong if holds(folder) else [*wrong, "not what both were to leave"]


def _sweep(kind: str) -> Words:
    return ("sweep", RUN, *CPU, "--kind", kind, "--samples", "1")


def _both_levels(folder: Path) -> bool:
    rows = json.loads((folder / RUN / "evaluation.json").read_text())["scores"]
    return [row["tau"] for row in rows] == [0.1, 0.2]


def _both_sweeps(folder: Path) -> bool:
    return {row["kind"] for row in json.loads((folder / RUN / "sweep.json").read_text())} == {
        "noise",
        "white-noise",
    }


def main() -> None:
    """Run in peace, kill, pair, assert, and write what came out."""
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=30)
    options.add_argument("--out", type=Path, default=Path("results/killed.json"))
    given = options.parse_args()
    print("Commands that are killed, and two at once", flush=True)
    mpl.use("Agg")
    torch.set_num_threads(1)  # a fork has no threads but its own
    draw = random.Random(5)
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        calm = in_peace(home)
        for k in range(given.kills):
            command = list(COMMANDS)[k % len(COMMANDS)]
            row = found.setdefault(command, {"kills": 0, "in time": 0, "wrong": []})
            hit, wrong = killed(calm[command], home / f"kill {k}", draw.random())
            row["kills"] += 1
            row["in time"] += hit
            row["wrong"] += wrong
            print(f"  {command}: {'killed' if hit else 'was done'} {wrong}", flush=True)
            shutil.rmtree(home / f"kill {k}")
        both = pairs(calm, home)
    print(json.dumps(both, indent=1))
    write_json(
        given.out, {"kills": found, "pairs": both, "load": [round(each, 1) for each in os.getloadavg()]}
    )
    expect(
        not any(row["wrong"] for row in found.values()), "after every kill nothing is lost or half-written"
    )
    expect(not any(both.values()), "two at once keep what both were to leave")
    hits = sum(row["in time"] for row in found.values())
    expect(hits >= given.kills // 2, f"{hits} of {given.kills} were killed before they were done")


if __name__ == "__main__":
    main()
