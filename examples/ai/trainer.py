"""The training job, as its ranks run it: data parallel (DDP) or sharded.

All parameters are views of one flat tensor, and so are the gradients. Data parallel: DDP averages
the gradients while the backward pass goes on, and every rank updates all parameters. Sharded: the
gradients are reduce-scattered, every rank updates its shard, with its share of the optimizer's
state, and the new parameters are all-gathered.

one_process() is the same job without communication. It adds the gradients in the order of ranks, as
the library does, so that the results are equal bit for bit.
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import signal
import statistics
import time
from typing import Any

import torch
import torch.distributed as dist

import data
import launch
from model import Shape, Transformer, loss_of

now = time.perf_counter


class Flat:
    """A model whose parameters and gradients are views of two flat tensors, padded so that they
    can be divided among the ranks."""

    def __init__(self, spec: dict[str, Any]):
        self.model = Transformer(Shape(**spec["shape"]), spec["seed"])
        weights = list(self.model.parameters())
        count = sum(weight.numel() for weight in weights)
        padded = -(-count // spec["ranks"]) * spec["ranks"]
        self.values, self.gradients = torch.zeros(padded), torch.zeros(padded)
        at = 0
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


def sequences(spec: dict[str, Any], step: int, rank: int) -> torch.Tensor:
    return torch.tensor(data.batch(spec["seed"], step, rank, spec["batch"], spec["length"],
                                   spec["shape"]["vocabulary"]))


# --- one process ---------------------------------------------------------------------------------

def one_process(spec: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """The job without communication: the batch of each rank, one after the other."""
    flat = Flat(spec)
    adam = Adam(flat.values.numel(), spec["rate"])
    losses, started = [], now()
    for step in range(spec["steps"]):
        total, parts = None, []
        for rank in range(spec["ranks"]):
            flat.gradients.zero_()
            loss = loss_of(flat.model, sequences(spec, step, rank))
            loss.backward()
            part = flat.gradients / spec["ranks"]
            total = part if total is None else total.add_(part)
            parts.append(loss.item())
        adam.update(flat.values, total)
        losses.append(statistics.fmean(parts))
        launch.show_progress(folder, step + 1)
    return {"losses": losses, "digest": flat.digest(), "seconds": now() - started}


def whole_batch(spec: dict[str, Any]) -> dict[str, Any]:
    """One process that sees the batches of all ranks as one batch: other sums, other rounding."""
    flat = Flat(spec)
    adam = Adam(flat.values.numel(), spec["rate"])
    losses = []
    for step in range(spec["steps"]):
        flat.gradients.zero_()
        loss = loss_of(flat.model, torch.cat([sequences(spec, step, rank)
                                              for rank in range(spec["ranks"])]))
        loss.backward()
        adam.update(flat.values, flat.gradients)
        losses.append(loss.item())
    return {"losses": losses}


def reference(folder: pathlib.Path, spec: dict[str, Any]) -> dict[str, Any]:
    """Both references, side by side."""
    whole = launch.Rank(0, folder / "whole.json", lambda: whole_batch(spec))
    one, other = one_process(spec, folder), whole.wait()
    if why := launch.reason(other):
        raise launch.Failed(f"one process: {why}")
    return {**one, "whole_batch": other["losses"]}


# --- one rank ------------------------------------------------------------------------------------

class Clock:
    """Adds up the seconds of the parts of the steps."""

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        self.parts = dict.fromkeys(("forward", "backward", "exposed", "optimizer"), 0.0)
        self.communication = 0.0  # the time in which an operation was in progress
        self.steps: list[float] = []

    def add(self, name: str, since: float) -> float:
        end = now()
        self.parts[name] += end - since
        return end


class DataParallel:
    """DDP; a hook around its all-reduce measures when each bucket is ready and when it is done."""

    def __init__(self, flat: Flat, spec: dict[str, Any], clock: Clock):
        self._flat, self._clock, self._ready = flat, clock, 0.0
        self._ranks = spec["ranks"]
        self.adam = Adam(flat.values.numel(), spec["rate"])
        self.mine = slice(0, flat.values.numel())
        self._model = torch.nn.parallel.DistributedDataParallel(
            flat.model, bucket_cap_mb=spec["bucket"] / (1 << 20))
        self._model.register_comm_hook(None, self._reduce)

    def _reduce(self, _, bucket):  # torch accepts no annotations that are strings
        self._ready = started = now()
        tensor = bucket.buffer().div_(self._ranks)
        future = dist.all_reduce(tensor, async_op=True).get_future()

        def done(finished: torch.futures.Future) -> torch.Tensor:
            self._clock.communication += now() - started
            return finished.value()[0]
        return future.then(done)

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
        self.adam.update(self._flat.values, self._flat.gradients)
        self._clock.add("optimizer", begin)
        return loss


class Sharded:
    """Reduce-scatter of the gradients, an update of this rank's shard, all-gather of parameters."""

    def __init__(self, flat: Flat, spec: dict[str, Any], clock: Clock):
        self._flat, self._clock, self._ranks = flat, clock, spec["ranks"]
        count = flat.values.numel() // self._ranks
        self.mine = slice(dist.get_rank() * count, (dist.get_rank() + 1) * count)
        self.adam = Adam(count, spec["rate"])
        self._shard = torch.zeros(count)

    def step(self, batch: torch.Tensor, before_backward) -> torch.Tensor:
        begin = now()
        loss = loss_of(self._flat.model, batch)
        begin = self._clock.add("forward", begin)
        before_backward()
        self._flat.gradients.zero_()
        loss.backward()
        begin = self._clock.add("backward", begin)
        self._flat.gradients.div_(self._ranks)
        dist._reduce_scatter_base(self._shard, self._flat.gradients)
        self._clock.communication += now() - begin
        begin = self._clock.add("exposed", begin)
        values = self._flat.values[self.mine]
        self.adam.update(values, self._shard)
        begin = self._clock.add("optimizer", begin)
        dist._all_gather_base(self._flat.values, values.clone())
        self._clock.communication += now() - begin
        self._clock.add("exposed", begin)
        return loss


# --- checkpoints: a file for each rank; one is usable when all ranks have written it --------------

def _checkpoint(folder: pathlib.Path, step: int, rank: int) -> pathlib.Path:
    return folder / f"checkpoint-{step:06d}-{rank}.pt"


def save(folder: pathlib.Path, step: int, rank: int, flat: Flat, adam: Adam, losses) -> None:
    path = _checkpoint(folder, step, rank)
    new = path.with_suffix(".new")
    torch.save({"values": flat.values, "mean": adam.mean, "square": adam.square,
                "step": adam.step, "losses": losses}, new)
    new.replace(path)


def last_checkpoint(folder: pathlib.Path, ranks: int) -> int:
    """The last step with a checkpoint of every rank; 0 if there is none."""
    steps = {int(path.name.split("-")[1]) for path in folder.glob("checkpoint-*.pt")}
    whole = [step for step in steps
             if all(_checkpoint(folder, step, rank).exists() for rank in range(ranks))]
    return max(whole, default=0)


def load(folder: pathlib.Path, step: int, rank: int, flat: Flat, adam: Adam) -> list[float]:
    saved = torch.load(_checkpoint(folder, step, rank))
    flat.values.copy_(saved["values"])
    adam.mean.copy_(saved["mean"])
    adam.square.copy_(saved["square"])
    adam.step = saved["step"]
    return saved["losses"]


def run_rank(folder: pathlib.Path, spec: dict[str, Any], rank: int, life: int, resume: int,
             kill: list[int] | None) -> dict[str, Any]:
    """One rank from `resume` to the last step. If a peer dies: which one, and when."""
    import nerve
    import nerve.torch  # noqa: F401  (registers the backend)
    dist.init_process_group("nerve", init_method=f"file://{folder}/group-{life}", rank=rank,
                            world_size=spec["ranks"])
    clock, flat = Clock(), Flat(spec)
    worker = (Sharded if spec["sharded"] else DataParallel)(flat, spec, clock)
    losses = load(folder, resume, rank, flat, worker.adam) if resume else []
    group = dist.distributed_c10d._get_default_group().group
    group.barrier()
    started = now()
    try:
        for step in range(resume, spec["steps"]):
            begin = now()

            def before_backward():
                if kill == [rank, step]:
                    os.kill(os.getpid(), signal.SIGKILL)
            loss = worker.step(sequences(spec, step, rank), before_backward)
            losses.append(loss.item())
            if step == resume and step + 1 < spec["steps"]:
                clock.reset()  # the first step allocates memory and registers it
            else:
                clock.steps.append(now() - begin)
            if (step + 1) % spec["checkpoint"] == 0 and step + 1 < spec["steps"]:
                save(folder, step + 1, rank, flat, worker.adam, losses)
            if rank == 0:
                launch.show_progress(folder, step + 1)
        group.barrier()
    except RuntimeError as error:
        death = _death(error)
        return {"died": death.rank, "step": step, "text": str(death)}
    seconds = now() - started
    stats = group.stats()
    group.close()
    return {"losses": losses, "digest": flat.digest(), "seconds": seconds, "parts": clock.parts,
            "communication": clock.communication, "steps": clock.steps,
            "transport": stats["transport"],
            "bytes_per_step": (stats["bytes_put"] + stats["bytes_got"]) / (spec["steps"] - resume)}


def _death(error: RuntimeError) -> RuntimeError:
    """The nerve.PeerDied behind this error, which torch may have wrapped."""
    import nerve
    if not isinstance(error, nerve.PeerDied):
        error = nerve.last_error() or error
    if not isinstance(error, nerve.PeerDied):
        raise error
    return error


def ranks(folder: pathlib.Path, spec: dict[str, Any]) -> dict[str, Any]:
    """Runs all ranks; after a death again, from the last checkpoint."""
    count, resume, deaths, started = spec["ranks"], 0, [], now()
    for life in range(1 + (spec["kill"] is not None)):
        kill = spec["kill"] if life == 0 else None
        processes = [
            launch.Rank(rank, folder / f"rank-{rank}.json",
                        lambda rank=rank: run_rank(folder, spec, rank, life, resume, kill))
            for rank in range(count)]
        results = [process.wait() for process in processes]
        if all("digest" in result for result in results):
            return {"ranks": results, "deaths": deaths, "seconds": now() - started,
                    "resumed": resume if deaths else None}
        resume = last_checkpoint(folder, count)
        deaths.append({"ranks": results, "resume": resume})
        if not any("killed" in result for result in results):
            break
    reasons = [f"rank {rank}: {why}" for rank, why in enumerate(map(launch.reason, results)) if why]
    raise launch.Failed("; ".join(reasons) or f"the ranks ended with {results}")
