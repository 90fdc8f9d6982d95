import json

import pytest
import torch

from eitlens.errors import InputError
from eitlens.evaluate.calibration import reliability
from eitlens.imaging.calibration import FILE, Calibration, fit_temperature


def test_the_temperature_of_over_confident_logits_is_found():
    """Outcomes drawn with p = sigmoid(z), logits reported three times too large: T = 3."""
    generator = torch.Generator().manual_seed(0)
    z = 2 * torch.randn(64, 1000, generator=generator)
    t = (torch.rand(64, 1000, generator=generator) < torch.sigmoid(z)).float()
    found = fit_temperature(3 * z, t)
    assert found == pytest.approx(3.0, rel=0.03)
    assert reliability(3 * z / found, t).error() < 0.01 < 0.1 < reliability(3 * z, t).error()


def test_between_levels_it_is_linear_and_beyond_constant():
    one = Calibration((0.0, 0.1), (1.0, 2.0), misfits=(0.02, 0.12))
    assert [one.temperature(t) for t in (None, 0.0, 0.05, 0.1, 0.9)] == pytest.approx([1, 1, 1.5, 2, 2])
    assert [one.misfit(t) for t in (0.05, 0.9, None)] == pytest.approx([0.07, 0.12, 0.12])
    assert float(one.probability(torch.tensor(3.0), 0.1)) == pytest.approx(
        torch.sigmoid(torch.tensor(1.5)).item()
    )
    assert float(one.probability(torch.tensor(0.0), 0.1)) == 0.5


def test_on_disk_and_back_with_fewer_currents(tmp_path):
    one = Calibration((0.0, 0.2), (1.1, 1.4), ((0.1, 0.3),), (0.1, 0.2), 10.0, 7, {1: Calibration()})
    (tmp_path / FILE).write_text(json.dumps(one.to_dict()))
    assert Calibration.read(tmp_path) == one
    assert one.reading(1) == Calibration()
    assert one.reading(3) is one
    assert Calibration.read(tmp_path / "nowhere") == Calibration()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"levels": 3}',
        '{"levels": [0.1, 0.0], "temperatures": [1, 1]}',
        '{"temperatures": [0]}',
        '{"t": 1}',
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match="calibration") as raised:
        Calibration.read(tmp_path)
    assert "\n" not in str(raised.value)
