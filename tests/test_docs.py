"""The documentation: up to date, its links lead somewhere, its Python runs, its pictures are small."""

import importlib.util
import re
from pathlib import Path

import pytest

from eitlens.evaluate.tables.page import Places
from eitlens.evaluate.tables.quotes import refresh, sources

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
LINKING = [*PAGES, *ROOT.glob("benchmarks/*.md"), *ROOT.glob("src/eitlens/weights/*/card.md")]
QUOTING = [page for page in PAGES if sources(page.read_text())]

every_page = pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))


def test_the_api_reference_is_up_to_date():
    specification = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    make_api = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make_api)
    assert (ROOT / "docs" / "api.md").read_text() == make_api.compose(), "run `python docs/make_api.py`"


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, no punctuation, dashes for spaces."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", QUOTING, ids=lambda page: page.name)
def test_quoted_numbers_are_those_of_the_result_files(page):
    text = page.read_text()
    assert text == refresh(text, Places(ROOT)), "run `eitlens benchmark table1`"


def test_the_readme_quotes_its_results():
    assert ROOT / "README.md" in QUOTING


def test_pictures_are_small_and_shown():
    shown = {name for page in PAGES for name in re.findall(r"images/([\w.-]+)", page.read_text())}
    for file in (ROOT / "docs" / "images").iterdir():
        assert file.name in shown
        assert file.stat().st_size <= 150_000


def test_every_page_is_in_the_index():
    index = (ROOT / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in index, page.name
