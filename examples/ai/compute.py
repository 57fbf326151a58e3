"""What prefill and decode workers compute, on a paged cache; and the reference in one process."""
from __future__ import annotations

from typing import Any, Callable

import torch

from kv_cache import blocks_for
from kv_memory import KvMemory
from model import Shape, Transformer

SPREAD = 0.12  # of random weights: the generated tokens vary, and no two are nearly as likely


def model_of(spec: dict[str, Any]) -> Transformer:
    return Transformer(Shape(**spec["shape"]), spec["seed"], SPREAD).eval()


@torch.inference_mode()
def prefill(model: Transformer, memory: KvMemory, table: list[int], tokens: list[int], cached: int,
            layer_done: Callable[[int], None]) -> int:
    """Fills the cache with these tokens, except the first `cached`, which it has already. Calls
    layer_done after each layer. Returns the token that follows."""
    x = model.embed(torch.tensor(tokens[cached:]), torch.arange(cached, len(tokens)))
    for layer, block in enumerate(model.blocks):
        q, k, v = block.project(x)
        memory.write(layer, table, cached, k, v)
        layer_done(layer)
        if cached:
            k, v = memory.read(layer, table, len(tokens))
        x = block.attend(x, q, k, v)
    return int(model.logits(x[-1]).argmax())


@torch.inference_mode()
def decode(model: Transformer, memory: KvMemory, sequences: list) -> list[int]:
    """One token for each sequence (with .table, .length and .token, the last one). Its keys and
    values enter the cache. Linear layers run on all sequences at once."""
    x = model.embed(torch.tensor([one.token for one in sequences]),
                    torch.tensor([one.length for one in sequences]))
    for layer, block in enumerate(model.blocks):
        q, k, v = block.project(x)
        attended = []
        for row, one in enumerate(sequences):
            memory.write(layer, one.table, one.length, k[row:row + 1], v[row:row + 1])
            keys, values = memory.read(layer, one.table, one.length + 1)
            attended.append(block.attention(q[row:row + 1], keys, values))
        x = block.finish(x, torch.cat(attended))
    return model.logits(x).argmax(-1).tolist()


@torch.inference_mode()
def generate(model: Transformer, prompt: list[int], answer: int) -> tuple[list[int], float]:
    """The reference: one request alone, keys and values in plain tensors. Returns the tokens and
    the smallest distance between the best and the second logit."""
    x = model.embed(torch.tensor(prompt), torch.arange(len(prompt)))
    past: list[tuple[torch.Tensor, torch.Tensor]] = []
    out, margin, length = [], float("inf"), len(prompt)
    while True:
        for layer, block in enumerate(model.blocks):
            q, k, v = block.project(x)
            if length > len(prompt):
                k, v = torch.cat((past[layer][0], k)), torch.cat((past[layer][1], v))
                past[layer] = (k, v)
            else:
                past.append((k, v))
            x = block.attend(x, q, k, v)
        best = model.logits(x[-1]).topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        out.append(int(best.indices[0]))
        if len(out) == answer:
            return out, margin
        x = model.embed(torch.tensor(out[-1:]), torch.tensor([length]))
        length += 1


@torch.inference_mode()
def rounding(model: Transformer, prompt: list[int], answer: list[int]) -> float:
    """How much logits depend on how many tokens are computed at once: the largest difference
    between all tokens together and one by one on a cache. It is 0 with a BLAS that adds in one
    order, as Debian's reference BLAS does, and not with others."""
    tokens = torch.tensor(prompt + answer)
    at_once = model(tokens[None])[0]
    table, memory = list(range(blocks_for(len(tokens)))), KvMemory(model.shape, len(tokens))
    largest = 0.0
    for place in range(len(prompt), len(tokens)):
        if place == len(prompt):
            prefill(model, memory, table, prompt, 0, lambda layer: None)
        x = model.embed(tokens[place:place + 1], torch.tensor([place]))
        for layer, block in enumerate(model.blocks):
            q, k, v = block.project(x)
            memory.write(layer, table, place, k, v)
            x = block.attend(x, q, *memory.read(layer, table, place + 1))
        difference = float((model.logits(x[0]) - at_once[place]).abs().max())
        if not difference < float("inf"):
            raise ValueError("the model computes numbers that are not finite")
        largest = max(largest, difference)
    return largest
