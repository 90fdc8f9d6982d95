"""Large networks in several files of 16-bit numbers."""

import json

import pytest
import torch
from safetensors.torch import load_file

from eitlens.errors import InputError
from eitlens.models import create, load, save, shards


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return {f"part.{k}": torch.randn(10, 10) for k in range(5)} | {"scale": torch.rand(3)}


def test_shards_are_small_and_come_back_whole(tensors, tmp_path):
    files = shards.write(tensors, tmp_path / "net.safetensors", limit=900)
    assert [file.name for file in files[:2]] == [
        "net-00001-of-00003.safetensors",
        "net-00002-of-00003.safetensors",
    ]
    assert all(sum(t.nbytes for t in load_file(file).values()) <= 900 for file in files)
    back = shards.read(tmp_path / "net.safetensors")
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)


def test_weights_are_as_readable_as_other_files(tensors, tmp_path):
    other = tmp_path / "other"
    other.write_text("")
    (file,) = shards.write(tensors, tmp_path / "weights.safetensors")
    assert file.stat().st_mode == other.stat().st_mode


def test_writing_again_leaves_no_shard_of_the_old_set(tensors, tmp_path):
    path = tmp_path / "net.safetensors"
    shards.write(tensors, path, limit=900)
    shards.write(tensors, path, limit=1300)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "net-00001-of-00002.safetensors",
        "net-00002-of-00002.safetensors",
    ]
    shards.write(tensors, path)
    assert [file.name for file in tmp_path.iterdir()] == ["net.safetensors"]


def test_a_missing_or_foreign_shard_is_named(tensors, tmp_path):
    path = tmp_path / "net.safetensors"
    files = shards.write(tensors, path, limit=900)
    content = files[1].read_bytes()
    files[1].unlink()
    with pytest.raises(InputError, match=r"net-00002-of-00003\.safetensors is missing: copy all 3 shards"):
        shards.read(path)
    files[1].write_bytes(content)
    (tmp_path / "net-00001-of-00004.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"of another set|is missing"):
        shards.read(path)


def test_compact_weights_are_half_the_size_and_close(tmp_path):
    torch.manual_seed(0)
    network = create("uit", width=8, resolution=32).eval()
    whole, small = save(network, tmp_path / "whole"), save(network, tmp_path / "small", compact=True)
    assert small.stat().st_size < 0.6 * whole.stat().st_size
    assert json.loads(small.with_suffix(".json").read_text())["preset"] == "uit"
    loaded = load(small)
    assert {tensor.dtype for tensor in loaded.parameters()} == {torch.float32}
    change = max(
        float((a - b).abs().max() / b.abs().max())
        for a, b in zip(loaded.state_dict().values(), network.state_dict().values(), strict=True)
        if float(b.abs().max()) > 0
    )
    assert 0 < change < 1 / 2000
