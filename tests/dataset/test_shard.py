"""Shards: bits, bytes, and everything that can be wrong with a file."""

import json
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from eitlens.dataset import Dataset
from eitlens.dataset.samples import Samples, pack, unpack
from eitlens.dataset.shard import Header, read_header, read_samples, shard_name, verify, write_shard
from eitlens.errors import InputError
from eitlens.files import write_atomically
from eitlens.phantom import Ellipse, Phantom, Polygon, stack
from eitlens.phantom.tensors import from_tensors, join, to_tensors

FIRST = shard_name(0)
HEADER = Header("digest", 0, 3, 16, {"family": "cosine", "count": 2}, "a test")


def some_samples(seed=0):
    random = torch.Generator().manual_seed(seed)
    difference = torch.randn(3, 2, 64, dtype=torch.float64, generator=random)
    mask = torch.rand(3, 17, 17, generator=random) < 0.3
    return Samples(torch.arange(3), difference, pack(mask), 17, None), mask


@pytest.mark.parametrize("side", [8, 17, 201])
def test_packing_masks(side):
    mask = torch.rand(4, side, side) < 0.2
    packed = pack(mask)
    assert packed.shape == (4, -(-side * side // 8))
    assert torch.equal(packed, torch.from_numpy(np.packbits(mask.flatten(1).numpy(), axis=1)))
    assert torch.equal(unpack(packed, side), mask)


def test_phantoms_as_tensors():
    triangle = Polygon([(0, 0), (0.3, 0), (0, 0.3)])
    first = Phantom([Ellipse((0.5, 0.5), (0.1, 0.2), 0.3), triangle], [5.0, 2.0], 1.5)
    second = Phantom([triangle])
    batch = stack([first, second])
    again = from_tensors(to_tensors(batch))
    assert list(again) == [first, second]
    assert list(join([again, batch])) == [first, second] * 2


def test_join_refuses_other_shapes():
    one, two = Ellipse((0, 0), (0.1, 0.2)), Ellipse((0.5, 0), (0.1, 0.2))
    with pytest.raises(InputError, match="different make"):
        join([stack([Phantom([one])]), stack([Phantom([one, two])])])


def test_a_shard_reads_as_written(tmp_path):
    samples, mask = some_samples()
    write_shard(tmp_path / FIRST, HEADER, samples)
    again = read_samples(tmp_path / FIRST, 1, 3)
    assert torch.equal(again.difference, samples.difference[1:])
    assert torch.equal(again.mask, mask[1:])
    assert again.index.tolist() == [1, 2]
    assert again.phantoms is None


def test_the_same_samples_are_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_shard(tmp_path / name, HEADER, some_samples()[0])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_shard_cut_anywhere_is_refused(copied):
    path = copied / FIRST
    content = path.read_bytes()
    for length in (0, 3, 8, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=rf"{FIRST}.*(delete it)"):
            read_header(path)
        with pytest.raises(InputError, match=FIRST):
            Dataset.open(copied)


def test_one_flipped_bit_is_found(copied):
    path = copied / FIRST
    content = bytearray(path.read_bytes())
    content[-1000] ^= 1
    path.write_bytes(content)
    read_header(path)
    with pytest.raises(InputError, match=f"{FIRST}: checksum mismatch.*delete it"):
        verify(path)


def test_a_shard_of_another_version_is_refused(copied):
    path = copied / FIRST
    text = path.read_bytes()
    path.write_bytes(text.replace(rb"\"version\": 1", rb"\"version\": 9"))
    with pytest.raises(InputError, match="format version 9, expected 1: update eitlens"):
        read_header(path)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_in_the_data_is_refused(tmp_path, bad):
    samples, _ = some_samples()
    samples.difference[1, 0, 5] = bad
    write_shard(tmp_path / FIRST, HEADER, samples)
    with pytest.raises(InputError, match=f"{FIRST}: 1 of 3 samples hold NaN or infinite.*delete it"):
        read_samples(tmp_path / FIRST, 0, 3)


def test_any_other_safetensors_file_is_refused(tmp_path):
    save_file({"weight": torch.zeros(3)}, tmp_path / FIRST)
    with pytest.raises(InputError, match="not a shard of an eitlens data set"):
        read_header(tmp_path / FIRST)


def test_wrong_shapes_are_refused(tmp_path):
    samples, _ = some_samples()
    write_shard(tmp_path / FIRST, Header("digest", 0, 4, 16, {"family": "cosine", "count": 2}, ""), samples)
    with pytest.raises(InputError, match=r"shape \(3, 2, 64\).*expected \(4, 2, 64\)"):
        read_header(tmp_path / FIRST)


def test_a_header_that_is_no_number_is_refused(tmp_path):
    header = replace(HEADER, start="none")  # a file can say anything
    write_shard(tmp_path / FIRST, header, some_samples()[0])
    with pytest.raises(InputError, match=f"{FIRST}: not a whole shard.*delete it"):
        read_header(tmp_path / FIRST)


def test_a_shard_without_one_of_its_tensors_is_refused(copied):
    path = copied / FIRST
    with safe_open(path, "pt") as file:
        names = list(file.keys())
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in names}
    del tensors["phantom.ellipse.rank"]
    save_file(tensors, path, metadata)
    with pytest.raises(InputError, match=f"{FIRST}: not a whole shard.*'rank'.*delete it"):
        read_samples(path, 0, 2)


class Bomb:
    """Unpickling it creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("dress", [False, True])
def test_a_malicious_pickle_runs_no_code(copied, dress):
    """Named like a shard or like the manifest, bare or behind the length of a safetensors header."""
    marker = copied / "ran"
    content = pickle.dumps(Bomb(marker))
    content = struct.pack("<Q", len(content)) + content if dress else content
    for name in (FIRST, "manifest.json"):
        (copied / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            Dataset.open(copied)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Bomb(marker))).close()
    assert marker.exists(), "the bomb itself works"


def test_the_metadata_say_what_the_shard_is(whole, tiny):
    header = verify(whole / FIRST)
    assert (header.start, header.stop, header.n, header.config) == (0, 5, 32, tiny.digest)
    assert header.made_with.startswith("eitlens 0.")
    assert json.loads((whole / "manifest.json").read_text())["made_with"] == [header.made_with]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="file: No space left on device: free some space and run the same"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
