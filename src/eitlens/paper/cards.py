"""The tables of the model cards of the networks that come with the package, from their evaluation.json."""

from pathlib import Path

from eitlens.paper.cells import read_shipped
from eitlens.paper.markdown import HEADS, table, with_interval

_BEGIN, _END = "<!-- scores -->\n", "<!-- end of scores -->"
_ON_CARDS = ("hard_dice", "soft_dice", "cross_entropy", "relative_l2", "calibration_error")


def cards(weights: Path) -> list[Path]:
    """The model cards of the networks: in the folders that have an evaluation.json."""
    found = (file.with_name("card.md") for file in sorted(weights.glob("*/evaluation.json")))
    return [card for card in found if card.exists()]


def refresh_card(card: Path) -> str:
    """The text of a card with its tables as evaluation.json has them."""
    before, _, rest = card.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    tables = "\n".join(_card_table(card.parent, data) for data in ("paper", "paper-disjoint"))
    return f"{before}{_BEGIN}\n{tables}\n{_END}{after}"


def _card_table(folder: Path, data: str) -> str:
    rows = [
        [name.split("/")[1], f"{tau:g}", *(with_interval(values[key]) for key in _ON_CARDS)]
        for name, scores in read_shipped(folder.parent, data).items()
        if name.startswith(f"{folder.name}/")
        for tau, values in scores.items()
    ]
    return f"`{data}`:\n\n" + table(["currents", "τ", *(HEADS[key] for key in _ON_CARDS)], rows, left=0)
