"""`eitlens compare`: several methods side by side, as typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import eitlens as eit
from eitlens.cli.main import app

PHANTOM = {
    "outside": 0.4,
    "shapes": [{"kind": "circle", "center": [0.35, 0.1], "radius": 0.25, "conductivity": 4}],
}


def eitlens(*words: object, status: int = 0, data: bytes | None = None) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], input=data)
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture(autouse=True)
def phantom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("phantom.json").write_text(json.dumps(PHANTOM))


@pytest.fixture
def square() -> None:
    eitlens(
        "simulate", "phantom.json", "--body", "square", "--electrodes", 32, "--snr", 60, "-o", "square.json"
    )


@pytest.fixture
def disk() -> None:
    eitlens("simulate", "phantom.json", "--body", "disk", "--electrodes", 16, "-o", "disk.json")


def test_a_network_reads_the_electrodes_of_a_square(square):
    words = ("compare", "square.json", "--truth", "phantom.json", "--n", 100)
    told = json.loads(
        eitlens(*words, "--json", "--methods", "network", "dsm", "index", "-o", "pictures/all.png")
    )
    scores = {one["method"]: one["scores"] for one in told["methods"]}
    assert list(scores) == ["network", "dsm", "index"]
    assert scores["network"]["dice"] > 0.8
    assert scores["network"]["dice"] > max(scores["dsm"]["dice"], scores["index"]["dice"])
    assert scores["network"]["position"] < 0.05
    assert scores["dsm"]["position"] < 0.15
    assert {one["error"] for one in scores.values()} == {None}
    assert told["methods"][0]["noise"] < 0.2
    assert Path("pictures/all.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def chest() -> None:
    eitlens("simulate", "phantom.json", "--body", "thorax", "--electrodes", 16, "-o", "chest.json")


def test_what_a_method_cannot_do_is_said_beside_what_others_can(chest):
    output = eitlens(
        "compare", "chest.json", "--n", 32, "-o", "image.png"
    )  # dsm and network, where none is named
    flat = " ".join(output.split())
    assert "no image by network: chest.json: the measurement is of a thorax" in flat
    assert "dsm" in flat.split("no image by")[0]
    told = json.loads(eitlens("compare", "chest.json", "--n", 32, "--json"))["methods"]
    assert "error" in told[1]
    assert "error" not in told[0]


def test_no_image_at_all_is_one_line(chest):
    output = eitlens("compare", "chest.json", "--methods", "network", status=2)
    assert "the measurement is of a thorax" in output
    assert len(output.strip().splitlines()) == 1


def test_methods_of_ones_own(disk):
    eit.register("method", "again", eit.registered("method")["dsm"])
    try:
        told = json.loads(
            eitlens("compare", "--methods", "again", "dsm", "--n", 32, "--json", "--", "disk.json")
        )
        assert [one["quantity"] for one in told["methods"]] == ["index", "index"]
    finally:
        eit.registered("method").pop("again")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--methods", "magic"), "no method is called 'magic'"),
        (("--methods", "minimise"), "the measurement is of a disk, and this method knows only the square"),
        (("-o", "image.gif"), "image.gif: pictures are written as .png, .pdf, .svg"),
        (("--truth", "none.json"), "none.json: No such file"),
        (("--truth", "disk.json"), "disk.json: phantom: unknown key"),
        (("--frames", 2), "there are no frames 2"),
    ],
)
def test_a_mistake_is_one_line(disk, words, said):
    output = eitlens("compare", "disk.json", *words, status=2)
    assert said in output.replace("\n", " ")
    assert len(output.strip().splitlines()) == 1
