"""One rank of ranks_test.py: torch.distributed with the backend nerve. Its operations are compared,
and a small model is trained with DistributedDataParallel: the ranks see different data and must end
with the same weights, which fit the data."""
import os

import torch
import torch.distributed as dist

import nerve.torch  # noqa: F401  (registers the backend)

rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
dist.init_process_group("nerve", init_method="file://" + os.environ["FOLDER"] + ".torch", rank=rank,
                        world_size=ranks)
total = sum(range(1, ranks + 1))

for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64):
    x = torch.full((1000,), rank + 1, dtype=dtype)
    dist.all_reduce(x)
    assert (x == total).all(), x
work = dist.all_reduce(torch.ones(5), op=dist.ReduceOp.MAX, async_op=True)
work.wait()
assert work.is_completed()
x = torch.full((3,), float(rank))
dist.broadcast(x, 1)
assert (x == 1).all()
pieces = [torch.zeros(2) for _ in range(ranks)]
dist.all_gather(pieces, torch.full((2,), float(rank)))
assert [int(piece[0]) for piece in pieces] == list(range(ranks))
x = torch.zeros(2)
dist.reduce_scatter(x, [torch.full((2,), float(i)) for i in range(ranks)])
assert (x == rank * ranks).all()
if rank == 0:
    dist.send(torch.arange(1000), 1)
elif rank == 1:
    x = torch.zeros(1000, dtype=torch.int64)
    dist.recv(x, 0)
    assert (x == torch.arange(1000)).all()
dist.barrier()

torch.manual_seed(rank)  # other weights at the start, and other data
model = torch.nn.Linear(8, 1)
parallel = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
truth = torch.arange(8.0)
for _ in range(300):
    inputs = torch.randn(16, 8)
    loss = torch.nn.functional.mse_loss(parallel(inputs).squeeze(1), inputs @ truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weights = model.weight.detach().clone()
dist.broadcast(weights, 0)
assert torch.equal(weights, model.weight), "the ranks have different weights"
assert (weights.squeeze() - truth).abs().max() < 0.05, weights
dist.barrier()
