import re
from pathlib import Path

import torch

import eitlens as eit
from eitlens.classical.merit import position_error

ROOT = Path(__file__).parents[2]


def code(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def test_the_code_for_users_of_pyeit_finds_the_target():
    names: dict[str, object] = {}
    (block,) = code("from_pyeit.md")
    exec(block, names)
    image = torch.as_tensor(names["image"])
    assert image.shape == (33, 33)
    assert position_error(eit.Disk(32), image, (0.4, 0.2)) < 0.05
    assert float(image.max()) > -2 * float(image.min())


def test_the_code_of_the_classical_page_finds_the_target():
    names: dict[str, object] = {}
    (block,) = code("classical.md")
    exec(block, names)
    assert position_error(eit.Disk(40), names["images"][0], (0.4, 0.2)) < 0.05
    assert float(names["doubt"].max()) > 0
