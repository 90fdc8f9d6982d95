from pathlib import Path

from eitlens.paper.classical import refresh_classical, study

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_numbers_of_the_result_files():
    text = (ROOT / "docs" / "classical.md").read_text()
    assert refresh_classical(text, ROOT) == text


def test_a_method_that_is_missing_at_a_level_has_no_number_there():
    scores = {"position": 0.1, "dice": 0.5, "error": 0.25}
    made = study({"scores": {"16": {"0.001": {"one": scores}, "0.01": {"one": scores, "other": scores}}}})
    lines = made.splitlines()
    assert len(lines) == 4
    assert lines[2].split(" | ")[1:4] == ["`one`", "0.100", "0.100"]
    assert lines[3].split(" | ")[1:4] == ["`other`", "–", "0.100"]
