"""From pyEIT: its protocol object, `setup` and `solve(v1, v0)`, here with the complete electrode model behind them.

    python examples/from_pyeit.py

pyEIT itself is not needed: any object with `ex_mat` and `meas_mat` will do.
"""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

import eitlens as eit
from eitlens.electrodes.protocols import from_pyeit
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import level_set

DRIVES = np.array([[k, (k + 1) % 16] for k in range(16)])
READS = np.array(
    [[n, (n + 1) % 16, k] for k in range(16) for n in range(16) if not {n, (n + 1) % 16} & {k, (k + 1) % 16}]
)
PROTOCOL = SimpleNamespace(n_el=16, ex_mat=DRIVES, meas_mat=READS)
TARGET = eit.Phantom([eit.circle((0.4, 0.2), 0.2)], 2.0)


def main(out: Path) -> float:
    """Image the target, draw; the distance from the target to the peak of its image."""
    body = eit.Disk(32)
    electrodes = eit.Electrodes.even(body, 16, coverage=0.3, first=math.pi, clockwise=True)
    pattern = from_pyeit(PROTOCOL.ex_mat, PROTOCOL.meas_mat)
    v1, v0 = eit.simulate_readings(electrodes, pattern, [TARGET, eit.Phantom([])]).numpy()
    solver = eit.TimeDifference(electrodes, PROTOCOL)
    solver.setup(method="kotre", p=0.5, n=32)
    image = torch.from_numpy(solver.solve(v1, v0, normalize=True))
    with picture(out, 1, 1) as axes:
        show_field(axes[0, 0], image.where(body.inside(), torch.nan), "change of σ", diverging=True)
        outline(axes[0, 0], level_set(body, TARGET), "black")
    peak = body.nodes().flatten(0, 1)[image.argmax()]
    return math.dist(peak.tolist(), (0.4, 0.2))


if __name__ == "__main__":
    print(f"the peak is {main(Path('out/from_pyeit.png')):.3f} radii off the target")
