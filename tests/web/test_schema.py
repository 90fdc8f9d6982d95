import json

import pytest
from web_drawings import ELLIPSE, TRIANGLE, drawing

from eitlens.errors import InputError
from eitlens.web.schema import read_choice, read_drawing


def _read(**changes):
    return read_drawing(json.dumps(drawing(**changes)).encode())


def test_a_drawing_is_read():
    asked = _read(shapes=[ELLIPSE, TRIANGLE], tau=0.05)
    assert [shape.kind for shape in asked.shapes] == ["ellipse", "polygon"]
    assert asked.shapes[1].vertices[2] == (-0.3, -0.1)
    assert (asked.currents, asked.tau, asked.seed, asked.models) == (3, 0.05, 1, ("tiny",))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"shapes": []}, "shapes"),
        ({"shapes": [ELLIPSE] * 13}, "shapes"),
        ({"shapes": [ELLIPSE | {"center": [0.3, 2.0]}]}, "center"),
        ({"shapes": [ELLIPSE | {"semi_axes": [0.3, 0.0]}]}, "semi_axes"),
        ({"shapes": [ELLIPSE | {"conductivity": float("nan")}]}, "conductivity"),
        ({"shapes": [ELLIPSE | {"kind": "cube"}]}, "shapes"),
        ({"shapes": [TRIANGLE | {"vertices": [[0, 0], [0.1, 0.1]]}]}, "vertices"),
        ({"shapes": [TRIANGLE | {"vertices": [[0.01 * k, 0.5] for k in range(60)]}] * 5}, "300 vertices"),
        ({"currents": 4}, "currents"),
        ({"currents": "3"}, "currents"),
        ({"tau": -0.1}, "tau"),
        ({"seed": 2**40}, "seed"),
        ({"models": ["../../etc"]}, "models"),
        ({"client": ""}, "client"),
        ({"path": "/etc/passwd"}, "path"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(changes, told):
    with pytest.raises(InputError, match=told) as caught:
        _read(**changes)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'"' + b"a" * 1000 + b'"']
)
def test_bad_json_is_refused(body):
    with pytest.raises(InputError):
        read_drawing(body)


def test_a_choice_of_networks():
    assert read_choice("me", "a,b-2").models == ("a", "b-2")
    assert read_choice("me", "").models == ()
    with pytest.raises(InputError, match="models"):
        read_choice("me", "a,b,c,d,e")
