"""One measurement by several methods, with scores against a known body where there is one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from eitlens.checks import shown
from eitlens.errors import InputError
from eitlens.evaluate.images import Scores, scores
from eitlens.imaging.methods import METHODS
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement
from eitlens.phantom import Phantom


@dataclass(frozen=True)
class Compared:
    """A method, with its image or the reason why it has none, and the scores of the image where the truth is known."""

    method: str
    found: Reconstruction | None = None
    reason: str = ""
    scores: Scores | None = None

    def to_dict(self) -> dict[str, Any]:
        """All but the arrays, as plain JSON values."""
        told = {"error": self.reason} if self.found is None else self.found.summary()
        against = {} if self.scores is None else {"scores": self.scores._asdict()}
        return {"method": self.method} | told | against


_PLAIN = Options()


def compare(
    measurement: Measurement,
    methods: Sequence[str],
    options: Options = _PLAIN,
    truth: Phantom | None = None,
    begun: Callable[[str], None] = lambda method: None,
) -> list[Compared]:
    """Image the first frame of a measurement by each of some methods; `begun` is told the name of each.

    What a method cannot do is kept as its reason; where none can do anything, that of the first is raised.

    >>> square, phantom = eit.Square(64), eit.Phantom([eit.circle((0.3, 0.2), 0.3)])
    >>> df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))
    >>> rows = compare(eit.Measurement.of_difference(df), ["dsm", "network", "index"], truth=phantom)
    >>> [row.method for row in rows if row.found], rows[1].scores.dice > 0.95
    (['dsm', 'network'], True)
    """
    for name, value, kind in (("measurement", measurement, Measurement), ("truth", truth, Phantom)):
        if not isinstance(value, kind) and not (name == "truth" and value is None):
            raise InputError(f"compare: {name}: expected a {kind.__name__}, got {shown(value)}")
    if isinstance(methods, str):
        raise InputError(f"compare: expected a list of methods: write [{methods!r}]")
    chosen = [METHODS[name] for name in methods]  # an unknown name is told before any work
    rows = []
    for name, method in zip(methods, chosen, strict=True):
        begun(name)
        try:
            found = method(measurement, options)
        except InputError as error:
            rows.append(Compared(name, reason=str(error)))
            continue
        against = None if truth is None else scores(found.image, found.quantity, found.domain, truth)
        rows.append(Compared(name, found, scores=against))
    if rows and all(row.found is None for row in rows):
        raise InputError(rows[0].reason)
    return rows
