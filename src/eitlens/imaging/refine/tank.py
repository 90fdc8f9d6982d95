"""Refine the image of a tank: outlines of its objects that explain the readings through the exact solver.

The connected pieces of the network's classes are where `eitlens.classical.outlines` begins. Outlines replace classes
if they explain the readings and keep every object. With many objects and few readings they do not always; then the
network's image stays.
"""

from dataclasses import replace
from time import perf_counter

import torch

from eitlens.classical.outlines import Outlined, Progress, fit_outlines, pieces, start_misfit
from eitlens.classical.tank_frame import ReadingErrors, TankFrame
from eitlens.imaging.reconstruction import Phases, Reconstruction, Refinement
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit
from eitlens.phantom import conductivity
from eitlens.threads import free_cores_only

ERRORS = ReadingErrors(relative=0.05, floor=0.1)
"""Of the changes: smaller ones make outlines of waves that are not there."""
EXPLAINED = 0.06
"""Of the changes may be left: good outlines of measured tanks leave 3 to 6 %."""


@free_cores_only()
def refined(
    measurement: ElectrodeMeasurement,
    fit: TankFit,
    found: Reconstruction,
    steps: int,
    progress: Progress | None = None,
) -> Reconstruction:
    """The reconstruction of a frame with outlines in the place of the network's classes, if they explain the frame."""
    begin = perf_counter()
    phases = found.phases
    if phases is None:
        return found
    kinds = phases.classes
    signs = (kinds == 2).long() - (kinds == 1).long()
    start = pieces(signs, found.domain)
    if not start[1]:
        return replace(found, refinement=Refinement(0, 1.0, 1.0, "there is no object to refine"))
    frame = TankFrame.of(measurement, ERRORS, fit)
    before = start_misfit(frame, start)
    outlined = fit_outlines(frame, start, steps=steps, progress=progress)
    left = outlined.relative_misfit
    if left > EXPLAINED:
        change = Refinement(0, before, left, f"outlines leave {left:.0%} of the changes unexplained")
        return replace(found, refinement=change)
    if len(outlined.sign) < len(start[1]):
        return replace(found, refinement=Refinement(0, before, left, "outlines lose an object"))
    change = Refinement(steps, before, left, "the classes are those of outlines that explain the readings")
    made = _drawn(found, phases, outlined)
    return replace(made, refinement=change, seconds=found.seconds + perf_counter() - begin)


def _drawn(found: Reconstruction, phases: Phases, outlined: Outlined) -> Reconstruction:
    """The image of the outlines; what the network doubts where the classes agree stays."""
    domain, inside = found.domain, found.domain.inside()
    signs = torch.zeros(domain.shape, dtype=torch.int64)
    signs[inside] = outlined.classes(domain.nodes()[inside])
    kinds = torch.stack([signs == 0, signs == -1, signs == 1])
    agreed = kinds[phases.classes, *torch.meshgrid(*map(torch.arange, domain.shape), indexing="ij")]
    probabilities = torch.where(agreed, phases.probabilities, kinds.double())
    image = probabilities[2] - probabilities[1]
    spread = (probabilities[1] + probabilities[2] - image.square()).clamp(min=0).sqrt()
    sigma = conductivity(domain, outlined.phantom) / outlined.background
    log_sigma = torch.where(inside, sigma.log(), 0.0)
    return replace(
        found,
        image=image,
        uncertainty=spread,
        phases=Phases(probabilities, log_sigma, phases.deviation),
    )
