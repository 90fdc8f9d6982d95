# %% [markdown]
# # Notebook: the mathematics
#
# Why is it hard to see inside a body from its boundary? Five short experiments. The whole story: [a tour of the mathematics](../docs/tour.md).

# %%
import matplotlib.pyplot as plt
import torch

import eitlens as eit

disk = eit.Disk(64)
solver = eit.BoundaryIntegralSolver(disk)
theta = disk.angle()

# %% [markdown]
# ## 1. A current of k waves does not reach far
#
# A disk of radius ρ and conductivity σ in the middle of the unit disk has a closed form: for the current cos kθ, f − f0 is −2μρ²ᵏ/(k(1 + μρ²ᵏ)) cos kθ with μ = (σ − 1)/(σ + 1). The solver agrees to
# many digits. And the answer falls like ρ²ᵏ: fine currents see only what is near the boundary.

# %%
radius, sigma = 0.5, 10.0
body, mu = eit.Phantom([eit.circle((0.0, 0.0), radius)], sigma), (sigma - 1) / (sigma + 1)
orders = torch.arange(1, 9, dtype=torch.float64)
found = solver.difference(body, torch.cos(orders[:, None] * theta)) / torch.cos(orders[:, None] * theta)
size = found.nanmedian(1).values
exact = -2 * mu * radius ** (2 * orders) / (orders * (1 + mu * radius ** (2 * orders)))
largest_error = float((size / exact - 1).abs().max())
print(f"largest relative error {largest_error:.0e}")
for k in (1, 4, 8):
    print(f"cos {k}θ: {float(size[k - 1]):.1e}")

# %% [markdown]
# ## 2. Two bodies, nearly the same data
#
# A smaller inclusion that conducts better sends nearly the same data. Here the radius differs by a quarter and the data by little.

# %%
small = eit.Phantom([eit.circle((0.3, 0.0), 0.2)], 10.0)
large = eit.Phantom([eit.circle((0.3, 0.0), 0.25)], 3.2)
g = eit.currents.cosine(disk, 2)
one, other = solver.difference(small, g), solver.difference(large, g)
apart = float((one - other).norm() / one.norm())
print(f"the data differ by {apart:.1%}")

# %% [markdown]
# ## 3. The singular values fall exponentially
#
# The map from σ to all the data squeezes. Each further eigenvalue of Λ_σ − Λ_1 costs another part of a digit; below the noise nothing is seen.

# %%
values = eit.NeumannToDirichlet(solver, small).eigenpairs(24).values.abs()
plt.figure(figsize=(5, 2.6))
plt.semilogy(values, "o-")
plt.xlabel("number")
_ = plt.ylabel("eigenvalue of Λσ − Λ1")
# %% [markdown]
# ## 4. But where something is, can be seen
#
# Direct sampling compares the data with those of a dipole at each point. One inclusion is where the index is largest.

# %%
index = eit.direct_sampling(disk, eit.add_noise(one, tau=0.2, seed=1))
peak = disk.nodes().flatten(0, 1)[index.argmax()]
print(f"the inclusion is at (0.3, 0), the peak at ({float(peak[0]):.2f}, {float(peak[1]):.2f})")

# %% [markdown]
# ## 5. And shapes need knowledge
#
# A sharp image must come from somewhere: from knowing what bodies look like. A trained network has seen many. The [paper's notebook](paper.py) shows one at work, and
# [the posterior](../docs/posterior.md) says how good any method can be.
