"""Stopped, killed, resumed, shared: always the same weights."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from eitlens.errors import InputError
from eitlens.train import NetworkConfig, train
from eitlens.train.folder import read_log
from eitlens.train.setup import create_network

_SCRIPT = """
import json, os, signal, sys, torch
torch.set_num_threads(1)
from eitlens.train import TrainConfig, train

config, folder, deadly = TrainConfig.from_dict(json.loads(sys.argv[1])), sys.argv[2], int(sys.argv[3])

def die(row):
    if row["step"] == deadly:
        os.kill(os.getpid(), signal.SIGKILL)

train(config, folder, device="cpu", observers=(die,))
"""


def _start(config, folder, deadly=-1, launcher=()):
    words = [*launcher, "-c", _SCRIPT] if not launcher else [*launcher, _script(folder)]
    arguments = [json.dumps(config.to_dict()), str(folder), str(deadly)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *words, *arguments], env=environment, capture_output=True, text=True, timeout=120
    )


def _script(folder):
    file = folder.parent / "script.py"
    file.write_text(_SCRIPT)
    return str(file)


def test_killed_and_resumed_gives_the_same_bits(run, finished, tmp_path):
    folder = tmp_path / "killed"
    assert _start(run, folder, deadly=6).returncode == -9
    rows = read_log(folder / "log.csv")
    assert float(rows[-1]["step"]) == 6  # beyond the checkpoint, which is of step 4
    assert not (folder / "result.json").exists()
    assert train(run, folder, device="cpu") is not None
    for name in ("best", "last"):
        assert (folder / f"{name}.safetensors").read_bytes() == (
            finished / f"{name}.safetensors"
        ).read_bytes()
    steps = [row["step"] for row in read_log(folder / "log.csv")]
    assert steps == [row["step"] for row in read_log(finished / "log.csv")]


def test_stopped_cleanly_and_resumed(run, finished, tmp_path):
    assert train(run, tmp_path / "a", device="cpu", stop_after=0) is None
    assert (tmp_path / "a" / "checkpoint.safetensors").exists()
    assert train(run, tmp_path / "a", device="cpu") is not None
    assert not (tmp_path / "a" / "checkpoint.safetensors").exists()
    a, b = ((f / "last.safetensors").read_bytes() for f in (tmp_path / "a", finished))
    assert a == b


def test_two_processes_match_one_with_the_same_global_batch(run, tmp_path):
    # Batch norms, weights over the batch and no dropout, which differs from process to process.
    network = NetworkConfig("unet", {"width": 8, "resolution": 32, "levels": 3})
    config = replace(run, network=network, loss="weighted-bce", samples=16, log_every=1, average=0.0)
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    done = _start(config, tmp_path / "two", launcher=launcher)
    assert done.returncode == 0, done.stderr[-2000:]
    train(config, tmp_path / "one", device="cpu")
    one, two = (read_log(tmp_path / name / "log.csv") for name in ("one", "two"))
    losses = [[float(row["loss"]) for row in rows] for rows in (one, two)]
    assert losses[1] == pytest.approx(losses[0], abs=3e-5)
    for name in ("cross_entropy", "paper_l2", "hard_dice"):
        assert float(two[-1][name]) == pytest.approx(float(one[-1][name]), abs=1e-4)
    # Adam's first steps are signs of gradients: where one is all rounding, a weight moves by 2 lr.
    weights = [load_file(tmp_path / name / "last.safetensors") for name in ("one", "two")]
    start = create_network(config, 2).state_dict()
    for name in start.keys() - {n for n in start if "tracked" in n}:
        moved, apart = (weights[0][name] - start[name]).norm(), (weights[1][name] - weights[0][name]).norm()
        assert apart <= 0.05 * moved + 1e-6, name
    assert json.loads((tmp_path / "two" / "result.json").read_text())["processes"] == 2


def test_another_configuration_is_refused(run, finished):
    with pytest.raises(InputError, match=r"network\.preset .*'uit-small', not 'fno'"):
        train(replace(run, network=NetworkConfig("fno")), finished, device="cpu")


def test_a_finished_run_is_left_alone(run, finished):
    with pytest.raises(InputError, match="is finished"):
        train(run, finished, device="cpu")
