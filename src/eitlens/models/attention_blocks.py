"""The attention blocks of the U-Integral-Transformer: on the coarsest grid, and from a coarse to a fine one.

Both make queries, keys and values with depthwise-separable convolutions and normalise queries and keys head
by head before the inner product. Channels are split with the heads outermost: channel = head · d + index.

Only linear maps stand between the fine latent x_f and the kernel integral of `CrossAttention`: a stencil D, a
map P of the channels and the restriction R to the coarse grid. R and P act on different indices and commute,
and so do P and the moments: with u = R D x_f,

    Kᵀ V = Kᵀ (R (D x_f) P) = (Kᵀ u) P.

So the values are never formed: the heads share one u with a quarter of their channels. It is the same
function with a sixteenth of the network's arithmetic less, and without its largest tensor. `faithful` takes the
paper's order.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.attention import Evaluation, attention, lifted_integral, merge, split
from eitlens.models.layers import EPS, PAPER_EPS, PAPER_GAIN, HeadNorm, ImageNorm, Separable, image, tokens
from eitlens.models.position import Euclidean, Sinusoidal
from eitlens.models.resize import resize


@dataclass(frozen=True)
class AttentionConfig:
    """The settings that all attention blocks of a network share.

    Attributes:
        heads: number of heads.
        evaluation: how the integral is taken, see `eitlens.models.attention`.
        gated: multiply the fine latent by sigmoid(attention) instead of passing the attention on (Hadamard
            product).
        sinusoidal: fixed sinusoidal positions instead of learned Euclidean ones.
        coarse_norms: whether the block on the coarsest grid normalises its queries, keys and output.
        faithful: initialise with gain 0.01, normalise with eps 1e-6, form the values on the fine grid, and in
            training drop a tenth of the kernel's entries, which needs the explicit form. In evaluation the
            same function of the same weights as without it, but for eps, at the paper's cost.
    """

    heads: int = 4
    evaluation: Evaluation = "reassociated"
    gated: bool = False
    sinusoidal: bool = False
    coarse_norms: bool = True
    faithful: bool = False

    @property
    def eps(self) -> float:
        """The number that keeps the norms from dividing by zero."""
        return PAPER_EPS if self.faithful else EPS

    def position(self, channels: int, size: int) -> nn.Module:
        """The encoding of positions on the network's own grid of size × size nodes."""
        return Sinusoidal(channels, span=size - 1) if self.sinusoidal else Euclidean(channels)

    def separable(self, inputs: int, outputs: int) -> Separable:
        """A separable convolution with this configuration's initialisation."""
        return Separable(inputs, outputs, gain=PAPER_GAIN if self.faithful else None)


class CoarseAttention(nn.Module):
    """Self-attention on the coarsest grid: (B, C, m, m) to the same, with twice the channels inside.

    o = norm(attention(norm q, norm k, v) + v), then a separable convolution back and an image norm. There is
    no residual from the block's input to its output.
    """

    def __init__(self, channels: int, size: int, config: AttentionConfig) -> None:
        super().__init__()
        inner = 2 * channels
        depth = inner // config.heads
        self.config = config
        self.position = config.position(channels, size)
        self.qkv = config.separable(channels, 3 * inner)
        self.norm_q, self.norm_k, self.norm_o = (
            HeadNorm(config.heads, depth, config.eps) if config.coarse_norms else nn.Identity()
            for _ in range(3)
        )
        self.out = config.separable(inner, channels)
        self.norm = ImageNorm(channels, config.eps)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, m, m) ↦ (B, C, m, m)."""
        size = x.shape[-1]
        q, k, v = (split(part, self.config.heads) for part in self.qkv(self.position(x)).chunk(3, dim=-1))
        heads = [part.transpose(1, 2) for part in (self.norm_q(q), self.norm_k(k), v)]
        o = attention(*heads, evaluation=self.config.evaluation).transpose(1, 2) + v
        normal: Tensor = self.norm(image(self.out(image(self.norm_o(o).flatten(2), size)), size))
        return normal


class CrossAttention(nn.Module):
    """Attention on a fine latent x_f (B, c, 2m, 2m) by a kernel from a coarse one x_c (B, 2c, m, m).

    The kernel q(z)·k(z') lives on the coarse grid, the values come from the fine one, and the output is the
    image norm of [the integral, a separable convolution of x_c], interpolated to the fine grid.
    """

    ATTENTION_DROPOUT, OUTPUT_DROPOUT = 0.1, 0.1  # the paper's

    def __init__(self, channels: int, size: int, config: AttentionConfig) -> None:
        super().__init__()
        inner = config.heads * channels
        self.config = config
        self.position_fine = config.position(channels, 2 * size)
        self.position_coarse = config.position(2 * channels, size)
        self.query = config.separable(2 * channels, inner)
        self.key = config.separable(2 * channels, inner)
        self.value = config.separable(channels, inner)
        self.norm_q = HeadNorm(config.heads, channels, config.eps)
        self.norm_k = HeadNorm(config.heads, channels, config.eps)
        self.out = config.separable(inner, channels)
        self.shortcut = config.separable(2 * channels, channels)
        self.norm = ImageNorm(2 * channels, config.eps)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        """(B, c, 2m, 2m) and (B, 2c, m, m) ↦ (B, 2c, 2m, 2m)."""
        size = coarse.shape[-1]
        fine, coarse = self.position_fine(fine), self.position_coarse(coarse)
        q = self.norm_q(split(self.query(coarse), self.config.heads)).transpose(1, 2)
        k = self.norm_k(split(self.key(coarse), self.config.heads)).transpose(1, 2)
        o = image(merge(self._integral(q, k, fine, size)), size)
        o = fn.dropout(image(self.out(o), size), self.OUTPUT_DROPOUT, self.training)
        normal: Tensor = self.norm(self._join(o, image(self.shortcut(coarse), size), fine))
        return normal

    def _integral(self, q: Tensor, k: Tensor, fine: Tensor, size: int) -> Tensor:
        if self.config.faithful:
            v = tokens(resize(image(self.value(fine), fine.shape[-1]), size))
        else:
            u = tokens(resize(self.value.local(fine), size))
            if self.config.evaluation == "reassociated":
                return lifted_integral(q, k, u, self.value.mix.weight.reshape(q.shape[1], q.shape[3], -1))
            v = self.value.mix(u)
        evaluation, dropout = self.config.evaluation, 0.0
        if self.training and self.config.faithful:
            evaluation = "explicit" if evaluation == "reassociated" else evaluation
            dropout = self.ATTENTION_DROPOUT
        values = split(v, self.config.heads).transpose(1, 2)
        return attention(q, k, values, evaluation=evaluation, dropout=dropout)

    def _join(self, o: Tensor, shortcut: Tensor, fine: Tensor) -> Tensor:
        """[o, shortcut] on the fine grid. Interpolated together where no gate has to act on o first."""
        size = fine.shape[-1]
        if not self.config.gated:
            return resize(torch.cat([o, shortcut], dim=1), size)
        return torch.cat([resize(o, size).sigmoid() * fine, resize(shortcut, size)], dim=1)
