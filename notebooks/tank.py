# %% [markdown]
# # Notebook: a tank
#
# From electrodes to an image, in six cells. Sixteen electrodes surround a round tank of salt water. Two rods stand in it: one of plastic, which insulates, and one of
# salted agar, which conducts better than the water.

# %%
import matplotlib.pyplot as plt
import torch

import eitlens as eit
from eitlens.measure.quality import inspect
from eitlens.measure.simulation import simulated

tank = eit.Disk(64, scale=0.14)  # 14 cm in radius
electrodes = eit.Electrodes.even(tank, 16, coverage=0.5, impedance=1e-4)
pattern = eit.Pattern.named("adjacent", 16, current=5e-3)  # 5 mA through neighbours, one pair after the other
rods = eit.Phantom([eit.circle((-0.4, 0.35), 0.2), eit.circle((0.4, -0.2), 0.25)], [0.003, 0.9], outside=0.3)
electrodes.count, pattern.count

# %% [markdown]
# ## Measure
#
# With a device you would read its files: `eitlens.measure.files.read("frames", setup, reference="water.txt")`. Here the readings are simulated, once with the rods and once with
# water alone, the *reference*. The noise is 70 dB below the readings.

# %%
data = simulated(electrodes, pattern, rods, height=0.05, snr=70, seed=1)
change = 1e3 * (data.voltages - data.reference)[0]
plt.figure(figsize=(6, 2.2))
plt.plot(change)
plt.xlabel("reading")
_ = plt.ylabel("change in mV")
# %% [markdown]
# ## Look at the data first
#
# `inspect` compares the reference with an empty tank and says what does not fit: dead electrodes, swapped wires, wrong signs. Here all is well.

# %%
report = inspect(data)
print("findings:", [finding.text for finding in report.findings])
print(f"the water has {report.fit.conductivity:.3f} S/m")

# %% [markdown]
# ## Make images
#
# Every method has a name. Gauss-Newton gives the change of conductivity in S/m and needs no training. The network says where an object conducts better (+1) or worse (−1).

# %%
found = {
    name: next(eit.imaging.images(data, name, eit.imaging.Options(n=64)))
    for name in ("gauss-newton", "network")
}
figure, panels = plt.subplots(1, 2, figsize=(8, 3.4))
for panel, (name, image) in zip(panels, found.items(), strict=True):
    values = image.image.where(image.domain.inside(), torch.nan)
    most = float(values.nan_to_num().abs().max())
    drawn = panel.imshow(
        values.T, origin="lower", extent=(-1, 1, -1, 1), cmap="RdBu_r", vmin=-most, vmax=most
    )
    figure.colorbar(drawn, ax=panel)
    panel.set_title(name)

# %% [markdown]
# ## How good are they?
#
# The truth is known here, so the images can be scored: the Dice score is the overlap of the area found with the rods, 1 if they are the same.

# %%
from eitlens.evaluate.images import scores

dice = {
    name: round(scores(image.image, image.quantity, image.domain, rods).dice, 2)
    for name, image in found.items()
}
dice

# %% [markdown]
# Next: [your tank in ten minutes](../docs/your_tank.md) does the same from the command line, with files of devices. The [gallery](../docs/gallery.md) has more methods.
