"""A model in two flat tensors, of parameters and of gradients, and the optimizer for a range of it."""
from __future__ import annotations

import hashlib
from typing import Any

import torch

from model import Shape, Transformer


class Flat:
    """A model whose parameters and gradients are views of two flat tensors. Each part of the model
    is padded so that it can be divided among the ranks, into shards of whole cache lines."""

    LINE = 16  # parameters

    def __init__(self, spec: dict[str, Any]):
        self.model = Transformer(Shape(**spec["shape"]), spec["seed"])
        unit = spec["ranks"] * self.LINE
        weights = [[weight for module in part for weight in module.parameters()]
                   for part in self.model.parts()]
        self.parts, end = [], 0  # where the parameters of each part are
        for part in weights:
            begin, count = end, sum(weight.numel() for weight in part)
            end += -(-count // unit) * unit
            self.parts.append(slice(begin, end))
        self.values, self.gradients = torch.zeros(end), torch.zeros(end)
        for part, where in zip(weights, self.parts):
            self._move(part, where.start)

    def _move(self, weights: list[torch.nn.Parameter], at: int) -> None:
        for weight in weights:
            part = slice(at, at + weight.numel())
            self.values[part] = weight.detach().flatten()
            weight.data = self.values[part].view_as(weight)
            weight.grad = self.gradients[part].view_as(weight)
            at += weight.numel()

    def digest(self) -> str:
        return hashlib.sha256(self.values.numpy().tobytes()).hexdigest()[:16]


class Adam:
    """Adam for one flat range of parameters."""

    def __init__(self, count: int, rate: float):
        self.rate, self.step = rate, 0
        self.mean, self.square = torch.zeros(count), torch.zeros(count)

    def update(self, values: torch.Tensor, gradients: torch.Tensor) -> None:
        self.step += 1
        self.mean.mul_(0.9).add_(gradients, alpha=0.1)
        self.square.mul_(0.98).addcmul_(gradients, gradients, value=0.02)
        scale = self.rate * (1 - 0.98 ** self.step) ** 0.5 / (1 - 0.9 ** self.step)
        values.addcdiv_(self.mean, self.square.sqrt().add_(1e-8), value=-scale)
