"""The score of the Kuopio challenge: its identities, and its windows against a direct sum."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from eitlens.errors import InputError
from eitlens.evaluate.ktc import ktc_score, similarity


def _disk(x: float, y: float, radius: float, size: int = 256) -> torch.Tensor:
    place = torch.arange(size) / size
    return (place[:, None] - y).square() + (place - x).square() < radius**2


def test_a_perfect_segmentation_scores_one() -> None:
    truth = _disk(0.3, 0.4, 0.1).long() + 2 * _disk(0.7, 0.6, 0.15).long()
    assert float(ktc_score(truth, truth)) == pytest.approx(1.0, abs=1e-12)


def test_an_empty_class_left_empty_is_half_of_the_score() -> None:
    truth = 2 * _disk(0.5, 0.5, 0.2).long()
    water = torch.zeros_like(truth)
    assert float(ktc_score(water, water)) == pytest.approx(1.0, abs=1e-12)
    missed = float(ktc_score(truth, water))
    assert missed == pytest.approx((1 + float(similarity((truth == 2).double(), water.double()))) / 2)
    assert 0.5 < missed < 0.52


def test_classes_count_and_places_count() -> None:
    truth = _disk(0.4, 0.5, 0.15).long()
    assert float(ktc_score(truth, 2 * truth)) < 0.05
    near, far = (float(ktc_score(truth, _disk(x, 0.5, 0.15).long())) for x in (0.43, 0.55))
    assert 1 > near > far


def test_the_similarity_is_symmetric_and_batched() -> None:
    one, other = _disk(0.4, 0.5, 0.15).double(), _disk(0.5, 0.55, 0.2).double()
    both = similarity(torch.stack([one, other]), torch.stack([other, one]))
    assert float(both[0]) == pytest.approx(float(both[1]), abs=1e-12)
    assert float(similarity(one, other)) == pytest.approx(float(both[0]), abs=1e-12)


def test_a_pixel_agrees_with_the_sum_over_its_window() -> None:
    """The window of pixel (20, 130) of the definition, summed pixel by pixel."""
    generator = torch.Generator().manual_seed(1)
    t, r = ((torch.rand(200, 200, generator=generator) > 0.6).double() for _ in range(2))
    rows, columns = torch.arange(200)[:, None] - 20, torch.arange(200) - 130
    near = (rows.abs() <= 160) & (columns.abs() <= 160)
    weight = torch.exp(-(rows**2 + columns**2).double() / (2 * 80**2)) * near
    weight = weight / weight.sum()
    mean_t, mean_r = (weight * t).sum(), (weight * r).sum()
    from eitlens.evaluate.ktc import _windowed

    assert float(_windowed(t)[20, 130]) == pytest.approx(float(mean_t), abs=1e-12)
    covariance = (weight * (t - mean_t) * (r - mean_r)).sum()
    found = _windowed(t * r) - _windowed(t) * _windowed(r)
    assert float(found[20, 130]) == pytest.approx(float(covariance), abs=1e-12)


def test_segmentations_of_two_sizes_are_refused() -> None:
    with pytest.raises(InputError):
        ktc_score(torch.zeros(256, 256, dtype=torch.int64), torch.zeros(128, 128, dtype=torch.int64))


def test_the_recorded_segmentations_of_the_challenge():
    """They are what the challenge asks for, and the method that made them sees the training targets."""
    folder = Path(__file__).parents[2] / "results" / "ktc2023"
    for name in ("segmentations", "segmentations_original", "segmentations_network"):
        stored = np.load(folder / f"{name}.npz", allow_pickle=False)
        assert set(stored.files) == {f"level_{k}_{j}" for k in range(1, 8) for j in range(1, 4)}
        assert all(stored[key].shape == (256, 256) for key in stored.files)
        assert {int(value) for key in stored.files for value in np.unique(stored[key])} == {0, 1, 2}
    scores = json.loads((folder / "network.json").read_text())["training"]
    for kinds in scores.values():
        assert sum(kinds["refined"][0]) / len(kinds["refined"][0]) >= 0.95
        assert all(sum(row) / len(row) >= 0.8 for row in kinds["network"])
