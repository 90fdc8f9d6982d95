"""Numbers of pages and their sources: notes below paragraphs, tables made of their own files."""

import re
from pathlib import Path

import pytest

from eitlens.errors import InputError
from eitlens.paper.page import Places
from eitlens.paper.quotes import composed, refresh, refreshed, sources, tables

ROOT = Path(__file__).parents[2]
PLACES = Places(ROOT)
NOW = {"a b": "0.9", "c d": "12", "e f": "0.05", "gone": "–"}.__getitem__
TABLE = {"one": {"heads": ["", "x"], "rows": [["word", "{a b} ± {c d}"], ["other", "–"]]}}


def test_numbers_in_prose_follow_their_note():
    text = "First 0.7.\n\nFrom 0.8 to 3,\nat τ = 0.05.\n<!-- 0.8 = a b; 3 = c d -->\n\nLast 0.8.\n"
    assert refreshed(text, {}, NOW) == (
        "First 0.7.\n\nFrom 0.9 to 12,\nat τ = 0.05.\n<!-- 0.9 = a b; 12 = c d -->\n\nLast 0.8.\n"
    )


def test_each_item_of_a_list_has_its_note():
    text = "- Dice 0.8\n  <!-- 0.8 = a b -->\n- Dice 0.8\n  <!-- 0.8 = c d -->\n"
    assert refreshed(text, {}, NOW) == "- Dice 0.9\n  <!-- 0.9 = a b -->\n- Dice 12\n  <!-- 12 = c d -->\n"


def test_a_long_note_of_an_item_stays_in_it():
    """Less indented it would end the item, and the rest of the comment would be shown."""
    numbers = [f"0.{k}" for k in range(11, 41)]
    text = "- " + " ".join(numbers) + "\n  <!-- " + "; ".join(f"{each} = a b" for each in numbers) + " -->\n"
    lines = refreshed(text, {}, NOW).splitlines()
    assert len(lines) > 3
    assert all(line.startswith("  ") for line in lines[1:])


def test_a_note_is_put_into_the_order_of_its_text():
    """So that numbers that are alike for a time keep their sources when they differ again."""
    text = "First 0.7, then 3.\n<!-- 3 = c d; 0.7 = a b -->\n"
    assert refreshed(text, {}, NOW) == "First 0.9, then 12.\n<!-- 0.9 = a b; 12 = c d -->\n"


def test_a_number_is_told_from_others_by_the_words_before_it():
    text = "At τ = 0.05 it is\n0.05.\n<!-- it is 0.05 = a b -->\n"
    assert refreshed(text, {}, NOW) == "At τ = 0.05 it is\n0.9.\n<!-- it is 0.9 = a b -->\n"


def test_alike_numbers_keep_their_order_and_no_part_of_another_is_taken():
    text = "7 and 7, but -7, 7.1, 17 and 1,7.\n<!-- 7 = a b; 7 = c d -->\n"
    assert refreshed(text, {}, NOW) == "0.9 and 12, but -7, 7.1, 17 and 1,7.\n<!-- 0.9 = a b; 12 = c d -->\n"


def test_a_number_that_is_not_known_yet_is_a_dash_and_comes_back():
    text = "It is 0.4.\n<!-- is 0.4 = gone -->\n"
    dash = refreshed(text, {}, NOW)
    assert dash == "It is –.\n<!-- is – = gone -->\n"
    assert refreshed(dash, {}, lambda source: "0.4") == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "0.8 and 0.8.\n<!-- 0.8 = a b -->\n",
            "'0.8' stands 2 times in '0.8 and 0.8.'…, its note names it 1 times",
        ),
        ("None.\n<!-- 0.8 = a b -->\n", "stands 0 times"),
        ("0.8.\n<!-- 0.8 = a b; 0.9 -->\n", "expected NUMBER = SOURCE"),
        ("<!-- table two -->\n\n| a |\n", "table two -->: no such table: there are one"),
    ],
)
def test_doubts_are_errors(text, message):
    with pytest.raises(InputError, match=message):
        refreshed(text, TABLE, NOW)


def test_a_table_is_made_of_its_file():
    text = "Before.\n\n<!-- table one -->\n\n| old |\n|---|\n\nAfter.\n"
    made = "| | x |\n| --- | ---: |\n| word | 0.9 ± 12 |\n| other | – |\n".replace("| | x", "|  | x")
    assert refreshed(text, TABLE, NOW) == f"Before.\n\n<!-- table one -->\n\n{made}\nAfter.\n"


def test_rows_that_differ_in_a_name():
    spec = {
        "heads": ["net", "Dice", "paper"],
        "each": ["{table1/*/0 b}", "{paper/* b}"],
        "rows": [["UIT", "uit"]],
    }
    assert composed(spec, str).splitlines()[-1] == "| UIT | table1/uit/0 b | paper/uit b |"


def test_a_file_of_tables_that_is_none(tmp_path):
    places = Places(tmp_path)
    places.tables.mkdir(parents=True)
    (places.tables / "page.toml").write_text("[")
    with pytest.raises(InputError, match=r"page\.toml: no TOML"):
        tables(tmp_path / "docs/page.md", places)


@pytest.mark.parametrize("page", PLACES.quoting, ids=lambda page: page.name)
def test_pages_say_what_the_result_files_say(page):
    text = page.read_text()
    assert text == refresh(page, PLACES), "run `eitlens benchmark table1`"
    assert "<!--=" not in text, "sources stand below their paragraph: see eitlens.paper.quotes"


def test_every_table_of_a_file_stands_in_its_page():
    pages = {page.stem.lower(): page for page in PLACES.quoting}
    for file in PLACES.tables.glob("*.toml"):
        text = pages[file.stem].read_text()
        for name in tables(pages[file.stem], PLACES):
            assert f"<!-- table {name} -->" in text, f"{file}: [{name}]"


def test_the_networks_and_the_findings_have_sources():
    for name in ("docs/networks.md", "docs/findings.md", "docs/theory.md"):
        assert len(sources(ROOT / name, PLACES)) >= 10


@pytest.mark.parametrize("page", PLACES.quoting, ids=lambda page: page.name)
def test_no_line_within_a_sentence_begins_a_list(page):
    """A formula broken before its plus sign would be shown as an item."""
    assert not re.search(r"^\s*\+ ", page.read_text(), re.M)
