"""From potentials at points to f - f0 of the currents that a method reads, at the nodes of its grid.

The potential is linear in the current, f = Λ g. If the wanted current is a combination of the injected ones, w = Σ_k
C_k g_k, so is its potential, and nothing is lost but what noise gains by the factor |C|. The combination is found by
least squares at the measured points; its residual says whether the injected currents span the wanted one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.domain import Domain, boundary
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig, project
from eitlens.measure import noise_estimate as noise
from eitlens.measure.base import FEWEST_POINTS, Flag, Prepared

if TYPE_CHECKING:
    from eitlens.measure.points import PointMeasurement

SPANNED = 0.02  # the share of a current that may be left over, which its data then lack
_FINE = 400  # cells a side of the grid on which the wanted currents and the empty body are computed
_ALIKE = 0.02  # of the data, beyond their noise: currents that are alike have voltages that are
_RCOND = 1e-6  # of the least squares: weaker combinations would only multiply the noise


def combined(
    measurement: "PointMeasurement", wanted: CurrentsConfig, fewest: int, domain: Domain
) -> Prepared:
    """The first of the wanted currents that the injected ones combine to, at a domain's nodes."""
    s = boundary.arclength(measurement.points, domain)
    fine = domain.at(_FINE)
    family = wanted.build(fine)
    mixing, residual = _combination(
        measurement.currents, boundary.from_nodes(family, s, fine), wanted, fewest
    )
    uses = mixing.abs() > 1e-9 * mixing.abs().amax(1, keepdim=True)  # the rest is rounding
    present = ~(uses.double() @ (~measurement.present).double() > 0)
    voltage = mixing @ torch.where(measurement.present, measurement.voltages, 0.0)
    if measurement.reference is None:
        empty = fine.background(family[: len(mixing)])
        reference = boundary.from_nodes(empty, s, fine) / measurement.conductivity
    else:
        reference = mixing @ torch.where(measurement.present, measurement.reference, 0.0)
    unread = min(_independent(measurement.currents), wanted.count) - len(mixing)
    data = (voltage - reference) * measurement.conductivity
    found = _on_nodes(data, present, s, domain, residual, max(unread, 0))
    apart = _contradiction(measurement)
    known = 2 * (found.noise or 0.0)
    doubts = (_ambiguous(measurement, apart),) if apart > _ALIKE + known else ()
    return replace(found, conductivity=measurement.conductivity, doubts=doubts)


def _contradiction(measurement: "PointMeasurement") -> float:
    """The part of the data that differs although the currents are the same at all the points: Σ c g = 0, Σ c f ≠ 0."""
    there = measurement.present.all(0)
    reference = 0.0 if measurement.reference is None else measurement.reference
    # Without a reference the potentials of the empty body are in: they contradict each other in the same way.
    data = (measurement.voltages - reference)[:, there]
    left, size, _ = torch.linalg.svd(measurement.currents, full_matrices=False)
    same = left[:, int((size > _RCOND * size[0]).sum()) :]
    data = data - data.mean(1, keepdim=True)
    return float((same.T @ data).norm() / data.norm().clamp(min=1e-300)) if there.any() else 0.0


def _ambiguous(measurement: "PointMeasurement", apart: float) -> Flag:
    given = measurement.currents
    rank, (count, points) = int(torch.linalg.matrix_rank(given, rtol=_RCOND)), given.shape
    text = f"the {points} points tell {rank} of the {count} currents apart, and {apart:.0%} of the voltages contradict"
    return Flag("currents", f"{text} the others: give more points, or the first {rank} currents")


def _combination(
    given: Float64[Tensor, "given points"],
    wanted: Float64[Tensor, "wanted points"],
    family: CurrentsConfig,
    fewest: int,
) -> tuple[Float64[Tensor, "spanned given"], float]:
    """C for the first wanted currents that are spanned, and the largest residual among them."""
    mixing = torch.linalg.lstsq(given.T, wanted.T, rcond=_RCOND, driver="gelsd").solution.T
    residual = (mixing @ given - wanted).norm(dim=1) / wanted.norm(dim=1)
    bad = torch.nonzero(residual > SPANNED).flatten().tolist()
    spanned = bad[0] if bad else len(wanted)
    if spanned < fewest:
        raise InputError(
            f"currents: the {len(given)} given do not span current {spanned + 1} of the {family.family} family, which "
            f"the model reads ({float(residual[spanned]):.0%} of it is left over): inject cos lθ, l = 1 … {fewest}, or "
            "currents that combine to them"
        )
    return mixing[:spanned], float(residual[:spanned].max())


def _independent(given: Float64[Tensor, "given points"]) -> int:
    """The number of currents that say something new, however strong: one that is injected again does not."""
    even = given / given.norm(dim=1, keepdim=True).clamp(min=1e-300)
    return int(torch.linalg.matrix_rank(even, rtol=SPANNED))


def _on_nodes(
    data: Float64[Tensor, "currents points"],
    present: Bool[Tensor, "currents points"],
    s: Float64[Tensor, "points"],
    domain: Domain,
    residual: float,
    unread: int,
) -> Prepared:
    rows, seen, levels, gap = [], [], [], 0.0
    for row, there in zip(data, present, strict=True):
        if int(there.sum()) < FEWEST_POINTS:
            raise InputError(
                f"mask: {int(there.sum())} of {len(s)} points are left with a voltage for every current that cos lθ is "
                f"combined of: {FEWEST_POINTS} are needed"
            )
        rows.append(boundary.to_nodes(row[None, there], s[there], domain)[0])
        seen.append(boundary.near(s[there], domain))
        levels.append(noise.estimate(row[there], s[there], domain))
        gap = max(gap, boundary.largest_gap(s[there], domain))
    nodes = torch.stack(rows)
    size = nodes.square().mean(1).sqrt()
    mean = torch.where(size > 0, nodes.mean(1).abs() / size.clamp(min=1e-300), 0.0)
    found = [level for level in levels if level is not None]
    tau = (sum(level**2 for level in found) / len(found)) ** 0.5 if found else None
    return Prepared(project(nodes), torch.stack(seen), tau, gap, float(mean.max()), residual, unread, domain)
