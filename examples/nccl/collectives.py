#!/usr/bin/env python3
"""NCCL's collectives over an RDMA device: checks every result and prints the time of some sizes.

    nerve run --device nerve0=lo -- python3 examples/nccl/collectives.py --ranks 2
    python3 examples/nccl/collectives.py --net socket
"""
import time

import torch
import torch.distributed as dist

import ranks

SIZES = (8, 1000, 1 << 16, 1 << 20, 1 << 24)  # elements of four bytes


def mine(rank: int, count: int) -> torch.Tensor:
    """Integers, so that sums are exact in any order."""
    return ((torch.arange(count, device='cuda') * 7 + rank * 13) % 1021).float()


def check(name: str, count: int, got: torch.Tensor, wanted: torch.Tensor) -> None:
    if not torch.equal(got, wanted):
        at = int((got != wanted).nonzero()[0])
        raise SystemExit(f'{name} of {count}: element {at} is {got[at]}, expected {wanted[at]}')


def compare(rank: int, world: int, count: int) -> None:
    every = [mine(r, count) for r in range(world)]
    total = sum(every)
    got = mine(rank, count)
    dist.all_reduce(got)
    check('all-reduce', count, got, total)
    parts = [torch.empty(count, device='cuda') for _ in range(world)]
    dist.all_gather(parts, mine(rank, count))
    for one, part in enumerate(parts):
        check(f'all-gather from {one}', count, part, every[one])
    whole = torch.cat([mine(rank + r, count) for r in range(world)])
    part = torch.empty(count, device='cuda')
    dist.reduce_scatter_tensor(part, whole)
    check('reduce-scatter', count, part, sum(mine(r + rank, count) for r in range(world)))
    swapped = torch.empty(count * world, device='cuda')
    dist.all_to_all_single(swapped, torch.cat([mine(rank * world + r, count) for r in range(world)]))
    check('all-to-all', count, swapped, torch.cat([mine(r * world + rank, count) for r in range(world)]))


def print_time(rank: int, count: int) -> None:
    data = mine(rank, count)
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        dist.barrier()
        before = time.perf_counter()
        dist.all_reduce(data)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - before)
    if rank == 0:
        size = 4 * count
        print(f'all-reduce {size:>10} bytes {min(times) * 1e6:10.1f} us {size / min(times) / 1e9:8.3f} GB/s', flush=True)


def work(rank: int, options) -> None:
    for count in SIZES:
        compare(rank, options.ranks, count)
    if rank == 0:
        print(f'{options.ranks} ranks over {options.net}: all-reduce, all-gather, reduce-scatter, all-to-all correct', flush=True)
    for count in SIZES:
        print_time(rank, count)


if __name__ == '__main__':
    ranks.run(work, ranks.arguments(__doc__))
