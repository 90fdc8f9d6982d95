"""The gallery of the posterior is drawn, with a network and without."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.figures.posterior import GalleryCase, gallery
from eitlens.phantom import EllipseSampler, level_set


@pytest.mark.parametrize("network", [True, False])
def test_the_gallery_is_drawn(network, tmp_path):
    batch = EllipseSampler(seed=0, disjoint=True).batch(0, 2)
    rows, fields = batch.groups[0].parameters, level_set(Square(20), batch)
    mean = torch.sigmoid(-20 * fields)
    image = mean[0].float() if network else None
    cases = [
        GalleryCase(f"no. {k}", rows[k], fields[k], rows[k, None], mean[k], mean[k] > 0.5, image)
        for k in (0, 1)
    ]
    gallery(cases, "network", tmp_path / "gallery.png")
    assert (tmp_path / "gallery.png").stat().st_size > 20_000
