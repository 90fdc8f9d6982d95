"""Every decimal of the pages that make claims has a source, is a setting, or stands below with a reason.

Numbers with a source are taken out of the text by giving them none, so what is left was typed by hand.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from eitlens.paper.page import Places
from eitlens.paper.quotes import refreshed, tables

ROOT = Path(__file__).parents[2]
PLACES = Places(ROOT)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\w|\.\d)")
HIDDEN = re.compile(r"<!--.*?-->|```.*?```|`[^`]*`|(?<=\])\([^)]*\)|^ {4}[^\n]*$", re.S | re.M)
SETTING = re.compile(r"[τσερ]₁?\s[=≤]\s[\d.]+(?:(?: and | \| (?:τ = )?|, )[\d.]+)*")
ALLOWED = {
    "README.md": {"3.11": "a version of Python"},
    "networks.md": {"0.01": "how well the limit is known: docs/posterior.md"},
    "theory.md": {
        "1.7": "the slope that the page quotes with its source below, 1.714",
        "0.9": "1 - 1/σ for σ = 10, in closed form",
        "0.05": "a distance, a column of the study",
        "0.02": "a distance, a column of the study",
        "0.1": "a distance, a column of the study",
        "0.3": "a distance, a column of the study",
    },
    "findings.md": {
        "0.01": "the published gain: eitlens.models.layers, and its tests",
        "3.1": "the published start of FNO: eitlens.models.fno, and its tests",
        "0.95": "the extent of the data set: its configuration",
    },
    "findings_notebook.md": {
        "0.89": "a bar set before the runs, asserted in test_tables.py",
        "0.065": "a bar set before the runs, asserted in test_tables.py",
        "0.05": "the weight decay of a variant: eitlens.paper.variants",
        "0.004": "the width of intervals, and a bound on the history below: asserted in test_tables.py",
        "0.005": "the width of intervals: asserted in test_tables.py",
        "0.7": "in percent, written into our Fig. 3 when it is drawn",
        "0.87": "estimated in the same sentence from numbers with sources",
        "0.80": "estimated in the same sentence from numbers with sources",
        "0.11": "estimated in the same sentence from numbers with sources",
        "0.69": "ln 2",
        "0.01": "how well the limit is known: docs/posterior.md",
        **dict.fromkeys(
            ("10.4", "10.86", "11.9", "10.13"), "printed in the paper, in eitlens.paper.published"
        ),
        **dict.fromkeys(
            ("0.883", "0.0711", "0.835", "0.0898", "0.852", "0.0888", "0.695", "0.150", "0.830", "0.0971"),
            "the first runs, which the page names by their commits",
        ),
        **dict.fromkeys(("0.915", "0.0627"), "the first runs, which the page names by their commits"),
    },
}


def unsourced(text: str) -> list[str]:
    """The decimals of a text that are neither hidden nor settings."""
    return DECIMAL.findall(SETTING.sub("", HIDDEN.sub("", text)))


@pytest.mark.parametrize("page", ALLOWED)
def test_every_decimal_has_a_source_or_a_reason(page):
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    left = unsourced(refreshed(path.read_text(), tables(path, PLACES), lambda source: ""))
    without = Counter(value for value in left if value not in ALLOWED[page])
    assert not without, (
        f"{page}: give these a source (eitlens.paper.quotes), or a reason here: {dict(without)}"
    )
    assert set(ALLOWED[page]) <= set(left), "a reason for what does not stand there any more"


def test_a_decimal_that_is_typed_is_found():
    text = "At τ = 0.05 and 0.2 Dice is 0.91 ([a](b.md#1.5), `x=0.3`). <!-- 0.5 -->\n\n    y = 0.7\n\n"
    assert unsourced(text + "| τ = 0 | 0.05 |\n") == ["0.91"]
