"""The paper's orderings of networks, checked in our cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from eitlens.paper.cells import Cell, Record
from eitlens.paper.markdown import table
from eitlens.paper.published import LEVELS

Verdict = Literal["holds", "undecided", "reversed", "missing"]
VERDICTS: tuple[Verdict, ...] = ("holds", "undecided", "reversed", "missing")

U_NETS = ("unet", "unet-attention", "unet-big")
OPERATORS = ("fno", "afno", "fno-big", "mwo")


@dataclass(frozen=True)
class Claim:
    """Each network of `better` is ahead of each of `worse`."""

    text: str
    better: tuple[str, ...]
    worse: tuple[str, ...]


CLAIMS = (
    Claim("UIT ahead of U-Nets", ("uit", "uit-softmax"), U_NETS),
    Claim("U-Nets ahead of the FNO family", U_NETS, OPERATORS),
    Claim("UIT ahead of other U-Transformers", ("uit", "uit-softmax"), ("hybrid-ut", "cross-ut")),
    Claim("U-Transformers ahead of U-Nets", ("hybrid-ut", "cross-ut"), U_NETS),
    Claim("three currents ahead of one", ("uit-l3",), ("uit",)),
    Claim("a softmax changes little: UIT with it ahead", ("uit-softmax",), ("uit",)),
    Claim("multiwavelets ahead of FNO", ("mwo",), ("fno", "afno", "fno-big")),
)


def verdict(cells: Mapping[Cell, Record], better: Cell, worse: Cell) -> Verdict:
    """Compare two cells by their Dice scores: `undecided` where the 95 % intervals of the means overlap.

    The intervals are those of the test set alone: another seed of the training may move a score by more.
    """
    if better not in cells or worse not in cells:
        return "missing"
    one, other = (cells[cell].scores[cell.tau]["soft_dice"] for cell in (better, worse))
    if one.low > other.high:
        return "holds"
    return "reversed" if one.high < other.low else "undecided"


def counts(cells: Mapping[Cell, Record], claim: Claim, tau: float) -> dict[Verdict, int]:
    """Count the pairs of networks for each verdict about a claim."""
    pairs = [(Cell(a, tau), Cell(b, tau)) for a, b in product(claim.better, claim.worse)]
    found = [verdict(cells, *pair) for pair in pairs]
    return {name: found.count(name) for name in VERDICTS}


def orderings(cells: Mapping[Cell, Record]) -> str:
    """Each claim at each noise level, in numbers of pairs of networks."""
    heads = ["the paper's claim", "τ", "pairs", *VERDICTS]
    rows = []
    for claim in CLAIMS:
        for tau in LEVELS:
            found = counts(cells, claim, tau)
            numbers = [str(sum(found.values())), *(str(found[name]) for name in VERDICTS)]
            rows.append([claim.text, f"{tau:g}", *numbers])
    return table(heads, rows)
