"""Reading data sets, and `check`."""

import json
import shutil

import pytest
import torch

from eitlens.dataset import DataConfig, Dataset, check
from eitlens.dataset.manifest import FILE
from eitlens.dataset.samples import pack
from eitlens.dataset.shard import Header, read_header, shard_name, write_shard
from eitlens.errors import InputError


def change(folder, **values):
    path = folder / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_splits_are_ranges_of_the_index(whole):
    dataset = Dataset.open(whole)
    splits = {name: dataset.split(name) for name in ("train", "validation", "test")}
    assert {name: len(s) for name, s in splits.items()} == {"train": 13, "validation": 5, "test": 6}
    assert torch.cat([s.index for s in splits.values()]).tolist() == list(range(24))
    assert splits["train"].difference.shape == (13, 3, 128)
    assert splits["train"].difference.dtype == torch.float64
    assert splits["test"].mask.shape == (6, 33, 33)
    assert len(splits["validation"].phantoms) == 5


def test_no_phantom_is_in_two_splits(whole):
    rows = Dataset.open(whole).read(0, 24).phantoms.groups[0].parameters.flatten(1)
    assert len(torch.unique(rows, dim=0)) == 24


def test_reading_across_shards(whole):
    dataset = Dataset.open(whole)
    everything, part = dataset.read(0, 24), dataset.read(3, 17)
    assert torch.equal(part.difference, everything.difference[3:17])
    assert torch.equal(part[torch.tensor([4, 0])].mask, everything.mask[[7, 3]])
    assert len(dataset.split("train", limit=4)) == 4


def test_what_the_data_set_says_of_itself(whole, tiny):
    dataset = Dataset.open(whole)
    assert dataset.config == tiny
    assert dataset.domain.n == 32
    assert dataset.currents.shape == (3, 128)
    assert len(dataset) == 24


def test_bad_ranges(whole):
    dataset = Dataset.open(whole)
    with pytest.raises(InputError, match=r"samples 20 … 24 asked for, it has 0 … 23"):
        dataset.read(20, 25)
    with pytest.raises(InputError, match="split must be one of train, validation, test"):
        dataset.split("valid")


def test_an_empty_split(copied):
    change(copied, splits={"train": [0, 24], "validation": [24, 24], "test": [24, 24]})
    with pytest.raises(InputError, match="its test split is empty"):
        Dataset.open(copied).split("test")


def test_no_manifest_means_no_data_set(copied):
    (copied / FILE).unlink()
    with pytest.raises(InputError, match=r"manifest.json: no such file: not a data set, or not finished"):
        Dataset.open(copied)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"version": 2}, "format version 2, this eitlens reads 1: update eitlens"),
        ({"format": "parquet"}, "not the manifest of an eitlens data set"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"shards": []}, "run `eitlens generate` again"),
        ({"splits": {"train": [0, 99], "validation": [0, 0], "test": [0, 0]}}, "beyond its 24 samples"),
        ({"splits": {}}, "not as eitlens writes it"),
        ({"n": 64}, r"the manifest says \(0, 5, 64, 3, 'cosine'\)"),
        ({"currents": {"family": "sine", "count": 3}}, r"the manifest says \(0, 5, 32, 3, 'sine'\)"),
        ({"currents": {"family": "cosine", "count": 2}}, "the manifest says"),
    ],
)
def test_a_manifest_that_does_not_fit(copied, values, message):
    change(copied, **values)
    with pytest.raises(InputError, match=message) as caught:
        Dataset.open(copied)
    assert str(copied) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_manifest_cannot_point_outside_the_folder(copied):
    shards = json.loads((copied / FILE).read_text())["shards"]
    shards[0]["file"] = f"../{copied.name}/{shards[0]['file']}"
    change(copied, shards=shards)
    with pytest.raises(InputError, match="damaged at"):
        Dataset.open(copied)


def test_a_manifest_cut_short(copied):
    (copied / FILE).write_text((copied / FILE).read_text()[:200])
    with pytest.raises(InputError, match=r"manifest.json: not a JSON file"):
        Dataset.open(copied)


def test_a_missing_shard(copied):
    (copied / shard_name(1)).unlink()
    with pytest.raises(InputError, match=r"shard-00001.safetensors: no such file"):
        Dataset.open(copied)


def test_check_finds_a_whole_set_sound(whole):
    seen = []
    summary = check(whole, lambda done, total: seen.append((done, total)))
    assert (summary.samples, summary.currents, summary.n, summary.shards) == (24, 3, 32, 5)
    assert summary.spot_checks == 20
    assert 0.02 < summary.area < 0.2
    assert seen[-1] == (24, 24)


def test_check_finds_a_flipped_bit(copied):
    path = copied / shard_name(3)
    content = bytearray(path.read_bytes())
    content[-2000] ^= 1
    path.write_bytes(content)
    Dataset.open(copied)
    with pytest.raises(InputError, match=r"shard-00003.safetensors: checksum mismatch"):
        check(copied)


def test_shards_of_another_data_set_are_found(copied, other, tmp_path_factory):
    """Whole in themselves, of the right shape, but not those of the manifest."""
    from eitlens.dataset import generate

    folder = tmp_path_factory.mktemp("other")
    generate(other, folder, device="cpu")
    shutil.copy(folder / shard_name(1), copied / shard_name(1))
    with pytest.raises(
        InputError, match=r"shard-00001.safetensors: of another data set than the first shard"
    ):
        Dataset.open(copied)
    for shard in Dataset.open(folder).manifest.shards:
        shutil.copy(folder / shard.file, copied / shard.file)
    with pytest.raises(InputError, match=r"shard-00000.safetensors: checksum mismatch with the manifest"):
        check(copied)


def rewritten(folder, harm):
    """The first shard with other content but every checksum right."""
    from eitlens.files import sha256

    path = folder / shard_name(0)
    samples = harm(Dataset.open(folder).read(0, 5))
    header = read_header(path)
    write_shard(path, Header(header.config, 0, 5, 32, header.currents, header.made_with), samples)
    shards = json.loads((folder / FILE).read_text())["shards"]
    shards[0] |= {"sha256": sha256(path), "bytes": path.stat().st_size}
    change(folder, shards=shards)


def test_check_finds_masks_that_are_not_the_phantoms(copied):
    def harm(samples):
        from dataclasses import replace

        return replace(samples, packed=pack(samples.mask.mT))

    rewritten(copied, harm)
    with pytest.raises(InputError, match="masks or σ do not show the phantoms"):
        check(copied)


def test_check_finds_phantoms_that_the_sampler_does_not_draw(copied):
    rewritten(copied, lambda samples: samples)
    config = DataConfig.from_dict(Dataset.open(copied).manifest.source["config"]).to_dict()
    config["sampler"]["seed"] += 1
    change(copied, source={"config": config})
    with pytest.raises(InputError, match="differs from what the sampler draws"):
        check(copied)


def test_check_finds_data_with_a_mean(copied):
    def harm(samples):
        samples.difference.add_(0.01)
        return samples

    rewritten(copied, harm)
    with pytest.raises(InputError, match=r"boundary data of mean 0.01, expected 0"):
        check(copied)
