"""Large networks in several files, and in 8 bits."""

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
    with pytest.raises(InputError, match=r"net-00002-of-00003\.safetensors is missing"):
        shards.read(path)
    files[1].write_bytes(content)
    (tmp_path / "net-00001-of-00004.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"of another set|is missing"):
        shards.read(path)


@pytest.mark.parametrize("name", ["uit", "fno", "mwo", "flagship"])
def test_compact_weights_are_a_quarter_of_the_size_and_close(name, tmp_path):
    torch.manual_seed(0)
    network = create(name).eval()
    whole, small = save(network, tmp_path / "whole"), save(network, tmp_path / "small", compact=True)
    assert sum(f.stat().st_size for f in shards.find(small)) < 0.28 * whole.stat().st_size
    assert json.loads(small.with_suffix(".json").read_text())["preset"] == name
    loaded = load(small)
    assert {tensor.dtype for tensor in loaded.parameters()} == {torch.float32}
    change = max(
        float((a - b).abs().max() / b.abs().max())
        for a, b in zip(loaded.state_dict().values(), network.state_dict().values(), strict=True)
        if float(b.abs().max()) > 0
    )
    assert 0 < change < 1 / 253


def test_each_group_is_rounded_by_its_own_scale():
    """Rows that differ by powers of ten keep two digits each."""
    torch.manual_seed(0)
    rows = (torch.randn(30, 2200) * 10.0 ** torch.arange(-27, 3).double()[:, None]).float()
    rows[3] = 0
    found = shards.compacted({"rows": rows})
    assert found["rows"].dtype == torch.int8
    largest = rows.abs().amax(1, keepdim=True)
    assert torch.all((shards.expanded(found)["rows"] - rows).abs() <= largest / 253)


def test_small_matrices_take_16_bits_and_vectors_all_of_theirs():
    torch.manual_seed(0)
    small = torch.randn(255, 257)
    exact = {"vector": torch.randn(2**17), "whole": torch.arange(2**17).view(2, -1)}
    found = shards.compacted({"small": small, **exact})
    assert found["small"].dtype == torch.float16
    back = shards.expanded(found)
    assert torch.allclose(back["small"], small, rtol=1 / 2000, atol=1e-7)
    assert all(torch.equal(back[name], tensor) for name, tensor in exact.items())


def test_compacting_again_changes_nothing():
    """So that the digest of weights is that of their copy."""
    torch.manual_seed(0)
    given = {
        "a": torch.randn(130, 64, 3, 3),
        "b": 1e-6 * torch.randn(7, 100, 100),
        "small": torch.randn(9, 9),
    }
    once = shards.compacted(given)
    again = shards.compacted(shards.expanded(once))
    assert once.keys() == again.keys() == {"a", "a/scale", "b", "b/scale", "small"}
    assert all(torch.equal(once[name], again[name]) for name in once)
    assert once["a/scale"].shape == (130, 9)
    assert once["b/scale"].shape == (700, 2)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e6])
@pytest.mark.parametrize("size", [10, 300])
def test_numbers_too_large_for_16_bits_stay(value, size):
    broken = torch.full((size, size), value)
    assert shards.compacted({"a": broken})["a"] is broken


def test_weights_of_16_bits_still_load(tmp_path):
    torch.manual_seed(0)
    network = create("uit", width=8, resolution=32).eval()
    path = save(network, tmp_path / "old")
    halves = {k: t.half() if t.ndim > 1 else t for k, t in shards.read(path).items()}
    shards.write(halves, path)
    for name, tensor in load(path).state_dict().items():
        assert torch.equal(tensor, halves[name].to(tensor.dtype))


def test_a_scale_without_its_tensor_is_named(tensors):
    with pytest.raises(InputError, match="lost/scale: no tensor lost"):
        shards.expanded({"lost/scale": torch.ones(3)})
