"""Planted bugs: each function runs a job of examples/ai in a world, with one part of it broken in a
way that real programs break. run.py expects that every one is noticed, except prefill_dies_late,
which is only a death at an unlikely moment."""
import os
import pathlib
import signal
import sys
import time

import pair
import parallel
import server
import trainer
import workers
from scheduler import Job


def _fetch(replace):
    """Serves while decode workers fetch something else than they should."""
    def serve(folder, spec):
        fetch = pair.Pair.fetch
        pair.Pair.fetch = lambda self, layer, mine, theirs: replace(
            lambda *what: fetch(self, *what), self, layer, mine, theirs)
        return server.serve(folder, spec)
    return serve


def _other_block(fetch, self, layer, mine, theirs):
    fetch(layer, mine, [(theirs[0] + 20) % 48, *theirs[1:]])


def _other_layer(fetch, self, layer, mine, theirs):
    for here, there in zip(mine, theirs):
        self._group.get(self._buffer[self.memory.row(layer, here)],
                        self._remote_row(0, there)).wait()


def _torn_block(fetch, self, layer, mine, theirs):
    fetch(layer, mine, theirs)
    self.memory.array[layer, mine[-1], -1] += 1


def _missing_block(fetch, self, layer, mine, theirs):
    fetch(layer, mine[:-1], theirs[:-1])


block_of_another_request = _fetch(_other_block)
block_of_another_layer = _fetch(_other_layer)
torn_block = _fetch(_torn_block)
missing_block = _fetch(_missing_block)


def push_to_another_table(folder, spec):
    push = pair.Pair.push
    pair.Pair.push = lambda self, request, layer, mine, theirs: push(
        self, request, layer, mine, theirs[1:] + theirs[:1])
    return server.serve(folder, spec)


def peer_with_another_model(folder, spec):
    """The decode workers have a model with another hidden size."""
    make = workers.DecodeWorker.__init__

    def other(self, folder, spec, *rest):
        make(self, folder, {**spec, "shape": {**spec["shape"], "hidden": 64}}, *rest)
    workers.DecodeWorker.__init__ = other
    return server.serve(folder, spec)


def answers_start_again_without_their_tokens(folder, spec):
    """After a death the prompt is computed without what was generated."""
    Job.tokens = lambda self: self.prompt
    return server.serve(folder, spec)


def prefill_dies_late(folder, spec):
    """Prefill worker 0 dies after its third prompt, whose blocks have not been read yet."""
    prefill, fetch, prompts = workers.PrefillWorker._prefill, pair.Pair.fetch, []

    def last_prompt(self, message):
        prefill(self, message)
        prompts.append(message)
        if self._number == 0 and len(prompts) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    def slowly(self, *what):
        time.sleep(0.1)
        fetch(self, *what)
    workers.PrefillWorker._prefill, pair.Pair.fetch = last_prompt, slowly
    return server.serve(folder, spec)


def blocks_of_a_dead_worker_count_as_read(folder, spec):
    received = workers.DecodeWorker._received
    workers.DecodeWorker._received = lambda self, prefill, sequence: \
        received(self, prefill, sequence) or sequence.token is not None
    return prefill_dies_late(folder, spec)


def gradient_of_one_rank_missing(folder, spec):
    sequences = trainer.sequences
    trainer.sequences = lambda spec, step, rank: sequences(spec, step, max(rank, 1))
    return trainer.ranks(folder, spec)


def one_rank_with_another_rate(folder, spec):
    run_rank = trainer.run_rank
    trainer.run_rank = lambda folder, spec, rank, *rest: run_rank(
        folder, {**spec, "rate": spec["rate"] * (2 if rank == 1 else 1)}, rank, *rest)
    return trainer.ranks(folder, spec)


def stale_checkpoint(folder, spec):
    """The optimizer's state is not restored."""
    load = trainer.load

    def forgetful(folder, step, rank, flat, adams):
        losses = load(folder, step, rank, flat, adams)
        adams[0].mean.zero_()
        return losses
    trainer.load = forgetful
    return trainer.ranks(folder, spec)


def parameters_used_before_they_arrive(folder, spec):
    """A sharded step does not wait for its parameters, which come late."""
    import nerve.torch
    gather = nerve.torch.NerveProcessGroup._allgather_base

    def late(self, *what):
        self._thread.submit(time.sleep, 0.1)
        return gather(self, *what)
    nerve.torch.NerveProcessGroup._allgather_base = late
    parallel.Sharded._before_use = lambda self, part: None
    return trainer.ranks(folder, spec)


def gradients_sent_before_they_are_complete(folder, spec):
    """The gradients of a part are reduced when the first of them is ready."""
    ready = parallel.Sharded._gradient_ready

    def early(self, part):
        if part.missing == len(part.weights):
            part.missing = 1
        ready(self, part)
    parallel.Sharded._gradient_ready = early
    return trainer.ranks(folder, spec)


assert pathlib.Path(sys.argv[0]).name == "launch.py", "run by run.py only"
