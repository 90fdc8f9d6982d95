"""What the README tells a user to type works, with a number asserted."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_python_examples_run():
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", README.read_text(), re.S):
        exec(code, names)
    assert tuple(names["volts"].shape) == (208,)
    assert tuple(names["df"].shape) == (3, 800)
    assert tuple(names["phi"].shape) == (3, 201, 201)
    assert tuple(names["index"].shape) == tuple(names["image"].shape) == (201, 201)
    assert names["result"].dice(names["phantom"]) > 0.95
    assert abs(names["result"].noise - 0.05) < 0.01
    assert names["result"].warnings == ()
    # More conductive than its surroundings: the body resists less, (g, f - f0) < 0.
    assert float((names["currents"] * names["df"]).sum(-1).max()) < 0
