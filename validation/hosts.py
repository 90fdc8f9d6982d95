"""Two hosts, as network namespaces of one machine: data in parts, and a training that one host leaves and joins again.

    python validation/hosts.py [--out results/hosts.json]        # as root, on Linux

- `eitlens generate --shard 1/2` on one host and `2/2` on the other, each into a folder of its own; merged by copying
  they are the bytes of one process.
- `torchrun` with one process on each host, joined by gloo over a virtual cable: the losses are those of one process
  but for rounding, which Adam's first steps amplify.
- One host is killed in the middle, all its processes at once, and started again: the other waits, both go on
  from the checkpoint, and the run ends in the weights of a run that nobody killed, to the bit.
"""

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from study import expect
from wheel import RECIPE

from eitlens.files import sha256, write_json

HOSTS, ADDRESSES, PORT = ("eitlens-a", "eitlens-b"), ("10.77.0.1", "10.77.0.2"), 29511
STEPS_BEFORE = 20
"""Steps in the log before a host is killed."""
REJOIN = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
"""Without it, torchrun tells a host that comes back no address to join at (torch 2.13): both give up."""
AWAY = 30.0
"""Seconds until the host is started again: torchrun counts it as there for 15 s after its last sign of life."""
CLOSE = 2e-3
"""Relative difference of losses that rounding may make within a hundred steps; another order of the data makes 0.1."""
_PATIENCE = 900.0
Child = subprocess.Popen[bytes]


@contextmanager
def two_hosts() -> Iterator[None]:
    """Two namespaces with a cable between them."""
    try:
        for host in HOSTS:
            _ip("netns", "add", host)
        _ip(
            "link",
            "add",
            "eit0",
            "netns",
            HOSTS[0],
            "type",
            "veth",
            "peer",
            "name",
            "eit0",
            "netns",
            HOSTS[1],
        )
        for host, address in zip(HOSTS, ADDRESSES, strict=True):
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", "eit0")
            for link in ("lo", "eit0"):
                _ip("-n", host, "link", "set", link, "up")
        yield
    finally:
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def on(host: int, *words: str, log: Path) -> Child:
    """A command of Python's on a host, in a group of its own."""
    command = ["ip", "netns", "exec", HOSTS[host], sys.executable, "-m", *words]
    told = {"GLOO_SOCKET_IFNAME": "eit0", "OMP_NUM_THREADS": "1"} | REJOIN
    with log.open("a") as stream:
        return subprocess.Popen(
            command, env=os.environ | told, stdout=stream, stderr=stream, start_new_session=True
        )


def torchrun(host: int, folder: Path, run: str) -> Child:
    """The part of a host in a training of both."""
    words = ("torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "3")
    # Namespaces share the name of their machine, so torchrun must be told which of them keeps the store.
    meet: tuple[str, ...] = (
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        f"{ADDRESSES[0]}:{PORT}",
        "--rdzv-id",
        run,
    )
    meet += ("--rdzv-conf", f"is_host={host == 0}")
    train = ("-m", "eitlens", *_train(folder, run))
    return on(host, *words, *meet, "--local-addr", ADDRESSES[host], *train, log=folder / f"{run}-{host}.log")


def _train(folder: Path, run: str) -> tuple[str, ...]:
    return (
        "train",
        "--config",
        str(folder / "recipe.json"),
        "--out",
        str(folder / run),
        "--device",
        "cpu",
        "--no-test",
    )


def finish(children: list[Child], what: str) -> None:
    """Wait until all are done, and well."""
    statuses = [child.wait(_PATIENCE) for child in children]
    expect(statuses == [0] * len(children), f"{what}: done on {len(children)} hosts {statuses}")


def data(folder: Path) -> bool:
    """Whether the parts of both hosts together are the bytes of one process."""
    words = ("eitlens", "generate", "--config", str(folder / "recipe.data.json"), "--device", "cpu")
    parts = [folder / "part-1", folder / "part-2"]
    log = folder / "generate.log"
    children = [
        on(k, *words, "--shard", f"{k + 1}/2", "--out", str(part), log=log) for k, part in enumerate(parts)
    ]
    finish(children, "generate --shard")
    finish([on(0, *words, "--out", str(folder / "alone"), log=log)], "generate")
    for part in parts:
        shutil.copytree(part, folder / "merged", dirs_exist_ok=True)
    finish([on(0, *words, "--out", str(folder / "merged"), log=log)], "the manifest")
    one, other = ({f.name: sha256(f) for f in (folder / name).iterdir()} for name in ("alone", "merged"))
    return one == other and len(one) > 2


def losses(run: Path) -> list[float]:
    """The losses in the log of a run."""
    with (run / "log.csv").open() as stream:
        return [float(row["loss"]) for row in csv.DictReader(stream)]


def steps(run: Path) -> int:
    """The last step in the log of a run."""
    try:
        lines = (run / "log.csv").read_text().splitlines()
        return int(float(lines[-1].split(",")[0]))
    except (OSError, ValueError, IndexError):
        return 0


def killed(folder: Path) -> tuple[int, float]:
    """A training whose second host is killed and started again: the step that was reached, seconds until it went on."""
    first, second = torchrun(0, folder, "killed"), torchrun(1, folder, "killed")
    _until(lambda: steps(folder / "killed") >= STEPS_BEFORE or first.poll() is not None)
    os.killpg(second.pid, signal.SIGKILL)
    for pid in _processes(HOSTS[1]):
        os.kill(pid, signal.SIGKILL)
    second.wait()
    reached = steps(folder / "killed")
    time.sleep(AWAY)
    began = time.monotonic()
    again = torchrun(1, folder, "killed")
    _until(lambda: steps(folder / "killed") > reached + 10 or first.poll() is not None)
    seconds = time.monotonic() - began
    finish([first, again], "one host killed and started again")
    return reached, seconds


def _processes(host: str) -> list[int]:
    told = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=True).stdout
    return [int(word) for word in told.split()]


def _until(holds: Any) -> None:
    end = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the training does not go on")
        time.sleep(0.05)


def recipe(folder: Path) -> None:
    """A small training on the data set of both hosts; without dropout, which differs from process to process."""
    stream = RECIPE["data"]["stream"] | {"train": 40, "shard": 8}
    config = RECIPE | {
        "network": {"preset": "unet", "settings": {"width": 8, "resolution": 32, "levels": 3}},
        "data": {"folder": str(folder / "merged")},
        "samples": 400,
        "batch": 4,
        "checkpoint_every": 0.0,
        "scale": True,
    }
    (folder / "recipe.data.json").write_text(json.dumps(stream))
    (folder / "recipe.json").write_text(json.dumps(config))


def main() -> None:
    """Generate and train on two hosts, assert, and write what came out."""
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path, default=Path("results/hosts.json"))
    given = options.parse_args()
    print("Two hosts", flush=True)
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        print("  network namespaces need Linux and root: nothing is tried")
        return
    with tempfile.TemporaryDirectory() as name, two_hosts():
        folder = Path(name)
        recipe(folder)
        same = data(folder)
        expect(same, "the parts of two hosts are the bytes of one process")
        finish([on(0, "eitlens", *_train(folder, "alone-run"), log=folder / "alone.log")], "one process")
        finish([torchrun(k, folder, "two") for k in range(2)], "two hosts")
        reached, seconds = killed(folder)
        one, two, three = (losses(folder / run) for run in ("alone-run", "two", "killed"))
        weights = [sha256(folder / run / "last.safetensors") for run in ("two", "killed")]
    off = max(abs(a - b) / a for a, b in zip(one, two, strict=True))
    print(f"  killed at step {reached}; {seconds:.0f} s until it went on; losses differ by {off:.1e}")
    expect(off < CLOSE, f"the losses of two hosts are those of one process, to {off:.1e}")
    expect(
        two == three and weights[0] == weights[1],
        "the run that was killed ends in the same weights, to the bit",
    )
    write_json(
        given.out,
        {
            "same data": same,
            "largest relative difference of losses": off,
            "steps": len(one) * 2,
            "killed at step": reached,
            "seconds until it went on": round(seconds),
            "same weights after the kill": weights[0] == weights[1],
            "load": [round(each, 1) for each in os.getloadavg()],
        },
    )


if __name__ == "__main__":
    main()
