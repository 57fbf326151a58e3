"""The training job: in one process, and as its ranks run it, with checkpoints.

one_process() is the same job without communication. It adds the gradients in the order of ranks, as
the library does, so that the results are equal bit for bit.
"""
from __future__ import annotations

import os
import pathlib
import signal
import statistics
from typing import Any

import torch
import torch.distributed as dist

import data
import launch
from flat import Adam, Flat
from model import loss_of
from parallel import Clock, DataParallel, Sharded, now


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

# --- checkpoints: a file for each rank; one is usable when all ranks have written it --------------

def _checkpoint(folder: pathlib.Path, step: int, rank: int) -> pathlib.Path:
    return folder / f"checkpoint-{step:06d}-{rank}.pt"


def save(folder: pathlib.Path, step: int, rank: int, flat: Flat, adams: list[Adam],
         losses: list[float]) -> None:
    path = _checkpoint(folder, step, rank)
    new = path.with_suffix(".new")
    torch.save({"values": flat.values, "losses": losses,
                "adams": [(adam.mean, adam.square, adam.step) for adam in adams]}, new)
    new.replace(path)


def last_checkpoint(folder: pathlib.Path, ranks: int) -> int:
    """The last step with a checkpoint of every rank; 0 if there is none."""
    steps = {int(path.name.split("-")[1]) for path in folder.glob("checkpoint-*.pt")}
    whole = [step for step in steps
             if all(_checkpoint(folder, step, rank).exists() for rank in range(ranks))]
    return max(whole, default=0)


def load(folder: pathlib.Path, step: int, rank: int, flat: Flat,
         adams: list[Adam]) -> list[float]:
    saved = torch.load(_checkpoint(folder, step, rank))
    flat.values.copy_(saved["values"])
    for adam, (mean, square, taken) in zip(adams, saved["adams"]):
        adam.mean.copy_(mean)
        adam.square.copy_(square)
        adam.step = taken
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
    losses = load(folder, resume, rank, flat, worker.adams) if resume else []
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
                worker.finish()
                clock.reset()  # the first step allocates memory and registers it
            else:
                clock.steps.append(now() - begin)
            if (step + 1) % spec["checkpoint"] == 0 and step + 1 < spec["steps"]:
                worker.finish()
                save(folder, step + 1, rank, flat, worker.adams, losses)
            if rank == 0:
                launch.show_progress(folder, step + 1)
        worker.finish()
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
