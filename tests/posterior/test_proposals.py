"""Proposals of a guide leave the prior as it is where the data say nothing, however wrong the guide is."""

import pytest
import torch
from posterior_case import wrong_guide

from eitlens.domain import Square
from eitlens.forward import currents
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide.proposals import Guidance
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.model.target import Target
from eitlens.posterior.moves.jumps import pick, select

SQUARE = Square(32)
CHAINS, STEPS = 3000, 12


@pytest.mark.parametrize("tries", [1, 3])
def test_the_prior_stays_the_prior(tries: int) -> None:
    prior = EllipseSampler(seed=0, count=2, disjoint=True)
    given = currents.cosine(SQUARE, 1)
    likelihood = Likelihood(given[None], given.new_full((1,), 0.05))
    target = Target.build(SQUARE, given, prior, likelihood, 1e-3)
    guided = Guidance(wrong_guide(3, 128, 0.5), tries, 0.5).proposer(likelihood, given.new_full((1,), 0.3))
    generator = torch.Generator().manual_seed(1)
    z = target.coordinates.draw(CHAINS, 5, torch.device("cpu"))[None]
    before, accepted, size = functions(target, z), [], []
    with torch.no_grad():
        for _ in range(STEPS):
            proposal = guided(target, z, generator)
            chosen, chance = select(proposal.bonus.masked_fill(~proposal.possible, -torch.inf), generator)
            moved = torch.rand(1, CHAINS, generator=generator, dtype=torch.float64).log() < chance
            z = torch.where(moved[..., None], pick(proposal.z, chosen), z)
            accepted.append(moved.double().mean())
            size.append(proposal.bonus[proposal.possible].abs().mean())
    assert torch.stack(accepted).mean() > 0.05
    # The guide is far from the prior: without the bonus these would be refused or taken wrongly.
    assert torch.stack(size).mean() > 0.5
    error = before.std(0) * (2 / CHAINS) ** 0.5
    assert ((functions(target, z).mean(0) - before.mean(0)).abs() < 4 * error).all()


def functions(target: Target, z: torch.Tensor) -> torch.Tensor:
    """Means and squares of centres, sizes and angles, the ellipse nearest to the boundary apart."""
    rows = target.coordinates.rows(z[0])
    near = target.domain.clearance(rows[..., :2]).amin(-1, keepdim=True)
    turn = torch.cos(2 * rows[..., 4])
    parts = [rows[..., 0], rows[..., 1], rows[..., 2], rows[..., 3], turn]
    sums = torch.stack([p.sum(-1) for p in parts] + [p.square().sum(-1) for p in parts], -1)
    return torch.cat([sums, near, rows[..., 2:4].prod(-1).square().sum(-1, keepdim=True)], -1)
