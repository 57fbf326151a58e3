#!/usr/bin/env python3
"""Trains a small network with several ranks (DistributedDataParallel) and prints the loss, which must not depend on the
transport of the gradients.

    nerve run --device nerve0=lo -- python3 examples/nccl/train.py
    python3 examples/nccl/train.py --net socket
"""
import time

import torch
from torch.nn.parallel import DistributedDataParallel

import ranks

STEPS = 30
WARM_UP = 5  # steps that are not timed: connections are made and memory is registered in them


def work(rank: int, options) -> None:
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024),
                              torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
    model = DistributedDataParallel(net, device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    seeded = torch.Generator().manual_seed(100 + rank)
    data = torch.randn(STEPS, 64, 256, generator=seeded).cuda()
    labels = torch.randint(0, 10, (STEPS, 64), generator=seeded).cuda()
    for step in range(STEPS):
        if step == WARM_UP:
            torch.cuda.synchronize()
            began = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data[step]), labels[step])
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    sums = sum(p.double().abs().sum().item() for p in net.parameters())
    if rank == 0:
        print(f'{options.ranks} ranks over {options.net}: loss {loss.item():.9f}, weights {sums:.9f}, '
              f'{(time.perf_counter() - began) / (STEPS - WARM_UP) * 1e3:.2f} ms per step', flush=True)


if __name__ == '__main__':
    ranks.run(work, ranks.arguments(__doc__))
