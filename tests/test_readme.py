"""What the README and the quick start of the paper tell a user to type works, with a number asserted."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(page: str) -> dict[str, object]:
    """The names that the Python of a page leaves behind."""
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S):
        exec(code, names)
    return names


def test_the_readme_images_a_tank():
    names = run("README.md")
    image, tank = names["image"], names["tank"].at(100)
    assert tuple(names["frame"].shape) == (208,)
    lowest = tank.nodes().flatten(0, 1)[image.argmin()]
    assert float((lowest - lowest.new_tensor([0.3, 0.2])).norm()) < 0.1


def test_the_paper_is_imaged_in_a_minute():
    names = run("docs/the_paper.md")
    assert tuple(names["df"].shape) == (3, 800)
    assert tuple(names["phi"].shape) == (3, 201, 201)
    assert tuple(names["index"].shape) == tuple(names["image"].shape) == (201, 201)
    assert names["result"].dice(names["phantom"]) > 0.95
    assert abs(names["result"].noise - 0.05) < 0.01
    assert names["result"].warnings == ()
    # More conductive than its surroundings: the body resists less, (g, f - f0) < 0.
    assert float((names["currents"] * names["df"]).sum(-1).max()) < 0
