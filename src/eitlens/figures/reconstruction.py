"""The picture of a reconstruction: the image with its outline, and its uncertainty."""

from pathlib import Path

import torch

from eitlens.figures.style import outline, picture, show_field
from eitlens.imaging.reconstruction import Reconstruction


def reconstruction_figure(found: Reconstruction, path: Path) -> None:
    """Draw the image with the outline of {image > ½}, and, where there is one, its uncertainty beside it."""
    panels = 1 if found.uncertainty is None else 2
    title = "probability of inclusion; line: ½" if found.uncertainty is not None else "direct sampling index"
    image = found.image.where(found.domain.inside(), torch.nan)  # nothing is drawn outside the body
    with picture(path, 1, panels, size=3.4) as axes:
        show_field(axes[0, 0], image, title, limits=(0, 1))
        if bool((found.image > 0.5).any()) and found.uncertainty is not None:
            outline(axes[0, 0], 0.5 - found.image)
        if found.uncertainty is not None:
            show_field(axes[0, 1], found.uncertainty, "uncertainty √(p (1 − p))", limits=(0, 0.5))
