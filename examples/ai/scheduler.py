"""Decisions of the server, without I/O: which worker gets a request, and who decodes together."""
from __future__ import annotations

import collections
import dataclasses

from kv_cache import blocks_for


@dataclasses.dataclass
class Job:
    """A request on its way through the server."""
    number: int
    prompt: list[int]
    answer: int                     # tokens to generate in all
    generated: list[int] = dataclasses.field(default_factory=list)
    attempt: int = 0                # how often a worker died that it needed
    prefill: int | None = None
    decode: int | None = None

    def tokens(self) -> list[int]:
        """What is computed as its prompt: after a death, what was generated as well."""
        return self.prompt + self.generated

    def blocks(self) -> int:
        return blocks_for(len(self.prompt) + self.answer)

    def done(self) -> bool:
        return len(self.generated) >= self.answer


class Dispatcher:
    """Assigns requests in the order of arrival. A request starts when a decode worker has room for
    its prompt and its whole answer, so that a running request never lacks a block. Without prefill
    workers, decode workers compute the prompts."""

    def __init__(self, prefill: int, decode: int, blocks: int):
        self._queued = dict.fromkeys(range(prefill), 0)  # requests of each prefill worker
        self._room = {worker: blocks for worker in range(decode)}
        self._waiting: collections.deque[Job] = collections.deque()
        self.running: dict[int, Job] = {}

    def arrive(self, job: Job) -> None:
        self._waiting.append(job)

    def next(self) -> Job | None:
        """Takes the first waiting request, if a decode worker has room for it."""
        if not self._waiting:
            return None
        job = self._waiting[0]
        worker = max(self._room, key=lambda one: (self._room[one], -one), default=None)
        if worker is None or self._room[worker] < job.blocks():
            return None
        self._waiting.popleft()
        self._room[worker] -= job.blocks()
        job.decode = worker
        if self._queued:
            job.prefill = min(self._queued, key=self._queued.__getitem__)
            self._queued[job.prefill] += 1
        self.running[job.number] = job
        return job

    def prefilled(self, job: Job) -> None:
        if job.prefill in self._queued:
            self._queued[job.prefill] -= 1
        job.prefill = None

    def finished(self, job: Job) -> None:
        self._room[job.decode] += job.blocks()
        del self.running[job.number]

    def prefill_died(self, worker: int) -> None:
        """Requests whose blocks are missing are still running until lost() is called for them."""
        del self._queued[worker]

    def decode_died(self, worker: int) -> list[Job]:
        """Returns the requests of this worker, which were lost."""
        lost = [job for job in self.running.values() if job.decode == worker]
        for job in lost:
            self.lost(job)
        del self._room[worker]
        return lost

    def lost(self, job: Job) -> None:
        """A worker died that this request needed: it starts again, before all that came after it.
        One that has all its tokens is done."""
        self.prefilled(job)
        self.finished(job)
        job.attempt += 1
        job.decode = None
        if not job.done():
            self._waiting = collections.deque(sorted([job, *self._waiting],
                                                     key=lambda one: one.number))


class Batch:
    """Continuous batching: after each step, requests that have ended leave and others join."""

    def __init__(self, limit: int):
        self._limit = limit
        self._ready: collections.deque = collections.deque()
        self.running: list = []

    def add(self, sequence) -> None:
        self._ready.append(sequence)

    def admit(self) -> list:
        while self._ready and len(self.running) < self._limit:
            self.running.append(self._ready.popleft())
        return self.running

    def leave(self, sequence) -> None:
        self.running.remove(sequence)
