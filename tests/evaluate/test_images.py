"""Scores of images of all kinds, by hand."""

import pytest
import torch

import eitlens as eit
from eitlens.evaluate import images
from eitlens.phantom import conductivity

BODY = eit.Square(40)
GRID = 0.01  # a fifth of a cell: nodes on a circle fall in or out by rounding


def _disk(x: float, y: float, radius: float) -> torch.Tensor:
    return eit.indicator(BODY, eit.Phantom([eit.circle((x, y), radius)]))


def _gray(mask: torch.Tensor) -> torch.Tensor:
    return 0.2 + 0.1 * mask.double()


def test_the_threshold_between_two_classes_by_trying_all():
    values = torch.cat([torch.randn(40, generator=torch.manual_seed(1)), 4 + torch.randn(25)]).double()
    level = images.otsu(values)

    def between(cut):
        low, high = values[values <= cut], values[values > cut]
        return len(low) * len(high) * float(high.mean() - low.mean()) ** 2

    assert between(level) == pytest.approx(max(between(cut) for cut in values.sort()[0][:-1]))


@pytest.mark.parametrize(
    ("quantity", "image"),
    [
        ("probability", lambda mask: 0.9 * mask.double()),
        ("index", _gray),
        ("change", lambda mask: -2.0 * mask.double()),
        ("conductivity", lambda mask: 0.3 - 0.29 * mask.double()),
        ("conductivity", lambda mask: 0.3 + 20 * mask.double()),
        ("conductivity", lambda mask: 0.3 - 0.3 * mask.double()),
    ],
)
def test_what_an_image_shows(quantity, image):
    mask = _disk(0.3, -0.2, 0.3)
    assert torch.equal(images.foreground(image(mask), quantity, BODY), mask)


def test_a_conductor_does_not_hide_an_insulator_of_the_same_ratio():
    circles = [eit.circle((-0.4, 0.0), 0.2), eit.circle((0.4, 0.0), 0.3)]
    phantom = eit.Phantom(circles, [1.5, 0.06], outside=0.3)
    truth = conductivity(BODY, phantom)
    for image, quantity in ((truth - 0.3, "change"), (truth, "conductivity")):
        assert images.scores(image, quantity, BODY, phantom) == (0.0, 1.0, 0.0)
    # A linear image may go below zero: such nodes depart as an insulator's do.
    beyond = torch.where(truth < 0.1, -1.0, truth - 0.3)
    assert images.scores(beyond, "change", BODY, phantom).dice == 1.0


def test_nothing_is_shown_outside_the_body():
    disk = eit.Disk(40)
    image = torch.where(disk.inside(), 0.5, 0.0).double()
    image[20, 20] = 1.0
    assert int(images.foreground(image, "conductivity", disk).sum()) == 1


def test_position_of_one_and_of_two():
    one = images.position_error(_disk(0.2, 0.0, 0.2), _disk(0.3, 0.0, 0.2), BODY)
    assert one == pytest.approx(0.1, abs=GRID)
    truth = _disk(0.5, 0.0, 0.2) | _disk(-0.5, 0.0, 0.2)
    both = images.position_error(_disk(0.5, 0.1, 0.2) | _disk(-0.5, 0.0, 0.1), truth, BODY)
    assert both == pytest.approx(0.05, abs=GRID)
    # What is not seen is as far off as the nearest node of what is.
    half = images.position_error(_disk(0.5, 0.0, 0.2), truth, BODY)
    assert half == pytest.approx((0 + 0.8) / 2, abs=GRID)
    assert images.position_error(_disk(0.5, 0.0, 0.2) & False, truth, BODY) is None


def test_dice_by_hand():
    left, right = torch.zeros(41, 41, dtype=torch.bool), torch.zeros(41, 41, dtype=torch.bool)
    left[10:20, 10:20], right[15:25, 15:25] = True, True
    assert images.dice(left, right) == 2 * 25 / 200
    assert images.dice(left & False, right & False) == 1


def test_relative_error_of_a_conductivity_and_of_its_change():
    phantom = eit.Phantom([eit.circle((0.0, 0.0), 0.5)], 3.0, 0.5)
    truth = torch.where(_disk(0, 0, 0.5), 3.0, 0.5).double()
    flat = torch.full_like(truth, 0.5)
    expected = float((truth - flat).norm() / truth.norm())
    for image, quantity in ((flat, "conductivity"), (0 * flat, "change")):
        assert images.scores(image, quantity, BODY, phantom).error == pytest.approx(expected)
    assert images.scores(truth, "conductivity", BODY, phantom) == (0.0, 1.0, 0.0)
    assert images.scores(truth - 0.5, "change", BODY, phantom).error == 0.0
    assert images.scores(0.1 * truth, "index", BODY, phantom).error is None
