import json

import pytest
from web_drawings import ELLIPSE, TRIANGLE, drawing

from eitlens.errors import InputError
from eitlens.phantom import files
from eitlens.web.schema import read_choice, read_drawing


def _read(**changes):
    return read_drawing(json.dumps(drawing(**changes)).encode())


def test_a_drawing_is_read():
    asked = _read(shapes=[ELLIPSE, TRIANGLE], tau=0.05)
    assert asked.phantom == files.from_dict({"shapes": [ELLIPSE, TRIANGLE]})
    assert (asked.currents, asked.tau, asked.seed, asked.models) == (3, 0.05, 1, ("tiny",))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"shapes": []}, "^shapes: expected a list of 1 to 12 shapes$"),
        ({"shapes": [ELLIPSE] * 13}, "1 to 12 shapes"),
        ({"shapes": {"kind": "ellipse"}}, "1 to 12 shapes"),
        ({"shapes": [ELLIPSE | {"center": [0.3, 1e9]}]}, "center"),
        ({"shapes": [ELLIPSE | {"semi_axes": [0.3, 0.0]}]}, "semi_axes"),
        ({"shapes": [ELLIPSE | {"conductivity": float("nan")}]}, "shape 0: conductivity: expected a number"),
        (
            {"shapes": [ELLIPSE, ELLIPSE | {"conductivity": 1e4}]},
            "shape 1: conductivity: expected 0.001 to 1000",
        ),
        ({"shapes": [ELLIPSE | {"kind": "cube"}]}, "'kind' must be one of ellipse, circle, polygon"),
        ({"shapes": [TRIANGLE | {"vertices": [[0, 0], [0.1, 0.1]]}]}, "vertices"),
        (
            {"shapes": [TRIANGLE | {"vertices": [[0.01 * k, 0.5] for k in range(60)]}] * 5},
            "in all, got 60 and 300",
        ),
        ({"shapes": [TRIANGLE | {"vertices": [[0.01 * k, 0.5] for k in range(65)]}]}, "at most 64 a polygon"),
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
