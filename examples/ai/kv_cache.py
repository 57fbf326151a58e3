"""A paged KV cache: which blocks belong to which tokens. The memory itself is in kv_memory.py.

A block holds the keys and values of BLOCK tokens in every layer. A request has a block table: the
numbers of its blocks in order. Full blocks stay in the pool when their request has ended, so that
another prompt that begins with the same tokens finds them. When the pool is full, the block that
was not used for the longest time is evicted; blocks of running requests never are.
"""
from __future__ import annotations

import collections
import hashlib

BLOCK = 16  # tokens


class NoSpace(Exception):
    """The pool cannot hold these blocks now; nothing was allocated."""


def blocks_for(tokens: int) -> int:
    return -(-tokens // BLOCK)


def identities(tokens: list[int] | tuple[int, ...]) -> list[int]:
    """For each block of these tokens a number that depends on all tokens up to the block's end, as
    its keys and values do. Blocks with the same identity are interchangeable."""
    out, chain = [], hashlib.blake2b(digest_size=8)
    for begin in range(0, len(tokens), BLOCK):
        chain.update(b"".join(token.to_bytes(4, "little") for token in tokens[begin:begin + BLOCK]))
        out.append(int.from_bytes(chain.digest(), "little") >> 1)
    return out


class BlockPool:
    """The blocks of one worker: free, referenced by requests, or cached."""

    def __init__(self, blocks: int):
        self.blocks = blocks
        self._free = list(range(blocks - 1, -1, -1))
        self._references = [0] * blocks
        self._identity: dict[int, int] = {}               # block -> identity, of published blocks
        self._found: dict[int, int] = {}                  # identity -> block
        self._cached: collections.OrderedDict[int, None] = collections.OrderedDict()  # oldest first
        self.evictions = 0
        self.hits = 0
        self.lookups = 0

    def available(self) -> int:
        return len(self._free) + len(self._cached)

    def match(self, tokens: list[int]) -> list[int]:
        """The cached blocks that these tokens begin with; the caller holds them until release().
        The last token is never covered, because its output is what the caller wants."""
        wanted = identities(tokens[:(len(tokens) - 1) // BLOCK * BLOCK])
        table = []
        for identity in wanted:
            block = self._found.get(identity)
            if block is None:
                break
            self._hold(block)
            table.append(block)
        self.lookups += len(wanted)
        self.hits += len(table)
        return table

    def allocate(self, count: int) -> list[int]:
        if count > self.available():
            raise NoSpace(f"{count} blocks are needed, {self.available()} of {self.blocks} are "
                          "available")
        table = []
        for _ in range(count):
            if not self._free:
                self._evict()
            block = self._free.pop()
            self._references[block] = 1
            table.append(block)
        return table

    def publish(self, tokens: list[int], table: list[int]) -> None:
        """Makes the full blocks of a request known to match()."""
        for identity, block in zip(identities(tokens[:len(tokens) // BLOCK * BLOCK]), table):
            if identity not in self._found and block not in self._identity:
                self._found[identity] = block
                self._identity[block] = identity

    def release(self, table: list[int]) -> None:
        for block in reversed(table):  # the end of a prompt is the first to be evicted
            if self._references[block] == 0:
                raise ValueError(f"block {block} is released twice")
            self._references[block] -= 1
            if self._references[block] > 0:
                continue
            if block in self._identity:
                self._cached[block] = None
            else:
                self._free.append(block)

    def _hold(self, block: int) -> None:
        self._references[block] += 1
        self._cached.pop(block, None)

    def _evict(self) -> None:
        block, _ = self._cached.popitem(last=False)
        del self._found[self._identity.pop(block)]
        self._free.append(block)
        self.evictions += 1
