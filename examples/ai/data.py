"""Synthetic data from a seed, without torch: sequences for training, requests for serving.

A training sequence follows one of a few affine rules: the first token names the rule, and then
x[t+1] = (a x[t] + b) mod V. A small model learns the rules within some dozens of steps, so that the
loss falls visibly. The same seed, step and rank give the same data on every machine.
"""
from __future__ import annotations

import dataclasses
import math

MASK = (1 << 64) - 1


class Prng:
    """SplitMix64: small, fast enough, and the same everywhere."""

    def __init__(self, *seeds: int):
        self._state = 0
        for seed in seeds:
            self._state = (self._state ^ (seed & MASK)) * 0x9E3779B97F4A7C15 & MASK
            self.next()

    def next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        z = self._state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        return self.next() * limit >> 64

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def exponential(self, mean: float) -> float:
        return -mean * math.log((self.next() + 1) / (MASK + 2))


RULES = ((1, 1), (1, 7), (3, 2), (5, 4))


def sequence(prng: Prng, length: int, vocabulary: int) -> list[int]:
    """A rule's token, then numbers that follow the rule. The rules are the last tokens."""
    numbers = vocabulary - len(RULES)
    rule = prng.below(len(RULES))
    a, b = RULES[rule]
    x = prng.below(numbers)
    out = [numbers + rule]
    while len(out) < length:
        out.append(x)
        x = (a * x + b) % numbers
    return out


def batch(seed: int, step: int, rank: int, size: int, length: int,
          vocabulary: int) -> list[list[int]]:
    """What one rank sees in one step: `size` sequences of length + 1 tokens, which are inputs and
    targets."""
    prng = Prng(seed, 1, step, rank)
    return [sequence(prng, length + 1, vocabulary) for _ in range(size)]


@dataclasses.dataclass(frozen=True)
class Request:
    number: int
    arrival: float          # seconds after the start
    prompt: tuple[int, ...]
    answer: int             # tokens to generate


def requests(seed: int, count: int, rate: float, vocabulary: int, prompt: int, answer: int,
             documents: int = 3) -> list[Request]:
    """Questions about a few documents. A prompt is a document, which other requests share, and a
    question; both have lengths by chance, around `prompt` tokens in all. Arrivals are a Poisson
    process of `rate` requests per second."""
    prng = Prng(seed, 2)
    texts = [[prng.below(vocabulary) for _ in range(prng.between(prompt // 2, prompt))]
             for _ in range(documents)]
    made, now = [], 0.0
    for number in range(count):
        document = texts[prng.below(documents)]
        question = [prng.below(vocabulary) for _ in range(prng.between(4, max(4, prompt // 4)))]
        made.append(Request(number, now, tuple(document + question),
                            prng.between(max(2, answer // 2), answer)))
        now += prng.exponential(1 / rate)
    return made
