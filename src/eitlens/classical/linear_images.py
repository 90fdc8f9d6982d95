"""The best linear estimate of an image on the disk from the code of a map, learned from examples and all their turns.

Let c = z' + i z'' be the complex component of angular order m > 0 of a map (`eitlens.feature.noisy_maps`) and f_m(r)
the Fourier coefficients of the image along circles. Of a body turned by α they are c e^{imα} and f_m e^{-imα}. So if
bodies are as likely turned and mirrored, the best linear estimate has real profiles β,

    f_0(r) = mean + Σ_k β_k(r) z_k,    f_m(r) = Σ_k β_k(r) conj(c_k),

the sums over the components of that order alone, and least squares in each order finds them. A few thousand numbers
make the whole estimator, so a thousand examples are many. With noise the posterior mean of the code takes the place
of the code, and the profiles stay the same.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens.feature.noisy_maps import WhiteCode

_RIDGE = 1e-9  # of the largest variance of a component: keeps components without any from dividing by zero
_BLOCK = 256  # images whose circles are looked at together
Codes = Float64[Tensor, "samples modes"]
Images = Float64[Tensor, "samples nodes nodes"]


@dataclass(frozen=True, eq=False)
class LinearImages:
    """A linear map from codes to images on [-1, 1]², by its values on circles of radii (i + ½) / R.

    Attributes:
        center: (R), the mean image.
        profile: (P, R), β of each profile of the code's prior.
    """

    code: WhiteCode
    center: Float64[Tensor, "circles"]
    profile: Float64[Tensor, "profiles circles"]

    @staticmethod
    def fit(
        code: WhiteCode, z: Codes, images: Float[Tensor, "samples nodes nodes"], circles: int = 64
    ) -> "LinearImages":
        """The estimator for these codes and images, and for all turned and mirrored ones."""
        order = code.prior.order.to(z.device)
        highest = int(order.max())
        waves = torch.cat([_circles(part.double(), circles, highest) for part in torch.split(images, _BLOCK)])
        real, imaginary = code._parts(z)
        center = waves[:, :, 0].real.mean(0)
        profile = z.new_zeros(len(order), circles)
        for m in torch.unique(order).tolist():
            here = (order == m).nonzero()[:, 0]
            left, right = real[:, here], waves[:, :, m].real - (center if m == 0 else 0.0)
            if m:  # conj(c) times β is f: the imaginary parts of both say the same once more
                left = torch.cat([left, -imaginary[:, here]])
                right = torch.cat([right, waves[:, :, m].imag])
            gram = left.mT @ left
            gram.diagonal().add_(_RIDGE * gram.diagonal().max())
            profile[here] = torch.linalg.solve(gram, left.mT @ right)
        return LinearImages(code, center, profile)

    def fields(
        self, nodes: Float64[Tensor, "nodes"]
    ) -> tuple[Float64[Tensor, "nodes nodes"], Float64[Tensor, "modes nodes nodes"]]:
        """The mean image and what a unit of each component adds, at the nodes of a grid; constant beyond r = 1."""
        x, y = torch.meshgrid(nodes, nodes, indexing="ij")
        r, theta = torch.hypot(x, y), torch.atan2(y, x)
        order = self.code.prior.order.to(nodes)[:, None, None]
        near = (2 * len(self.center) * r).clamp(max=1)  # waves around the centre end there
        twice = torch.where(order > 0, 2 * near, 1.0) * _between(self.profile.to(nodes), r)
        turning = (self.code.prior.order > 0).to(nodes.device)
        real, imaginary = twice * (order * theta).cos(), (twice * (order * theta).sin())[turning]
        return _between(self.center.to(nodes)[None], r)[0], torch.cat([real, imaginary])

    def __call__(self, z: Codes, nodes: int) -> Images:
        """The estimates on nodes × nodes from -1 to 1."""
        mean, modes = self.fields(torch.linspace(-1, 1, nodes, dtype=torch.float64, device=z.device))
        found: Tensor = mean + torch.tensordot(z, modes, 1)
        return found


def _circles(images: Images, circles: int, highest: int) -> Tensor:
    """The Fourier coefficients f_m (samples, circles, orders) along circles."""
    angles = 4 * highest + 4
    r = (torch.arange(circles, dtype=images.dtype, device=images.device) + 0.5) / circles
    theta = torch.arange(angles, dtype=images.dtype, device=images.device) * (2 * math.pi / angles)
    place = torch.stack([r[:, None] * theta.sin(), r[:, None] * theta.cos()], -1)
    places = place.expand(len(images), -1, -1, -1)
    values = fn.grid_sample(images[:, None], places, align_corners=True)[:, 0]
    found: Tensor = torch.fft.rfft(values)[..., : highest + 1] / angles
    return found


def _between(
    profile: Float64[Tensor, "profiles circles"], r: Float64[Tensor, "nodes nodes"]
) -> Float64[Tensor, "profiles nodes nodes"]:
    """Profiles at any radius: linear between circles, constant within the first and beyond the last."""
    place = (r * profile.shape[-1] - 0.5).clamp(0, profile.shape[-1] - 1)
    low = place.floor().long().clamp(max=profile.shape[-1] - 2)
    part = place - low
    found: Tensor = profile[:, low] * (1 - part) + profile[:, low + 1] * part
    return found
