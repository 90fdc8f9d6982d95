"""Our own network: from the code of the boundary data to the image, for any number of currents and any noise.

The paper's idea, kernel integrals between functions on the body, carried further on both sides of it:

1. The input is the code of `eitlens.feature.gaussian`: whitened, so that the faint components of the data that
   tell small shapes apart are as loud as the strong ones, with the deviation of each and the noise level.
2. Linear part: Σ_k z_k E_k(x), a kernel from the modes of the boundary to the body. It starts as the paper's
   feature, the harmonic extension φ of the data and ∇φ (`begin`), and is learned from there on.
3. Nonlinear part: a small perceptron on (asinh z, s, log τ) gives the coefficients of cosines on the body, and a
   few tokens that stand for the data as a whole.
4. A transformer on the g × g cells of the body and these tokens. Attention is the paper's kernel integral
   (1/M) Σ_j q_i·k_j v_j with normalised queries and keys, or its softmax form. Each block begins with a
   depthwise 3 × 3 stencil: the integral sees far, the stencil near.
5. Two doublings of the grid with convolutions, then four logits a cell; the values between the centres of
   these cells are linear, so the image can be had on any grid.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.errors import InputError
from eitlens.feature import harmonic_extension
from eitlens.feature.base import Input
from eitlens.models.attention import attention, merge, split_three
from eitlens.models.base import Network, Preset, Published, check_multiple

_REFINED = 8  # pixels to a cell of the transformer: two doublings by convolutions and one by the last map
_EXTENDED = 16  # modes whose fields are made at once, to save memory
_EMBEDDING_STD = 0.02  # of positions and of the last map of each branch, as in GPT-2


@dataclass(frozen=True)
class FlagshipConfig:
    """Configuration of the network.

    Attributes:
        currents: most currents it reads.
        modes: numbers z of the code.
        width, layers, heads, ratio: of the transformer; `ratio` is the width of its perceptrons over `width`.
        grid: cells a side of the transformer's grid.
        hidden: width of the perceptron on the code.
        waves: cosines a side; `amplitudes` channels of each.
        tokens: tokens for the data as a whole.
        softmax: the softmax form of the attention.
        fine: channels on the grids of 2g and 4g cells are 2 `fine` and `fine`.
        fields: of the linear part, for each current.
        outputs: numbers that each pixel gets; the paper's networks have one, a logit.
        levels: numbers of the code between its deviations and z: log τ, and what else the input knows of the data.
    """

    currents: int = 3
    modes: int = 256
    width: int = 320
    layers: int = 8
    heads: int = 5
    ratio: int = 3
    grid: int = 25
    hidden: int = 512
    waves: int = 10
    amplitudes: int = 24
    tokens: int = 8
    softmax: bool = True
    fine: int = 64
    fields: int = 3
    outputs: int = 1
    levels: int = 1

    def __post_init__(self) -> None:
        check_multiple("width", self.width, self.heads, "the heads")


class Flagship(Network):
    """Codes (B, 3K + levels) ↦ logits (B, 1, size, size); see the module."""

    reads = "gaussian"

    def __init__(self, config: FlagshipConfig) -> None:
        super().__init__()
        self.config = config
        fields = config.fields * config.currents
        self.extension = nn.Parameter(torch.zeros(config.modes, fields, config.grid, config.grid))
        self.constant = nn.Parameter(torch.zeros(fields, config.grid, config.grid))
        self.code = _Perceptron(2 * config.modes + config.levels, config.hidden)
        self.waves = nn.Linear(config.hidden, config.amplitudes * config.waves**2)
        self.tokens = nn.Linear(config.hidden, config.tokens * config.width)
        self.embed = nn.Linear(fields + config.amplitudes, config.width)
        self.position = nn.Parameter(
            _EMBEDDING_STD * torch.randn(1, config.grid**2 + config.tokens, config.width)
        )
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.decode = _Decoder(config)
        self.register_buffer("cosines", _cosines(config.waves, config.grid), persistent=False)

    @property
    def nodes(self) -> int:
        """Nodes a side of its image, unless another number is asked for: 8g + 1."""
        return int(_REFINED * self.config.grid + 1)

    @torch.no_grad()
    def start_linear(self, extension: Tensor, constant: Tensor) -> None:
        """Begin with these fields of the modes (K, 3L, n, n) and of the mean (3L, n, n) at cell centres."""
        size = (constant.square() + extension.square().sum(0)).mean((-2, -1), keepdim=True).sqrt()
        self.extension.copy_(extension / size)
        self.constant.copy_(constant / size)

    def begin(self, given: Input) -> None:
        """Let the linear part begin as the paper's feature: φ and ∇φ of the modes of the code."""
        tensors, domain, step = given.tensors(), given.domain, given.n // self.config.grid
        mean, modes = (tensors[name].double() for name in ("mean", "modes"))
        centres = torch.arange(self.config.grid, device=mean.device) * step + step // 2

        def fields(data: Tensor) -> Tensor:
            return harmonic_extension(domain, data, gradient=True)[..., centres[:, None], centres]

        parts = torch.cat([fields(part) for part in torch.split(modes, _EXTENDED)])
        self.start_linear(parts.float(), fields(mean).float())

    def check_grid(self, n: int) -> None:
        """The image has a grid of its own: in training it must be that of the data."""
        if self.nodes != n + 1:
            fix = f"set network.settings.grid={n // 8}" if n % 8 == 0 else "use data of 8, 16, 24, … cells"
            cells = self.nodes - 1
            raise InputError(f"{self.preset} makes images of {cells} cells a side, the data have {n}: {fix}")

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """The fields, the transformer's output on its grid, and the logits on 8g + 1 nodes."""
        fields, grid = self._fields(features), self.config.grid
        cells = self._transform(features, fields)
        logits = self.decode(cells, self.nodes)
        return {f"fields/{grid}": fields, f"cells/{grid}": cells.permute(0, 3, 1, 2), "logits": logits}

    def on_grid(self, features: Tensor, nodes: int) -> Tensor:
        """The logits on nodes × nodes."""
        logits: Tensor = self.decode(self._transform(features, self._fields(features)), nodes)
        return logits

    def random_input(self, batch: int, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Codes; n plays no part, as the image is on a grid of its own."""
        return torch.randn(batch, 3 * self.config.modes + self.config.levels, generator=generator)

    def pixels(self, features: Tensor) -> Tensor:
        """The outputs (B, outputs, 8g, 8g) at the centres of the pixels."""
        found: Tensor = self.decode.pixels(self._transform(features, self._fields(features)))
        return found

    def regions(self) -> list[nn.Module]:
        """The parts to compile one by one: the blocks share one program."""
        return [*self.blocks, self.decode]

    def _fields(self, features: Tensor) -> Tensor:
        """The linear part, without autocast: its channels differ by less than bfloat16 resolves.

        In float32; its product in TF32 where a GPU trains in less than that.
        """
        z = features[:, -self.config.modes :].float()
        with torch.autocast(features.device.type, enabled=False):
            fields: Tensor = self.constant.float() + torch.tensordot(z, self.extension.float(), 1)
        return fields

    def _transform(self, features: Tensor, fields: Tensor) -> Tensor:
        config = self.config
        hidden = self.code(features[:, : 2 * config.modes + config.levels])
        amplitudes = self.waves(hidden).unflatten(1, (config.amplitudes, config.waves, config.waves))
        waves = self.cosines @ amplitudes @ self.cosines.T
        x = self.embed(torch.cat([fields, waves.to(fields)], 1).permute(0, 2, 3, 1)).flatten(1, 2)
        tokens = self.tokens(hidden).unflatten(1, (config.tokens, config.width))
        x = torch.cat([tokens, x], 1) + self.position
        for block in self.blocks:
            x = block(x)
        cells: Tensor = x[:, config.tokens :].unflatten(1, (config.grid, config.grid))
        return cells


class Block(nn.Module):
    """x + stencil(x) on the grid, then x + attention(norm x), then x + perceptron(norm x)."""

    def __init__(self, config: FlagshipConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.stencil = nn.Parameter(torch.zeros(3, 3, width))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, config.ratio * width)
        self.down = nn.Linear(config.ratio * width, width)
        for linear in (self.out, self.down):
            nn.init.normal_(linear.weight, std=_EMBEDDING_STD / math.sqrt(2 * config.layers))

    def forward(self, x: Tensor) -> Tensor:
        """The next latent (B, tokens + g², width)."""
        x = self._near(x)
        x = x + self.out(self._integral(self.qkv(self.first(x))))
        out: Tensor = x + self.down(fn.gelu(self.up(self.second(x))))
        return out

    def _near(self, x: Tensor) -> Tensor:
        """The stencil as nine shifted products, which a compiler joins into one pass."""
        tokens, grid = self.config.tokens, self.config.grid
        cells = torch.unflatten(x[:, tokens:], 1, (grid, grid))
        wide = fn.pad(cells, (0, 0, 1, 1, 1, 1))
        near = sum(
            wide[:, i : i + grid, j : j + grid] * self.stencil[i, j] for i in range(3) for j in range(3)
        )
        return torch.cat([x[:, :tokens], cells.flatten(1, 2) + torch.as_tensor(near).flatten(1, 2)], 1)

    def _integral(self, qkv: Tensor) -> Tensor:
        """Kernel integrals over cells and tokens, head by head."""
        q, k, v = split_three(qkv, self.config.heads)
        if self.config.softmax:
            return merge(attention(q, k, v, evaluation="softmax"))
        q, k = (fn.layer_norm(part, part.shape[-1:]) for part in (q, k))
        return merge(attention(q, k, v, evaluation="reassociated", scale=1 / k.shape[-2]))


class _Perceptron(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)

    def forward(self, code: Tensor) -> Tensor:
        """The first layer without autocast, as in `_fields`: the loudest modes are known to four digits."""
        with torch.autocast(code.device.type, enabled=False):
            x = fn.gelu(fn.linear(code.float(), self.first.weight.float(), self.first.bias.float()))
        y: Tensor = fn.gelu(self.second(x))
        return y


class _Decoder(nn.Module):
    """From g × g cells to logits on any grid of nodes."""

    def __init__(self, config: FlagshipConfig) -> None:
        super().__init__()
        wide, fine = 2 * config.fine, config.fine
        self.norm = nn.LayerNorm(config.width)
        self.first = nn.Linear(config.width, 4 * wide)
        self.second, self.third = nn.Linear(wide, 4 * fine), nn.Linear(fine, 4 * config.outputs)
        self.near = nn.ModuleList([_Residual(wide), _Residual(wide), _Residual(fine), _Residual(fine)])

    def forward(self, cells: Tensor, size: int) -> Tensor:
        """Logits (B, outputs, size, size) at nodes."""
        logits = self.pixels(cells)
        between = _between(size, logits.shape[-1], logits)
        with torch.autocast(cells.device.type, enabled=False):
            return between @ logits @ between.T

    def pixels(self, cells: Tensor) -> Tensor:
        """Logits (B, outputs, 8g, 8g) at the centres of pixels."""
        x = self.near[1](self.near[0](_doubled(self.first(self.norm(cells)))))
        x = self.near[3](self.near[2](_doubled(self.second(x))))
        return _doubled(self.third(x)).permute(0, 3, 1, 2).float()


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """X (B, m, m, C) plus a convolution of it."""
        y = self.conv(self.norm(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return x + fn.gelu(y)


def _doubled(x: Tensor) -> Tensor:
    """(B, m, m, 4C) ↦ (B, 2m, 2m, C): the four quarters of each cell."""
    batch, m, _, channels = x.shape
    quarters = x.view(batch, m, m, 2, 2, channels // 4)
    return quarters.transpose(2, 3).reshape(batch, 2 * m, 2 * m, channels // 4)


def _between(nodes: int, cells: int, like: Tensor) -> Tensor:
    """Matrix from values at the centres of cells to nodes: linear between, constant beyond the outermost."""
    place = torch.linspace(0, cells, nodes, device=like.device) - 0.5
    place = place.clamp(0, cells - 1)
    centres = torch.arange(cells, device=like.device)
    return (1 - (place[:, None] - centres).abs()).clamp(min=0)


def _cosines(waves: int, grid: int) -> Tensor:
    """cos(π k x) at the centres x of cells of [0, 1], (grid, waves)."""
    centres = (torch.arange(grid) + 0.5) / grid
    return torch.cos(math.pi * centres[:, None] * torch.arange(waves))


PRESETS = {
    "flagship": Preset("Flagship", Flagship, FlagshipConfig(), 13_543_197, Published(8, 320, None, "layer")),
}
