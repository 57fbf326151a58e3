"""What a rank does in a step: data parallel (DDP) or sharded, and where the time goes.

Data parallel: DDP averages the gradients while the backward pass goes on, and every rank updates
all parameters.

Sharded: each rank updates one shard of each part of the model (the embeddings, the blocks), and has
the optimizer's state of its shards only. The gradients of a part are reduce-scattered while the
backward pass goes on with the parts before it. Its new parameters are all-gathered while the next
forward pass computes the parts before it.
"""
from __future__ import annotations

import time
from typing import Any, Callable

import torch
import torch.distributed as dist

from flat import Adam, Flat
from model import loss_of

now = time.perf_counter


class Clock:
    """Adds up the seconds of the parts of the steps."""

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        self.parts = dict.fromkeys(("forward", "backward", "exposed", "optimizer"), 0.0)
        self.communication = 0.0  # the time in which an operation was in progress
        self._idle_since = 0.0
        self.steps: list[float] = []

    def add(self, name: str, since: float) -> float:
        end = now()
        self.parts[name] += end - since
        return end

    def operation(self) -> Callable[[], None]:
        """An operation starts; the caller calls the result when it is done. Operations run one
        after the other, so the time that one waits for those before it is not its own."""
        started = now()

        def done() -> None:
            self.communication += now() - max(started, self._idle_since)
            self._idle_since = now()
        return done


class DataParallel:
    """DDP; a hook around its all-reduce measures when each bucket is ready and when it is done."""

    def __init__(self, flat: Flat, spec: dict[str, Any], clock: Clock):
        self._flat, self._clock, self._ready = flat, clock, 0.0
        self._ranks = spec["ranks"]
        self.adams = [Adam(flat.values.numel(), spec["rate"])]
        self._model = torch.nn.parallel.DistributedDataParallel(
            flat.model, bucket_cap_mb=spec["bucket"] / (1 << 20))
        self._model.register_comm_hook(None, self._reduce)

    def _reduce(self, _, bucket):  # torch accepts no annotations that are strings
        self._ready, done = now(), self._clock.operation()
        tensor = bucket.buffer().div_(self._ranks)
        future = dist.all_reduce(tensor, async_op=True).get_future()

        def result(finished: torch.futures.Future) -> torch.Tensor:
            done()
            return finished.value()[0]
        return future.then(result)

    def step(self, batch: torch.Tensor, before_backward) -> torch.Tensor:
        begin = now()
        loss = loss_of(self._model, batch)
        begin = self._clock.add("forward", begin)
        before_backward()
        self._flat.gradients.zero_()
        loss.backward()
        # The last bucket was ready when the backward pass had nothing left to compute.
        self._clock.parts["backward"] += self._ready - begin
        begin = self._clock.add("exposed", self._ready)
        self.adams[0].update(self._flat.values, self._flat.gradients)
        self._clock.add("optimizer", begin)
        return loss

    def finish(self) -> None:
        """The parameters are complete after each step."""


class Part:
    """A part of a sharded model, with this rank's shard, and the operation that is under way."""

    def __init__(self, flat: Flat, where: slice, modules: list[torch.nn.Module], rate: float):
        self.values, self.gradients = flat.values[where], flat.gradients[where]
        count = self.values.numel() // dist.get_world_size()
        self.mine = self.values[dist.get_rank() * count:][:count]
        self.shard = torch.zeros(count)  # of the gradients, averaged
        self.adam = Adam(count, rate)
        self.modules = modules
        self.weights = [weight for module in modules for weight in module.parameters()]
        self.missing = 0                 # gradients that the backward pass has not computed yet
        self.work: Any = None

    def call_before_use(self, call: Callable[[Part], None]) -> None:
        for module in (one for top in self.modules for one in top.modules()):
            module.register_forward_pre_hook(lambda *_: call(self))

    def call_after_each_gradient(self, call: Callable[[Part], None]) -> None:
        # The nodes that add to .grad; torch does not keep them alive.
        self._nodes = [weight.expand_as(weight).grad_fn.next_functions[0][0]
                       for weight in self.weights]
        for node in self._nodes:
            node.register_hook(lambda *_: call(self))


class Sharded:
    def __init__(self, flat: Flat, spec: dict[str, Any], clock: Clock):
        self._flat, self._clock, self._ranks = flat, clock, spec["ranks"]
        self._parts = [Part(flat, where, modules, spec["rate"])
                       for where, modules in zip(flat.parts, flat.model.parts())]
        self.adams = [part.adam for part in self._parts]
        for part in self._parts:
            part.call_before_use(self._before_use)
            part.call_after_each_gradient(self._gradient_ready)

    def step(self, batch: torch.Tensor, before_backward) -> torch.Tensor:
        begin, waited = now(), self._clock.parts["exposed"]
        loss = loss_of(self._flat.model, batch)
        waited = self._clock.parts["exposed"] - waited
        begin = self._clock.add("forward", begin + waited)
        before_backward()
        self._flat.gradients.zero_()
        for part in self._parts:
            part.missing = len(part.weights)
        loss.backward()
        self._clock.add("backward", begin)
        for part in reversed(self._parts):  # in the order in which their gradients were ready
            self._wait(part)
            begin = now()
            part.adam.update(part.mine, part.shard)
            self._clock.add("optimizer", begin)
        for part in self._parts:
            self._start(part, dist._all_gather_base, part.values, part.mine.clone())
        return loss

    def finish(self) -> None:
        """Waits until this rank has all parameters."""
        for part in self._parts:
            self._wait(part)

    def _before_use(self, part: Part) -> None:
        self._wait(part)

    def _gradient_ready(self, part: Part) -> None:
        part.missing -= 1
        if part.missing == 0:
            part.gradients.div_(self._ranks)
            self._start(part, dist._reduce_scatter_base, part.shard, part.gradients)

    def _start(self, part: Part, call: Callable, out: torch.Tensor, source: torch.Tensor) -> None:
        done = self._clock.operation()
        part.work = call(out, source, async_op=True)
        part.work.get_future().then(lambda _: done())

    def _wait(self, part: Part) -> None:
        if part.work is not None:
            begin = now()
            part.work.wait()
            part.work = None
            self._clock.add("exposed", begin)
