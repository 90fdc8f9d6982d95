"""The paper's orderings of networks, checked in our cells."""

from dataclasses import dataclass
from itertools import product
from typing import Literal

from eitlens.paper.cells import Cell
from eitlens.paper.markdown import table
from eitlens.paper.published import LEVELS
from eitlens.paper.seeds import Runs, reach

Verdict = Literal["holds", "undecided", "reversed", "missing"]
VERDICTS: tuple[Verdict, ...] = ("holds", "undecided", "reversed", "missing")

LARGER_IS_BETTER = ("soft_dice", "hard_dice", "iou")
U_NETS = ("unet", "unet-attention", "unet-big")
OPERATORS = ("fno", "afno", "fno-big", "mwo")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: each network of `better` is ahead of each of `worse`."""

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


def verdict(runs: Runs, better: Cell, worse: Cell, metric: str = "soft_dice") -> Verdict:
    """Compare two cells by a metric: `undecided` where the reaches of their runs overlap.

    A reach holds the 95 % intervals of the means over the test set and what another seed may move them by.
    """
    if better not in runs or worse not in runs:
        return "missing"
    (low, high), (other_low, other_high) = (reach(runs, cell, metric) for cell in (better, worse))
    if other_low <= high and low <= other_high:
        return "undecided"
    return "holds" if (low > other_high) == (metric in LARGER_IS_BETTER) else "reversed"


def counts(runs: Runs, claim: Claim, tau: float, metric: str = "soft_dice") -> dict[Verdict, int]:
    """Count the pairs of networks for each verdict about a claim."""
    pairs = [(Cell(a, tau), Cell(b, tau)) for a, b in product(claim.better, claim.worse)]
    found = [verdict(runs, *pair, metric) for pair in pairs]
    return {name: found.count(name) for name in VERDICTS}


def orderings(runs: Runs, metric: str = "soft_dice") -> str:
    """The table of the claims at each noise level, in numbers of pairs of networks."""
    heads = ["the paper's claim", "τ", "pairs", *VERDICTS]
    rows = []
    for claim in CLAIMS:
        for tau in LEVELS:
            found = counts(runs, claim, tau, metric)
            numbers = [str(sum(found.values())), *(str(found[name]) for name in VERDICTS)]
            rows.append([claim.text, f"{tau:g}", *numbers])
    return table(heads, rows)
