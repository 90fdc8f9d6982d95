"""The generator: killed, split, repaired, refused; it always ends in the same bytes."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load, save

from eitlens.dataset import DataConfig, Dataset, Part, SamplerConfig, SolverConfig, generate
from eitlens.dataset.manifest import FILE
from eitlens.dataset.shard import shard_name
from eitlens.errors import InputError
from eitlens.phantom import indicator

# About half a second of work, in many shards, for something to be killed in.
LONGER = DataConfig(
    "longer",
    n=48,
    train=150,
    validation=5,
    test=5,
    shard=4,
    sampler=SamplerConfig(count=3, disjoint=True),
    solver=SolverConfig("boundary-integral", tolerance=1e-7),
)
CHILD = """
import json, sys, torch
from pathlib import Path
from eitlens.dataset import DataConfig, generate
config = DataConfig.from_dict(json.loads(sys.argv[1]))
def progress(done, total):
    print(done, flush=True)
generate(config, Path(sys.argv[2]), device="cpu", workers=2, progress=progress)
"""
SUICIDAL = """
import os, signal
true, count = os.replace, [0]
def replace(a, b):
    count[0] += 1
    if count[0] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    true(a, b)
os.replace = replace
"""


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def start(code: str, config: DataConfig, folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", code, json.dumps(config.to_dict()), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_three_times_at_random_moments_it_ends_in_the_same_bytes(tmp_path):
    chance = random.Random(5)
    interrupted = 0
    for _ in range(3):
        child = start(CHILD, LONGER, tmp_path / "killed")
        child.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.15))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        interrupted += not (tmp_path / "killed" / FILE).exists()
    assert interrupted, "every child was done before it was killed: make LONGER longer"
    assert generate(LONGER, tmp_path / "killed", device="cpu").complete
    assert generate(LONGER, tmp_path / "calm", device="cpu", workers=1).kept == 0
    assert content(tmp_path / "killed") == content(tmp_path / "calm")


def test_killed_between_writing_and_renaming_it_leaves_whole_shards_only(tmp_path, tiny, whole):
    child = start(SUICIDAL + CHILD.replace("workers=2", "workers=1"), tiny, tmp_path)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left[1:] == [shard_name(0), shard_name(1)]
    assert left[0].startswith(".tmp.")
    assert left[0].endswith(shard_name(2))
    report = generate(tiny, tmp_path, device="cpu")
    assert (report.made, report.kept) == (14, 10)
    assert content(tmp_path) == content(whole)


def test_parts_make_the_same_bytes_as_one_run(tmp_path, tiny, whole):
    reports = [generate(tiny, tmp_path, Part(k, 3), device="cpu") for k in (2, 0, 1)]
    assert [r.complete for r in reports] == [False, False, True]
    assert sum(r.made for r in reports) == 24
    assert content(tmp_path) == content(whole)


def test_torchrun_splits_the_work(monkeypatch):
    assert Part.of_process() == Part(0, 1)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert Part.of_process() == Part(2, 3)


def test_a_finished_set_is_left_alone(tmp_path, tiny):
    generate(tiny, tmp_path, device="cpu")
    times = {p: p.stat().st_mtime_ns for p in tmp_path.glob("shard*")}
    report = generate(tiny, tmp_path, device="cpu")
    assert (report.made, report.kept, report.complete) == (0, 24, True)
    assert times == {p: p.stat().st_mtime_ns for p in tmp_path.glob("shard*")}


@pytest.mark.parametrize("harm", ["cut", "flip", "gone"])
def test_damage_is_repaired(copied, tiny, whole, harm):
    path = copied / shard_name(2)
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 4
    path.write_bytes(damaged if harm == "flip" else damaged[:1000])
    if harm == "gone":
        path.unlink()
    report = generate(tiny, copied, device="cpu")
    assert report.replaced == (() if harm == "gone" else (path.name,))
    assert content(copied) == content(whole)


def as_of_version_2(path: Path) -> bytes:
    with safe_open(path, "pt") as file:
        header = json.loads(file.metadata()["eitlens"])
    return save(load(path.read_bytes()), {"eitlens": json.dumps(header | {"version": 2})})


def not_a_shard(path: Path) -> bytes:
    return save({"weight": torch.zeros(3)})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (as_of_version_2, "format version 2, expected 1: update eitlens"),
        (not_a_shard, "not a shard of an eitlens data set: remove it from the folder"),
    ],
)
def test_what_is_not_damaged_is_not_repaired(copied, tiny, other, message):
    path = copied / shard_name(2)
    content = other(path)
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        generate(tiny, copied, device="cpu")
    assert path.read_bytes() == content


def test_another_data_set_is_never_overwritten(copied, whole, other):
    with pytest.raises(InputError, match="holds another data set: choose an empty folder"):
        generate(other, copied, device="cpu")
    (copied / FILE).unlink()
    with pytest.raises(InputError, match="belongs to another configuration"):
        generate(other, copied, device="cpu")
    (copied / FILE).write_bytes((whole / FILE).read_bytes())
    assert content(copied) == content(whole)


def test_a_full_disk_is_one_line_and_nothing_half_written(tmp_path, tiny, monkeypatch):
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match=r"shard-00000.*No space left.*run the same command again") as caught:
        generate(tiny, tmp_path, device="cpu", workers=1)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_file_of_more_samples_than_there_are_is_one_file_and_none_is_larger_than_memory(tmp_path, tiny):
    assert generate(replace(tiny, shard=10**12), tmp_path / "one", device="cpu").complete
    assert sorted(content(tmp_path / "one")) == [FILE, shard_name(0)]
    # 3 currents, 800 nodes, 8 bytes; a mask of 201² bits: 24,251 bytes a sample.
    large = replace(tiny, n=200, train=10**6, shard=10**12)
    with pytest.raises(
        InputError, match=r"^shard: a file of 1,000,011 samples would take 24 GB.*at most 177,104$"
    ):
        generate(large, tmp_path / "two", device="cpu")
    assert not (tmp_path / "two").exists()


def test_a_folder_that_cannot_be_is_one_line(tmp_path, tiny):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file.*(File exists|Not a directory)"):
        generate(tiny, tmp_path / "file" / "data", device="cpu")


def test_progress_counts_every_sample_once(tmp_path, tiny):
    seen = []
    generate(tiny, tmp_path, device="cpu", workers=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (24, 24)


def test_threads_are_given_back(tmp_path, tiny):
    before = torch.get_num_threads()
    generate(replace(tiny, train=1, validation=0, test=0), tmp_path, device="cpu")
    assert torch.get_num_threads() == before


def test_the_data_are_what_the_solver_and_the_sampler_say(whole, tiny):
    dataset = Dataset.open(whole)
    samples = dataset.read(0, 24)
    phantoms = tiny.sampler.build().batch(0, 24)
    again = tiny.solver.build(dataset.domain).difference(phantoms, dataset.currents)
    assert torch.allclose(samples.difference, again, rtol=0, atol=1e-12)
    assert torch.equal(samples.mask, indicator(dataset.domain, phantoms))
    stored, drawn = samples.phantoms.groups[0].parameters, phantoms.groups[0].parameters
    assert torch.allclose(stored, drawn, rtol=0, atol=1e-15)


@pytest.mark.parametrize("shapes", ["ellipses", "polygons"])
def test_overlaps_and_corners_with_the_grid_solver(tmp_path, shapes):
    """As in the preset `paper`, small; in two parts the same bytes as in one run."""
    config = DataConfig(
        "overlaps",
        n=24,
        train=5,
        validation=0,
        test=1,
        shard=2,
        sampler=SamplerConfig(shapes),
        solver=SolverConfig("grid"),
    )
    generate(config, tmp_path / "one", device="cpu", workers=2)
    for k in range(2):
        generate(config, tmp_path / "two", Part(k, 2), device="cpu")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    dataset = Dataset.open(tmp_path / "one")
    samples = dataset.split("train")
    assert bool(((dataset.currents * samples.difference).sum(-1) < 0).all()), (
        "(g, f - f0) < 0 for σ > 1 inside"
    )
    assert torch.equal(samples.mask, indicator(dataset.domain, samples.phantoms))


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4"])
def test_bad_parts(text):
    with pytest.raises(InputError, match="expected i/N"):
        Part.parse(text)


def test_bad_devices(tmp_path, tiny):
    with pytest.raises(InputError, match="choose auto, cpu, cuda"):
        generate(tiny, tmp_path, device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no CUDA: use --device cpu"):
            generate(tiny, tmp_path, device="cuda")
