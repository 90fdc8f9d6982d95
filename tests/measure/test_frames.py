"""Which frames of a sequence, in words."""

import pytest
import torch

import eitlens as eit
from eitlens.errors import InputError
from eitlens.measure.frames import choose, numbers, origins

TANK = eit.Electrodes.even(eit.Disk(32), 16), eit.Pattern.named("adjacent", 16)


@pytest.fixture
def data() -> eit.Measurement:
    """Thirty frames; all readings of frame k, counted from 1, are k."""
    volts = torch.arange(1, 31, dtype=torch.float64)[:, None].expand(-1, 208)
    return eit.Measurement.of_electrodes(*TANK, volts, times=torch.arange(30) / 10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", [7]), ("1-3", [1, 2, 3]), ("29-", [29, 30]), ("1-2,9, 30", [1, 2, 9, 30]), ("5,5,4", [5, 5, 4])],
)
def test_frames_in_words(text, expected):
    assert [k + 1 for k in numbers(text, 30)] == expected


@pytest.mark.parametrize("text", ["", "a", "0", "0-3", "31", "3-2", "20-31", "1,,2", "-3", "1--3", "9" * 12])
def test_frames_that_are_not_there(text):
    with pytest.raises(InputError):
        numbers(text, 30)


def test_frames_reference_and_average(data):
    found = choose(data, "11-27", "1-3,8", average=5)
    assert found.voltages[:, 0].tolist() == [13, 18, 23]
    assert float(found.baseline[0]) == (1 + 2 + 3 + 8) / 4
    assert found.times.tolist() == pytest.approx([1.2, 1.7, 2.2])
    assert origins(data.frames, "11-27", 5) == [11, 16, 21]


def test_a_gap_in_one_frame_is_none_in_an_average(data):
    volts = data.voltages.clone()
    volts[4, 7] = torch.nan
    found = choose(eit.Measurement.of_electrodes(*TANK, volts), average=5)
    assert float(found.voltages[0, 7]) == 2.5
    assert bool(found.present.all())


@pytest.mark.parametrize("wishes", [{"frames": "1"}, {"reference": "1"}, {"average": 2}])
def test_a_measurement_at_points_is_one_frame(wishes):
    with pytest.raises(InputError, match="one frame and its own reference"):
        choose(eit.Measurement.of_difference(torch.zeros(3, 800, dtype=torch.float64)), **wishes)


def test_nothing_is_asked_and_nothing_is_done(data):
    assert choose(data) is data
    assert choose(data, average=1) is data
