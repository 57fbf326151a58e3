"""The connection of a prefill worker and a decode worker: a nerve group of two, with the memory of
both caches registered. Each pair has a group of its own, so that the death of a worker ends only
its own pairs.

The prefill worker is rank 0 of the group, the decode worker rank 1.
"""
from __future__ import annotations

import os
import pathlib

import numpy

import nerve
from kv_cache import BLOCK
from kv_memory import KvMemory

TAGS = 1 << 24
PREFILL, DECODE = 0, 1


class Pair:
    def __init__(self, folder: pathlib.Path, prefill: int, decode: int, side: int,
                 memory: KvMemory):
        self.name = f"prefill {prefill} and decode {decode}"
        self.memory, self._peer = memory, 1 - side
        transport = os.environ.get("NERVEAI_TRANSPORT", "rdma")
        # Over TCP a process serves the reads of its peers only while it is inside a call.
        self.must_serve = transport == "tcp"
        self._group = nerve.join(rank=side, ranks=2, at=f"file://{folder}/pair-{prefill}-{decode}",
                                 transport=transport, timeout=60)
        self._buffer = self._group.register(memory.array)
        blocks = self._agree()
        key = numpy.frombuffer(self._buffer.key(), dtype=numpy.uint8)
        keys = numpy.zeros((2, len(key)), dtype=numpy.uint8)
        self._group.all_gather(key, keys)
        self._remote = self._group.remote(self._peer, keys[self._peer].tobytes())
        self._remote_blocks = blocks

    def _agree(self) -> int:
        """Compares the layout of both caches; the number of the peer's blocks."""
        mine = numpy.array([self.memory.layers, self.memory.row_bytes, BLOCK, self.memory.blocks],
                           dtype=numpy.int64)
        both = numpy.zeros((2, 4), dtype=numpy.int64)
        self._group.all_gather(mine, both)
        if (both[0, :3] != both[1, :3]).any():
            raise nerve.Error(
                f"{self.name} have caches of different sizes: layers, bytes per row and tokens per "
                f"block are {both[0, :3].tolist()} and {both[1, :3].tolist()}; start both with the "
                "same model")
        return int(both[self._peer, 3])

    def _remote_row(self, layer: int, block: int):
        begin = (layer * self._remote_blocks + block) * self.memory.row_bytes
        return self._remote[begin:begin + self.memory.row_bytes]

    def push(self, request: int, layer: int, mine: list[int], theirs: list[int]) -> list:
        """Starts to write these blocks into the peer's cache; each notifies the peer."""
        return [self._group.put(self._buffer[self.memory.row(layer, here)],
                                self._remote_row(layer, there), notify=self._tag(request, layer))
                for here, there in zip(mine, theirs)]

    def wait_for_push(self, request: int, layer: int, blocks: int) -> None:
        for _ in range(blocks):
            self._group.wait(self._peer, self._tag(request, layer))

    def fetch(self, layer: int, mine: list[int], theirs: list[int]) -> None:
        """Reads these blocks of the peer's cache."""
        for transfer in [self._group.get(self._buffer[self.memory.row(layer, here)],
                                         self._remote_row(layer, there))
                         for here, there in zip(mine, theirs)]:
            transfer.wait()

    def tell_fetched(self, request: int) -> None:
        self._group.notify(self._peer, self._tag(request, 0))

    def wait_until_fetched(self, request: int) -> None:
        """Inside this call the TCP transport serves the reads of the peer."""
        self._group.wait(self._peer, self._tag(request, 0))

    def _tag(self, request: int, layer: int) -> int:
        return (request * self.memory.layers + layer) % TAGS

    def bytes_moved(self) -> int:
        stats = self._group.stats()
        return stats["bytes_put"] + stats["bytes_got"]

    def transport(self) -> str:
        return self._group.stats()["transport"]

    def close(self) -> None:
        self._buffer = None  # must end before the group
        self._group.close()
