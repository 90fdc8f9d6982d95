# %% [markdown]
# # Notebook: the paper
#
# The setting of "Transformer Meets Boundary Value Inverse Problems" (Guo, Cao, Chen, ICLR 2023): the square (−1, 1)², conductivity 10 in four ellipses and 1 around them, and the
# currents cos θ, cos 2θ, cos 3θ through the boundary.

# %%
import matplotlib.pyplot as plt

import eitlens as eit

square = eit.Square(200)  # 200 cells a side, 800 boundary nodes
body = eit.EllipseSampler(seed=7, disjoint=True).phantom(0)
currents = eit.currents.cosine(square, 3)
clean = eit.BoundaryIntegralSolver(square).difference(body, currents)
noisy = eit.add_noise(clean, tau=0.05, seed=1)
noisy.shape

# %% [markdown]
# `noisy` are the data: f − f0, the voltage with the ellipses less that without, for each current at each boundary node, with the paper's noise at τ = 0.05.

# %%
plt.figure(figsize=(6, 2.4))
plt.plot(square.arclength(), noisy.T, linewidth=0.8)
plt.xlabel("arclength")
plt.ylabel("f − f0")
_ = plt.legend(["cos θ", "cos 2θ", "cos 3θ"])
# %% [markdown]
# ## Feature, classical image, network
#
# The paper's networks read φ, the harmonic function with ∂φ/∂n = f − f0. Direct sampling computes an index from the same data by a formula. The network
# that comes with the package gives the probability that a point lies inside of an ellipse.

# %%
phi = eit.harmonic_extension(square, noisy)
index = eit.direct_sampling(square, noisy)
result = eit.Imager.load()(eit.Measurement.of_difference(noisy))
figure, panels = plt.subplots(1, 4, figsize=(11, 2.8))
images = {"the body": eit.indicator(square, body).double(), "φ of cos θ": phi[0], "direct sampling": index}
for panel, (name, image) in zip(panels, (images | {"network": result.image}).items(), strict=True):
    panel.imshow(image.T.numpy(), origin="lower", extent=(-1, 1, -1, 1), cmap="magma")
    panel.set_title(name)

# %% [markdown]
# ## What else it says
#
# The Dice score needs the truth. The noise level, the misfit and the warnings do not: they come with every image.

# %%
print(f"Dice {result.dice(body):.3f}")
print(f"noise estimated at {result.noise:.3f}, misfit of the image's own data {result.misfit:.3f}")
print("warnings:", [flag.text for flag in result.warnings])

# %% [markdown]
# ## A network of your own
#
# `eit.models.names()` are the architectures, the paper's twelve rows among them. How to train one: [the paper, for researchers](../docs/the_paper.md).

# %%
network = eit.models.create("uit", currents=3)
sum(weight.numel() for weight in network.parameters())
