"""The numbering of the electrodes: which one is number 1, and which way the numbers run.

Only the shape of the body can tell. On a round tank with even electrodes every turn and mirror image has the same
readings, on an ellipse each has three others like it at most.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.measure.quality.base import Explanation, Fault, listed, noted
from eitlens.measure.quality.model import TankModel
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "numbering"
_ALIKE = 0.003  # readings that differ less than that cannot be told apart
_HOPELESS = 1.2  # times what is left as it is: places of electrodes do not make up for it
_FIRST = 4  # the best of all, among which electrodes that are off a little decide


class Numberings(NamedTuple):
    """All turns, the one by nothing first, then all mirror images, and what they read."""

    orders: Int64[Tensor, "numberings electrodes"]
    rows: Float64[Tensor, "contacts numberings readings"]


def numberings(model: TankModel) -> Numberings:
    """All of them: order[k] is where electrode k + 1 really is, counted from 0."""
    count = model.measurement.electrodes.count
    k = torch.arange(count)
    orders = torch.cat([(k + k[:, None]) % count, (k[:, None] - k) % count])
    return Numberings(orders, model.renumbered(orders))


def numbering(model: TankModel) -> list[Explanation]:
    """The best of all turns and mirror images, with those that cannot be told from it."""
    found = numberings(model)
    residuals = model.unexplained(found.rows, model.measurement.pattern)
    if float(residuals.min()) > _HOPELESS * model.given or len(_alike(found.rows[0], 0)) == len(found.orders):
        return []
    best, residual = _best(model, found, residuals.amin(0))
    contact = int(residuals[:, best].argmin())
    names = _said([best, *_alike(found.rows[contact], best)], len(found.orders) // 2)
    order = found.orders[best].tolist()

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        note = f"the numbering is corrected: {_said([best], len(order))}"
        return noted(measurement, note, pattern=measurement.pattern.renumbered(order))

    finding = Fault(
        KIND, f"the electrodes are numbered otherwise: {names}", 1.0, "renumber the pattern", fix=fix
    )
    return [Explanation(finding, residual)]


def _best(model: TankModel, found: Numberings, residuals: Float64[Tensor, "numberings"]) -> tuple[int, float]:
    """The best one that is not as it is said to be, where electrodes may be off a little, and its residual."""
    first = [k for k in residuals.argsort().tolist() if k != 0][:_FIRST]
    misfits = {k: model.fitted(found.orders[k]).misfit for k in first}
    best = min(first, key=lambda k: misfits[k])
    return best, model.given * misfits[best] / model.fitted().misfit


def unseen(model: TankModel) -> str:
    """What the shape of the body does not tell, as a sentence; nothing if it tells all."""
    found = numberings(model)
    like = [k for k in _alike(found.rows[len(found.rows) // 2], 0) if k != 0]
    if len(like) == len(found.orders) - 1:
        return "turning or mirroring the electrodes changes nothing on this body: the numbering cannot be checked"
    if like:
        return f"the readings would be the same if {_said(like, len(found.orders) // 2)}"
    return ""


def _alike(rows: Float64[Tensor, "numberings readings"], one: int) -> list[int]:
    """Those with the same readings as one of them."""
    away = (rows - rows[one]).norm(dim=-1) / rows[one].norm()
    return torch.nonzero(away < _ALIKE)[:, 0].tolist()


def _said(numbers: list[int], electrodes: int) -> str:
    """Some numberings in words; those that are mirror images come after the turns."""
    turned = sorted({k + 1 for k in numbers if k < electrodes})
    mirrored = sorted({k - electrodes + 1 for k in numbers if k >= electrodes})
    place = "electrode 1 is where number {} is said to be"
    parts = [place.format(_either(turned))] if turned else []
    parts += (
        ["the numbers run the other way round and " + place.format(_either(mirrored))] if mirrored else []
    )
    return ", or ".join(parts)


def _either(numbers: list[int]) -> str:
    return listed(tuple(numbers)).replace(" and ", " or ")
