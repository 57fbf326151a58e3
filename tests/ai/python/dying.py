"""One rank of ranks_test.py: rank 1 is killed while a model is trained with DistributedDataParallel,
with and without a communication hook. The error that backward() raises in the other ranks names it,
and so does nerve.last_error()."""
import os
import signal

import torch
import torch.distributed as dist

import nerve.torch

VICTIM = 1

rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
dist.init_process_group("nerve", init_method="file://" + os.environ["FOLDER"] + ".torch", rank=rank,
                        world_size=ranks)


def average(_, bucket):
    future = dist.all_reduce(bucket.buffer().div_(ranks), async_op=True).get_future()
    return future.then(lambda finished: finished.value()[0])


def model_with(hook):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(300, 300))
    if hook is not None:
        model.register_comm_hook(None, hook)
    return model


def train(model, steps, dies_at=None):
    for step in range(steps):
        if step == dies_at and rank == VICTIM:
            os.kill(os.getpid(), signal.SIGKILL)
        model(torch.randn(4, 300)).sum().backward()


def check(call):
    try:
        call()
    except RuntimeError as error:
        assert f"rank {VICTIM} died" in str(error), f"the error does not name the rank: {error}"
        last = nerve.last_error()
        assert isinstance(last, nerve.PeerDied) and last.rank == VICTIM, last
        return
    raise AssertionError("no error")


assert nerve.last_error() is None
plain, hooked = model_with(None), model_with(average)
train(plain, 3)
train(hooked, 3)
first, second = (hooked, plain) if os.environ["HOOK"] == "1" else (plain, hooked)
check(lambda: train(first, 1000, dies_at=5))
check(lambda: train(second, 1))  # the error stays
check(lambda: dist.all_reduce(torch.ones(3)))
