"""Linear estimates of images from codes: exact where the truth is linear, and turning with the body."""

import math

import torch

from eitlens.classical.linear_images import LinearImages
from eitlens.feature.noisy_maps import WhiteCode
from eitlens.forward.rings import Rings
from eitlens.phantom.disk_images import LognormalTask

WAVES, COUNT = 8, 60


def example() -> tuple[WhiteCode, torch.Tensor, torch.Tensor]:
    task = LognormalTask(5)
    images = task.images(torch.arange(COUNT), 64)
    maps = Rings(8, 32, task.reach, False).differences(images, WAVES)
    code = WhiteCode.fit(maps, 40)
    return code, code.coordinates(maps), images.log()


def test_a_linear_truth_is_found():
    """Images that are made of codes by one estimator are found by another fitted to them."""
    code, z, images = example()
    first = LinearImages.fit(code, z, images)
    made = first(z, 129)
    again = LinearImages.fit(code, z, made)
    assert float((again(z, 129) - made).norm() / made.norm()) < 0.02


def test_it_explains_most_of_a_lognormal_image():
    code, z, images = example()
    found = LinearImages.fit(code, z, images)(z, 64)
    assert float((found - images).norm() / images.norm()) < 0.35


def test_the_estimate_turns_with_the_body():
    """By a quarter turn, which maps nodes to nodes: x ↦ y."""
    code, z, images = example()
    estimate = LinearImages.fit(code, z, images)
    quarter = code.turned(z, torch.full((COUNT,), math.pi / 2).double())
    assert torch.allclose(estimate(quarter, 33), estimate(z, 33).rot90(1, (1, 2)), atol=1e-6)
    assert torch.allclose(estimate(code.mirrored(z), 33), estimate(z, 33).flip(2), atol=1e-6)
