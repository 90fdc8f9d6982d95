"""The tables of model cards, kept equal to the evaluation beside them."""

from pathlib import Path

from eitlens.paper.cells import read_shipped
from eitlens.paper.heads import HEADS
from eitlens.paper.markdown import table, with_interval

_BEGIN, _END = "<!-- scores -->\n", "<!-- end of scores -->"
_SHOWN = ("hard_dice", "soft_dice", "cross_entropy", "relative_l2", "calibration_error")


def scored(weights: Path) -> list[Path]:
    """The cards of the networks: of the folders with an evaluation.json."""
    cards = (file.with_name("card.md") for file in sorted(weights.glob("*/evaluation.json")))
    return [card for card in cards if card.exists()]


def refreshed(card: Path) -> str:
    """The text of a card with its tables as evaluation.json has them."""
    before, _, rest = card.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    tables = "\n".join(_table(card.parent, data) for data in ("paper", "paper-disjoint"))
    return f"{before}{_BEGIN}\n{tables}\n{_END}{after}"


def _table(folder: Path, data: str) -> str:
    rows = [
        [name.split("/")[1], f"{tau:g}", *(with_interval(values[key]) for key in _SHOWN)]
        for name, scores in read_shipped(folder.parent, data).items()
        if name.startswith(f"{folder.name}/")
        for tau, values in scores.items()
    ]
    return f"`{data}`:\n\n" + table(["currents", "τ", *(HEADS[key] for key in _SHOWN)], rows, left=0)
