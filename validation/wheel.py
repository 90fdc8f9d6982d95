"""The wheel in empty environments: every command works there, or names the extra it needs in one line.

    python validation/wheel.py [PYTHON ...] [--out results/wheel.json]

Each PYTHON is the interpreter of an environment with the wheel and nothing else, or with the wheel and all extras.
The commands run one after another in an empty folder, each on what those before it wrote. Asserted: exit status 0, or
2 with one line that says `pip install 'eitlens[...]'`, and that only where the extra is not there; no traceback;
nothing is written into the environment.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from study import expect

from eitlens.files import write_json

RECIPE: dict[str, Any] = {
    "name": "tiny",
    "network": {"preset": "uit-small", "settings": {"width": 8, "resolution": 32}},
    "data": {
        "stream": {
            "name": "tiny",
            "n": 32,
            "train": 8,
            "validation": 8,
            "test": 8,
            "currents": {"count": 1},
            "sampler": {"count": 1, "disjoint": True},
            "solver": {"name": "boundary-integral", "tolerance": 1e-4},
        },
        "block": 8,
    },
    "batch": 4,
    "samples": 16,
    "log_every": 2,
}
COMMANDS = (
    "--version",
    "--help",
    "doctor",
    "demo --out demo.png",
    "simulate --random 3 -o data.npz --tau 0.05",
    "simulate --electrodes 16 --random 2 -o tank.json",
    "simulate --random 3 -o data.h5",
    "simulate --random 3 -o data.mat",
    "inspect tank.json -o quality.png",
    "reconstruct data.npz -o image.png --model uit-small",
    "reconstruct data.h5 -o image.npz --method dsm",
    "reconstruct data.mat -o image.json --method dsm",
    "compare data.npz --methods dsm network -o compared.png",
    "models uit-small --no-time",
    "generate --config recipe.data.json --out data",
    "check data",
    "train --config recipe.json --out run --device cpu --no-test",
    "evaluate run --device cpu",
    "sweep run --kind noise --samples 1 --device cpu",
    "calibrate run --samples 8 --misfits 0 --device cpu",
    "export run -o run.onnx",
    "figures --list",
    "figures fig1-pipeline",
    "benchmark table1",
)
NEEDS = re.compile(r"pip install '?eitlens\[(\w+)\]")
_PATIENCE = 600
_UP = 120.0


def environment(python: Path) -> dict[str, Any]:
    """The version of Python, the extras that are there, and the folder of the package."""
    code = (
        "import sys, json, eitlens; from importlib.util import find_spec as f; print(json.dumps(dict("
        "python='.'.join(map(str, sys.version_info[:3])), home=eitlens.__path__[0], extras=[e for e, m in "
        "dict(io='h5py', export='onnxruntime', web='fastapi').items() if f(m)])))"
    )
    told: dict[str, Any] = json.loads(_run([str(python), "-c", code]).stdout)
    return told


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        command, cwd=folder or Path("/"), env=clean, capture_output=True, text=True, timeout=_PATIENCE
    )


def contents(home: Path) -> dict[str, int]:
    """The files of the package and when they were changed, but for what the interpreter keeps of its own."""
    files = (file for file in home.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file): file.stat().st_mtime_ns for file in files}


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    """`works`, `needs EXTRA`, `refused: …`, or what must not happen."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode == 0:
        return "works" if "Traceback" not in done.stderr else "traceback"
    found = NEEDS.search(" ".join(lines))
    if done.returncode == 2 and len(lines) <= 2:
        return f"needs {found[1]}" if found else f"refused: {' '.join(lines)}"
    return f"status {done.returncode}: {' '.join(lines)[-300:]}"


def served(python: Path, folder: Path) -> str:
    """Whether the page is served, and stops when told to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(python), "-m", "eitlens", "serve", "--model", "uit-small", "--port", str(port)]
    child = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + _UP
    answered = False
    while child.poll() is None and not answered and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/settings.json", timeout=5) as answer:
                answered = answer.status == 200
        except OSError:
            time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, told = child.communicate(timeout=30)
    status = child.returncode
    return (
        verdict(subprocess.CompletedProcess(command, status, out, told)) if answered or status else "silent"
    )


def tried(python: Path) -> dict[str, Any]:
    """Every command in an empty folder."""
    about = environment(python)
    before = contents(Path(about["home"]))
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "recipe.json").write_text(json.dumps(RECIPE))
        (folder / "recipe.data.json").write_text(json.dumps(RECIPE["data"]["stream"]))
        for words in COMMANDS:
            given = words.split()
            if given[0] == "reconstruct" and not (folder / given[1]).exists():
                continue  # it could not be written without its extra
            found[words] = verdict(_run([str(python), "-m", "eitlens", *given], folder))
            print(f"  {words}: {found[words]}", flush=True)
        found["serve"] = served(python, folder)
        print(f"  serve: {found['serve']}", flush=True)
    about["untouched"] = contents(Path(about.pop("home"))) == before
    return about | {"commands": found}


def main() -> None:
    """Try every environment, assert, and write what came out."""
    options = argparse.ArgumentParser()
    options.add_argument("pythons", nargs="*", type=Path)
    options.add_argument("--out", type=Path, default=Path("results/wheel.json"))
    given = options.parse_args()
    rows: list[dict[str, Any]] = []
    if not given.pythons:
        print("  no environment is given: nothing to try")
    for python in given.pythons:
        print(python, flush=True)
        rows.append(tried(python.absolute()))
        write_json(given.out, rows)
    for row in rows:
        where = f"Python {row['python']}, {', '.join(row['extras']) or 'no extras'}"
        allowed = {"works"} | {f"needs {extra}" for extra in {"io", "export", "web"} - set(row["extras"])}
        wrong = {
            words: told
            for words, told in row["commands"].items()
            if told not in allowed and not (words == "benchmark table1" and "--root" in told)
        }
        expect(not wrong, f"{where}: every command works or names its extra {wrong}")
        expect(row["untouched"], f"{where}: nothing is written into the environment")


if __name__ == "__main__":
    main()
