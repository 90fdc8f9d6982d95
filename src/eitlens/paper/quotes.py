"""Numbers of pages kept equal to the result files, in pages that read well as text.

**In prose** the sources follow their paragraph, in a comment that is not seen when the page is rendered:

    UIT drops from 0.884 to 0.455 at τ = 0.05.
    <!-- 0.884 = table1/uit/0 soft_dice; 0.455 = table1/uit/0 soft_dice 0.05 -->

A comment is about the text since the last empty line or comment. It names each number as often as it stands there, or
with a word or two before it that no other has (`drops from 0.884 = …`), so that there is no doubt which one is meant.

**A table** is plain Markdown below a comment, `<!-- table NAME -->`. It is made of [NAME] in the page's own file of
`docs/tables`: `heads`, `rows`, and `left`, the number of columns that are words. In a cell `{SOURCE}` stands for a
number. With `each`, the cells after the first, a row is a title and a name, which takes the place of `*` in them.

Sources: `eitlens.paper.sources`. `eitlens benchmark table1` writes the numbers, and a test fails where they differ.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eitlens.errors import InputError
from eitlens.paper.markdown import table
from eitlens.paper.page import Places
from eitlens.paper.sources import lookup

_NOTE = re.compile(r"<!-- (?P<entries>[^=>]+ = [^>]+?) -->")
_TABLE = re.compile(r"(?P<mark><!-- table (?P<name>[\w-]+) -->\n\n?)(?P<lines>(?:\|[^\n]*\n)*)")
_CELL = re.compile(r"\{([^}]+)\}")
_WIDTH = 150  # of a note's lines

Find = Callable[[str], str]
Spec = dict[str, Any]


def refresh(page: Path, places: Places) -> str:
    """The text of a page with every number as the result files have it now; – where they have none."""
    return refreshed(page.read_text(encoding="utf-8"), tables(page, places), lambda one: lookup(one, places))


def refreshed(text: str, specs: dict[str, Spec], find: Find) -> str:
    """The text with its numbers as `find` has them for their sources."""
    text = _TABLE.sub(lambda match: match["mark"] + composed(_spec(specs, match["name"]), find), text)
    done = 0
    while (match := _NOTE.search(text, done)) is not None:
        gap = text.rfind("\n\n", done, match.start())
        begin = done if gap < 0 else gap
        before, named = _updated(text[begin : match.start()], entries(match["entries"]), find)
        line = before[before.rfind("\n") + 1 :]
        comment = note(named).replace("\n", f"\n{line}" if not line.strip() else "\n")
        text = text[:begin] + before + comment + text[match.end() :]
        done = begin + len(before) + len(comment)
    return text


def tables(page: Path, places: Places) -> dict[str, Spec]:
    """The tables of a page by name."""
    file = places.tables / f"{page.stem.lower()}.toml"
    if not file.exists():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: no TOML ({error}): see eitlens.paper.quotes") from None


def composed(spec: Spec, find: Find) -> str:
    """The lines of a table."""
    rows = [[_CELL.sub(lambda match: find(match[1]), cell) for cell in row] for row in cells(spec)]
    return table(spec["heads"], rows, spec.get("left", 1))


def cells(spec: Spec) -> list[list[str]]:
    """The cells of a table with their sources in braces."""
    each = spec.get("each")
    if each is None:
        return [list(row) for row in spec["rows"]]
    return [[title, *(cell.replace("*", name) for cell in each)] for title, name in spec["rows"]]


@dataclass(frozen=True)
class Entry:
    """A number of a note, the words before it where they are needed, and its source."""

    value: str
    before: str
    source: str

    @staticmethod
    def parse(text: str) -> "Entry":
        """Read an entry such as `drops from 0.884 = table1/uit/0 soft_dice`."""
        key, sign, source = text.partition(" = ")
        before, _, value = key.rpartition(" ")
        if not (sign and value and source):
            raise InputError(f"<!-- … {text} … -->: expected NUMBER = SOURCE; NUMBER = SOURCE")
        return Entry(value, before, source)

    @property
    def key(self) -> str:
        """What is looked for in the text."""
        return f"{self.before} {self.value}".strip()

    def __str__(self) -> str:
        return f"{self.key} = {self.source}"


def entries(text: str) -> list[Entry]:
    """The entries of a note."""
    return [Entry.parse(part) for part in " ".join(text.split()).split("; ")]


def sources(page: Path, places: Places) -> list[str]:
    """The sources that a page names."""
    text = page.read_text(encoding="utf-8")
    return [*_in_tables(text, tables(page, places)), *(entry.source for entry in _noted(text))]


def _in_tables(text: str, specs: dict[str, Spec]) -> Iterator[str]:
    for match in _TABLE.finditer(text):
        for row in cells(_spec(specs, match["name"])):
            yield from (source for cell in row for source in _CELL.findall(cell))


def _noted(text: str) -> Iterator[Entry]:
    for match in _NOTE.finditer(text):
        yield from entries(match["entries"])


def _spec(specs: dict[str, Spec], name: str) -> Spec:
    if name not in specs:
        raise InputError(f"<!-- table {name} -->: no such table: there are {', '.join(specs) or 'none'}")
    return specs[name]


def _updated(text: str, named: list[Entry], find: Find) -> tuple[str, list[Entry]]:
    """The text with the numbers of now, and the entries of its note in the order of the text."""
    pairs = sorted(zip(_places(text, named), named, strict=True), key=lambda pair: pair[0])
    now = [replace(entry, value=find(entry.source)) for _, entry in pairs]
    for ((begin, end), _), entry in zip(reversed(pairs), reversed(now), strict=True):
        text = text[:begin] + entry.value + text[end:]
    return text, now


def _places(text: str, named: list[Entry]) -> list[tuple[int, int]]:
    """Where the numbers of a note stand; those that are alike stand in the note's order."""
    found: dict[str, list[tuple[int, int]]] = {}
    for key, times in Counter(entry.key for entry in named).items():
        *before, value = map(re.escape, key.split(" "))
        words = "".join(rf"{word}\s+" for word in before)
        token = re.compile(rf"(?<![\w.-])(?<!\d,){words}(?P<value>{value})(?!\w|[.,]\d)")
        found[key] = [match.span("value") for match in token.finditer(text)]
        if len(found[key]) != times:
            start = " ".join(text.split())[:60]
            raise InputError(
                f"{key!r} stands {len(found[key])} times in {start!r}…, its note names it {times} times"
            )
    return [found[entry.key].pop(0) for entry in named]


def note(named: Sequence[Entry]) -> str:
    """The comment with the sources of numbers, broken into lines between them."""
    lines = ["<!--"]
    for k, entry in enumerate(named):
        part = f"{entry}" + (";" if k < len(named) - 1 else " -->")
        if len(lines[-1]) + len(part) >= _WIDTH:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)
