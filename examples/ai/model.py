"""A small decoder-only transformer: token and position embeddings, pre-norm blocks, no dropout.

Training calls Transformer(tokens). Serving computes layer by layer, because the keys and values of
a layer leave for the decode worker while the next layer is being computed: embed(), then for each
block project() and attend(), then logits().
"""
from __future__ import annotations

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Shape:
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    positions: int

    def parameters(self) -> int:
        """The number of parameters, without building the model."""
        block = 12 * self.hidden * self.hidden + 13 * self.hidden
        return (self.vocabulary + self.positions) * self.hidden + self.layers * block \
            + 2 * self.hidden

    def flops_per_token(self) -> float:
        """Operations of a forward pass; a backward pass needs twice as many."""
        return 2.0 * (12 * self.hidden ** 2 * self.layers + self.vocabulary * self.hidden)


class Block(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        hidden = shape.hidden
        self.heads = shape.heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values of these tokens: each [..., tokens, hidden]."""
        return self.qkv(self.norm1(x)).chunk(3, dim=-1)

    def attend(self, x: torch.Tensor, q: torch.Tensor, k: torch.Tensor,
               v: torch.Tensor) -> torch.Tensor:
        """The block's output for tokens x, which are the last ones of those that k and v have."""
        return self.finish(x, self.attention(q, k, v))

    def attention(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(-3, -2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        new, all_ = q.shape[-2], k.shape[-2]
        if new > 1:
            hidden = torch.ones(new, all_, dtype=torch.bool).triu(all_ - new + 1)
            scores = scores.masked_fill(hidden, float("-inf"))
        return (scores.softmax(-1) @ v).transpose(-3, -2).flatten(-2)

    def finish(self, x: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        x = x + self.out(attended)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, shape: Shape, seed: int, spread: float = 0.02):
        """The weights come from the seed alone. `spread` is their standard deviation."""
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.places = nn.Embedding(shape.positions, shape.hidden)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.hidden)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if weight.dim() == 2:
                    weight.normal_(0.0, spread, generator=generator)
                elif name.endswith("bias"):
                    weight.zero_()

    def parts(self) -> list[list[nn.Module]]:
        """All modules with parameters, in the order in which forward() needs them."""
        return [[self.tokens, self.places], *([block] for block in self.blocks[:-1]),
                [self.blocks[-1], self.norm]]

    def embed(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return self.tokens(tokens) + self.places(places)

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x) @ self.tokens.weight.t()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens, torch.arange(tokens.shape[-1]))
        for block in self.blocks:
            x = block.attend(x, *block.project(x))
        return self.logits(x)


def loss_of(model: nn.Module, sequences: torch.Tensor) -> torch.Tensor:
    """The mean cross entropy of the next token, without the first two, which nothing determines."""
    logits = model(sequences[:, :-1])[:, 1:]
    return functional.cross_entropy(logits.flatten(0, 1), sequences[:, 2:].flatten())
