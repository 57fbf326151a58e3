"""The memory of a paged KV cache, as peers access it: for each layer and block, a row with a header
and the keys and values of BLOCK tokens. Rows are what RDMA reads and writes.

The header names the content: the identity of the block (kv_cache.identities), its layer, and a
checksum. verify() refuses a row that is not what it should be: one of another request, of another
layer, one that has not arrived completely.
"""
from __future__ import annotations

import zlib

import numpy
import torch

from kv_cache import BLOCK
from model import Shape

HEADER = 16  # float32 words, of which the first six are three int64


class WrongBlock(Exception):
    """A block that has arrived is not the one that was asked for."""


class KvMemory:
    def __init__(self, shape: Shape, blocks: int):
        self.layers, self.blocks, self._hidden = shape.layers, blocks, shape.hidden
        self._words = HEADER + 2 * BLOCK * shape.hidden
        self.array = numpy.zeros((shape.layers, blocks, self._words), dtype=numpy.float32)
        self.row_bytes = self._words * 4
        self._data = torch.from_numpy(self.array)[:, :, HEADER:].unflatten(
            2, (2, BLOCK, shape.hidden))

    def row(self, layer: int, block: int) -> slice:
        """The bytes of a row within the registered memory."""
        begin = (layer * self.blocks + block) * self.row_bytes
        return slice(begin, begin + self.row_bytes)

    def write(self, layer: int, table: list[int], first: int, k: torch.Tensor,
              v: torch.Tensor) -> None:
        """Stores the keys and values of tokens first, first + 1, ...: [tokens, hidden]."""
        at = 0
        while at < k.shape[0]:
            block, inside = divmod(first + at, BLOCK)
            count = min(BLOCK - inside, k.shape[0] - at)
            row = self._data[layer, table[block]]
            row[0, inside:inside + count] = k[at:at + count]
            row[1, inside:inside + count] = v[at:at + count]
            at += count

    def read(self, layer: int, table: list[int], count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values of the first `count` tokens."""
        both = self._data[layer, table].transpose(0, 1).reshape(2, -1, self._hidden)
        return both[0, :count], both[1, :count]

    def seal(self, layer: int, block: int, identity: int) -> None:
        """Writes the header of a row that is complete."""
        header = self.array[layer, block, :6].view(numpy.int64)
        header[:] = (identity, layer, self._checksum(layer, block))

    def verify(self, layer: int, block: int, identity: int, request: int) -> None:
        found, of_layer, checksum = self.array[layer, block, :6].view(numpy.int64).tolist()
        where = f"request {request}: the row of layer {layer} in block {block}"
        if found != identity:
            raise WrongBlock(f"{where} holds other tokens ({found:#x} instead of {identity:#x}): "
                             "it is of another request, or has not arrived")
        if of_layer != layer:
            raise WrongBlock(f"{where} is of layer {of_layer}")
        if checksum != self._checksum(layer, block):
            raise WrongBlock(f"{where} has a wrong checksum; its data has not arrived completely")

    def _checksum(self, layer: int, block: int) -> int:
        return zlib.crc32(self.array[layer, block, HEADER:])
