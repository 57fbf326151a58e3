"""The processes that serve requests: prefill workers, decode workers, and workers that do both.

A prefill worker computes a prompt layer by layer. When a layer is done, its blocks are on their way
to the decode worker while the next layer is computed: written by the prefill worker (mode write),
or read by the decode worker (mode read). Both begin with a message on a control socket. A thread
for each pair waits for blocks, so that decoding goes on meanwhile.
"""
from __future__ import annotations

import os
import pathlib
import queue
import select
import signal
import threading
import time
from typing import Any

import compute
import nerve
from channel import Channel
from kv_cache import BLOCK, BlockPool, NoSpace, blocks_for, identities
from kv_memory import KvMemory, WrongBlock
from pair import DECODE, PREFILL, Pair
from scheduler import Batch

now = time.monotonic  # the same clock in all processes


class PrefillWorker:
    def __init__(self, folder: pathlib.Path, spec: dict[str, Any], number: int, router: Channel,
                 controls: dict[int, Channel]):
        self._spec, self._router, self._controls = spec, router, controls
        self._number = number
        self._model = compute.model_of(spec)
        self._pool = BlockPool(spec["prefill_blocks"])
        self._memory = KvMemory(self._model.shape, spec["prefill_blocks"])
        self._pairs = {decode: Pair(folder, number, decode, PREFILL, self._memory)
                       for decode in controls}
        self._fetched: queue.SimpleQueue = queue.SimpleQueue()  # tables that are no longer read
        self._announced = {decode: queue.SimpleQueue() for decode in controls}
        self._busy = 0.0
        # Requests until this worker kills itself; None: it does not.
        self._dies_after = spec["requests"] // (3 * spec["prefill"]) \
            if spec["kill"] == "prefill" and number == 0 else None

    def run(self) -> dict[str, Any]:
        if self._spec["mode"] == "read":
            for decode in self._pairs:
                threading.Thread(target=self._watch, args=(decode,), daemon=True).start()
        self._router.send(ready=True)
        while (message := self._router.receive())["do"] != "stop":
            begin = now()
            self._prefill(message)
            self._busy += now() - begin
        moved = sum(pair.bytes_moved() for pair in self._pairs.values())
        for pair in self._pairs.values():
            pair.close()
        return {"bytes": moved, "evictions": self._pool.evictions, "hits": self._pool.hits,
                "lookups": self._pool.lookups, "busy": self._busy}

    def _prefill(self, message: dict[str, Any]) -> None:
        tokens, decode, request = message["tokens"], message["to"], message["id"]
        table, cached = self._allocate(tokens)
        names, transfers = identities(tokens), []

        if self._spec["mode"] == "read":
            self._announced[decode].put((request, table))

        def layer_done(layer: int) -> None:
            for index in range(cached, len(table)):
                self._memory.seal(layer, table[index], names[index])
            try:
                if self._spec["mode"] == "write":
                    transfers.extend(self._pairs[decode].push(request, layer, table,
                                                              message["table"]))
                self._controls[decode].send(id=request, layer=layer, table=table)
            except (nerve.Error, OSError):
                pass  # the decode worker died; the router knows and sends its requests again
            self._die_if_asked(layer)
        token = compute.prefill(self._model, self._memory, table, tokens, cached * BLOCK,
                                layer_done)
        self._pool.publish(tokens, table)
        self._router.send(first=request, attempt=message["attempt"], token=token, at=now())
        try:
            for transfer in transfers:
                transfer.wait()
        except nerve.Error:
            pass
        if self._spec["mode"] == "write":
            self._pool.release(table)

    def _die_if_asked(self, layer: int) -> None:
        """Half of the layers of a prompt are on their way."""
        if self._dies_after is None or layer != (self._memory.layers - 1) // 2:
            return
        if self._dies_after == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._dies_after -= 1

    def _allocate(self, tokens: list[int]) -> tuple[list[int], int]:
        """A block table for these tokens, and how many of its blocks were in the cache."""
        self._release_fetched(wait=False)
        hit = self._pool.match(tokens)
        while True:
            try:
                return hit + self._pool.allocate(blocks_for(len(tokens)) - len(hit)), len(hit)
            except NoSpace:
                self._release_fetched(wait=True)

    def _release_fetched(self, wait: bool) -> None:
        while wait or not self._fetched.empty():
            self._pool.release(self._fetched.get(timeout=60))
            wait = False

    def _watch(self, decode: int) -> None:
        """Mode read: holds a table until the decode worker has read it, or is dead."""
        while True:
            request, table = self._announced[decode].get()
            try:
                if self._pairs[decode].must_serve:
                    self._pairs[decode].wait_until_fetched(request)
                else:
                    self._controls[decode].receive()
            except (nerve.Error, EOFError):
                pass
            self._fetched.put(table)


class Sequence:
    """A request in a decode worker."""

    def __init__(self, message: dict[str, Any], table: list[int]):
        self.request, self.attempt = message["id"], message["attempt"]
        self.tokens, self.left = message["tokens"], message["left"]
        self.length, self.table = len(self.tokens), table
        self.token: int | None = None
        self.first_at = self.kv_at = 0.0
        self.lost = False  # its prefill worker died before all blocks had arrived


class DecodeWorker:
    """Decodes; without prefill workers, computes the prompts as well."""

    def __init__(self, folder: pathlib.Path, spec: dict[str, Any], number: int, router: Channel,
                 controls: dict[int, Channel]):
        self._spec, self._router, self._controls = spec, router, controls
        self._model = compute.model_of(spec)
        self._pool = BlockPool(spec["decode_blocks"])
        self._memory = KvMemory(self._model.shape, spec["decode_blocks"])
        self._pairs = {prefill: Pair(folder, prefill, number, DECODE, self._memory)
                       for prefill in controls}
        self._transport = next((pair.transport() for pair in self._pairs.values()), "no transfers")
        self._expected = {prefill: queue.SimpleQueue() for prefill in controls}
        self._arrived: queue.SimpleQueue = queue.SimpleQueue()  # sequences, or an exception
        self._wake_read, self._wake_write = os.pipe()
        self._sequences: dict[int, Sequence] = {}
        self._prompts: list[Sequence] = []
        self._batch = Batch(spec["batch"])
        self._stopping = False
        self._waits: list[float] = []
        self._busy = 0.0
        self._verified = 0  # rows
        self._bytes = 0     # of pairs that ended before this worker

    def run(self) -> dict[str, Any]:
        for prefill in self._pairs:
            threading.Thread(target=self._receive_blocks, args=(prefill,), daemon=True).start()
        self._router.send(ready=True)
        while not self._stopping:
            idle = not self._batch.admit() and not self._prompts
            ready, _, _ = select.select([self._router, self._wake_read], [], [],
                                        None if idle else 0)
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
            self._take_messages()
            self._take_arrivals()
            begin = now()
            if self._prompts:
                self._compute_prompt(self._prompts.pop(0))
            elif self._batch.admit():
                self._step()
            self._busy += now() - begin
        for prefill in list(self._pairs):
            self._close_pair(prefill)
        return {"bytes": self._bytes, "waits": self._waits, "busy": self._busy,
                "verified": self._verified, "transport": self._transport}

    def _take_messages(self) -> None:
        while (message := self._router.receive(wait=False)) is not None:
            if message["do"] == "stop":
                self._stopping = True
            elif message["do"] == "first":
                sequence = self._sequences.get(message["id"])
                if sequence and sequence.attempt == message["attempt"]:  # else it was lost
                    sequence.token, sequence.first_at = message["token"], message["at"]
                    self._start_if_complete(sequence)
            else:
                total = message["left"] + len(message["tokens"])
                sequence = Sequence(message, self._pool.allocate(blocks_for(total)))
                self._sequences[sequence.request] = sequence
                if message["do"] == "compute":
                    self._prompts.append(sequence)
                else:
                    self._expected[message["from"]].put(sequence)
                    blocks = blocks_for(sequence.length)
                    self._router.send(table=sequence.request, attempt=sequence.attempt,
                                      blocks=sequence.table[:blocks])

    def _take_arrivals(self) -> None:
        while not self._arrived.empty():
            arrived = self._arrived.get()
            if isinstance(arrived, BaseException):
                raise arrived
            if arrived.lost:
                self._end(arrived, "lost")
            else:
                arrived.kv_at = now()
                self._start_if_complete(arrived)

    def _start_if_complete(self, sequence: Sequence) -> None:
        """Decoding starts with the first token and all keys and values."""
        if sequence.token is not None and sequence.kv_at:
            self._waits.append(max(0.0, sequence.kv_at - sequence.first_at))
            self._start(sequence)

    def _start(self, sequence: Sequence) -> None:
        if sequence.left > 1:
            self._batch.add(sequence)
        else:
            self._end(sequence, "finished")

    def _end(self, sequence: Sequence, how: str) -> None:
        self._pool.release(sequence.table)
        del self._sequences[sequence.request]
        self._router.send(**{how: sequence.request}, attempt=sequence.attempt)

    def _compute_prompt(self, sequence: Sequence) -> None:
        sequence.token = compute.prefill(self._model, self._memory, sequence.table,
                                         sequence.tokens, 0, lambda layer: None)
        self._router.send(first=sequence.request, attempt=sequence.attempt, token=sequence.token,
                          at=now())
        self._start(sequence)

    def _step(self) -> None:
        running = list(self._batch.running)
        tokens = compute.decode(self._model, self._memory, running)
        self._router.send(step=[[one.request, one.attempt, token]
                                for one, token in zip(running, tokens)], at=now())
        for one, token in zip(running, tokens):
            one.token, one.length, one.left = token, one.length + 1, one.left - 1
            if one.left == 1:  # the first token came from the prefill worker
                self._batch.leave(one)
                self._end(one, "finished")

    def _receive_blocks(self, prefill: int) -> None:
        """A thread: waits for the blocks of one request after the other, in their order. If the
        prefill worker dies, all requests that expect blocks of it are lost."""
        try:
            while True:
                sequence = self._expected[prefill].get()
                sequence.lost = not self._received(prefill, sequence)
                self._arrived.put(sequence)
                os.write(self._wake_write, b".")
        except BaseException as error:  # shown by the main thread
            self._arrived.put(error)
            os.write(self._wake_write, b".")

    def _received(self, prefill: int, sequence: Sequence) -> bool:
        """Waits for the blocks of a request. False if the prefill worker is dead."""
        if prefill not in self._pairs:
            return False
        try:
            self._receive(self._pairs[prefill], self._controls[prefill], sequence)
            return True
        except (nerve.PeerDied, EOFError) as error:
            # A connection that failed, to a worker that is alive, is an error instead.
            if isinstance(error, nerve.PeerDied) and not self._controls[prefill].ends_within(5):
                raise
            # Deregisters the cache from this pair: a write that is still on its way to these blocks
            # must not arrive when they belong to another request.
            self._close_pair(prefill)
            return False

    def _close_pair(self, prefill: int) -> None:
        pair = self._pairs.pop(prefill)
        self._bytes += pair.bytes_moved()
        pair.close()

    def _receive(self, pair: Pair, control: Channel, sequence: Sequence) -> None:
        table = sequence.table[:blocks_for(sequence.length)]
        names = identities(sequence.tokens)
        for layer in range(self._memory.layers):
            message = control.receive()  # sleeps; a wait for a notification would poll
            if message["id"] != sequence.request or message["layer"] != layer:
                raise WrongBlock(f"layer {message['layer']} of request {message['id']} was "
                                 f"announced instead of {layer} of {sequence.request}")
            if self._spec["mode"] == "write":
                pair.wait_for_push(sequence.request, layer, len(table))
            else:
                pair.fetch(layer, table, message["table"])
            if self._spec["check"]:
                for block, name in zip(table, names):
                    self._memory.verify(layer, block, name, sequence.request)
                    self._verified += 1
        if self._spec["mode"] == "read":
            self._tell_fetched(pair, control, sequence.request)

    def _tell_fetched(self, pair: Pair, control: Channel, request: int) -> None:
        """A prefill worker that died in the meantime is noticed at the next request."""
        try:
            if pair.must_serve:
                pair.tell_fetched(request)
            else:
                control.send(fetched=request)
        except (nerve.PeerDied, BrokenPipeError, ConnectionResetError):
            pass
