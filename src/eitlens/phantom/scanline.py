"""Pixels inside outlines by scan lines: a few numbers a row instead of a test a pixel, for many thousands of bodies."""

import torch
from jaxtyping import Bool, Float64
from torch import Tensor


def inside_pixels(
    outline: Float64[Tensor, "*batch nodes 2"], pixels: int
) -> Bool[Tensor, "*batch {pixels} {pixels}"]:
    """Whether the centre of each pixel of [-1, 1]² is in a polygon, [i, j] at x_i and y_j, by the even-odd rule.

    An edge crosses each column of pixels between its ends once. A pixel is inside if the edges below it are odd.
    """
    flat = outline.reshape(-1, *outline.shape[-2:])
    near, far = flat, flat.roll(-1, -2)
    centre = (torch.arange(pixels, dtype=outline.dtype, device=outline.device) + 0.5) * (2 / pixels) - 1
    (x0, y0), (x1, y1) = (part[..., None, :].unbind(-1) for part in (near, far))
    crossed = (x0 <= centre) != (x1 <= centre)
    share = (centre - x0) / torch.where(crossed, x1 - x0, 1.0)
    height = torch.where(crossed, y0 + share * (y1 - y0), 2.0)
    # The first pixel whose centre is above the crossing; one beyond the last collects what is above all.
    first = torch.ceil((height + 1) * (pixels / 2) - 0.5).clamp(0, pixels).long()
    body = torch.arange(len(flat), device=outline.device)[:, None, None] * pixels
    column = torch.arange(pixels, device=outline.device)
    place = ((body + column) * (pixels + 1) + first).flatten()
    count = torch.zeros(len(flat) * pixels * (pixels + 1), dtype=torch.int32, device=outline.device)
    count.index_add_(0, place, crossed.flatten().to(torch.int32))
    below = count.view(len(flat), pixels, pixels + 1)[..., :pixels].cumsum(-1, dtype=torch.int32)
    return (below % 2 == 1).view(*outline.shape[:-2], pixels, pixels)
