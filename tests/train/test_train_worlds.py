"""Training of classes and log σ: it learns, resumes to the bit, and its image shows classes and σ."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from eitlens.errors import InputError
from eitlens.evaluate.score import score
from eitlens.feed import Noise
from eitlens.imaging import Imager
from eitlens.measure import Measurement
from eitlens.models.trained import Trained, save_compact
from eitlens.train import NetworkConfig, preset, train
from eitlens.train.folder import read_log
from eitlens.train.supply import Supply

TINY = {
    "modes": 16,
    "width": 64,
    "layers": 1,
    "heads": 2,
    "grid": 4,
    "hidden": 64,
    "waves": 2,
    "amplitudes": 2,
    "fine": 8,
}
SMOKE = preset("worlds-smoke")
RUN = replace(
    SMOKE,
    network=NetworkConfig("worlds", TINY),
    data=replace(
        SMOKE.data,
        stream=replace(SMOKE.data.stream, train=20, validation=6, test=6),
        block=16,
        bank=16,
        validation=6,
    ),
    batch=8,
    samples=96,
    log_every=5,
    validate_every=10,
    checkpoint_every=0.0,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("worlds") / "run"
    assert train(RUN, made, device="cpu") is not None
    return made


def test_it_learns_and_validates_the_classes(folder):
    rows = read_log(folder / "log.csv")
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])
    for name in RUN.metrics:
        assert float(rows[-1][name]) >= 0


def test_stopped_and_resumed_it_is_the_same_run(folder, tmp_path):
    assert train(RUN, tmp_path / "run", device="cpu", stop_after=0) is None
    assert train(RUN, tmp_path / "run", device="cpu") is not None
    one, other = (load_file(where / "last.safetensors") for where in (folder, tmp_path / "run"))
    assert all(torch.equal(part, other[name]) for name, part in one.items())


def test_it_is_scored_by_its_classes_too(folder, tmp_path):
    samples = Supply.open(RUN.data).split("test", torch.device("cpu"))
    found = score(Trained.load(folder), samples, 0.05)
    assert {"dice_conductive", "coverage", "sigma_inside", "hard_dice"} <= set(found.metrics)
    assert 0 <= found.metrics["coverage"].mean <= 1
    save_compact(folder, "best", tmp_path)
    again = score(Trained.load(tmp_path, "best"), samples, 0.05)
    assert again.metrics["hard_dice"].mean == pytest.approx(found.metrics["hard_dice"].mean, abs=0.1)


def test_its_image_shows_classes_and_sigma(folder):
    samples = Supply.open(RUN.data).split("test", torch.device("cpu"))
    for symmetries in (False, True):
        found = Imager.load(folder, symmetries=symmetries)(Measurement.of_difference(samples.difference[0]))
        assert (found.quantity, found.image.shape) == ("sign", (33, 33))
        assert found.phases is not None
        total = found.phases.probabilities.sum(0)
        torch.testing.assert_close(total, torch.ones_like(total))
        assert bool((found.phases.deviation > 0).all())
        assert found.misfit is not None
        assert set(found.arrays) >= {"log_sigma", "deviation", "probabilities"}


def test_what_does_not_fit_together_is_refused(tmp_path):
    for wrong in (
        replace(RUN, loss="bce", select="cross_entropy"),
        replace(RUN, data=replace(RUN.data, stream=replace(RUN.data.stream, sigma=False))),
        replace(RUN, input="gaussian"),
    ):
        with pytest.raises(InputError):
            train(wrong, tmp_path / "wrong", device="cpu")


def test_white_noise_joins_the_papers():
    noise = Noise((0.05,), white=(0.1, 0.1))
    data = torch.randn(900, 1, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    data = data - data.mean(-1, keepdim=True)
    left = noise.apply(data, 3, 0, torch.arange(900)) - data
    size = left.square().mean((1, 2)).sqrt() / data.square().mean((1, 2)).sqrt()
    kinds = [((size - level).abs() < 0.02).double().mean() for level in (0.05, 0.1, 0.112)]
    assert kinds[0] == pytest.approx(1 / 3, abs=0.05)
    assert float((size > 0.075).double().mean()) == pytest.approx(2 / 3, abs=0.05)
    assert torch.equal(
        noise.apply(data[5:9], 3, 0, torch.arange(5, 9)), noise.apply(data, 3, 0, torch.arange(900))[5:9]
    )
    with pytest.raises(InputError):
        Noise((0.0,), white=(0.2, 0.1))
