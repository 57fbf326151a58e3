"""Several ranks on one GPU, each a process that NCCL treats as a separate machine.

NCCL allows one rank per GPU and machine. NCCL_HOSTID sets the machine of a process, so that NCCL uses the network
between ranks: an RDMA device (`--net ib`) or sockets. `--net nerve` replaces NCCL by Nerve's own backend of
torch.distributed (docs/ai-library.md).
"""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--ranks', type=int, default=2, metavar='N', help='number of processes; default 2')
    parser.add_argument('--net', choices=('ib', 'socket', 'nerve'), default='ib',
                        help="NCCL's transport, or Nerve's tensor library instead of NCCL; default ib")
    return parser.parse_args()


def environment(rank: int, net: str) -> dict:
    return {'NCCL_HOSTID': f'host{rank}', 'NCCL_NET': 'IB' if net == 'ib' else 'Socket',
            'NCCL_IB_DISABLE': '0' if net == 'ib' else '1', 'NCCL_SOCKET_IFNAME': 'lo',
            'NCCL_IB_HCA': 'nerve', 'NCCL_IB_GID_INDEX': '0',
            'NCCL_MAX_CTAS': '2',  # the kernels of all ranks must fit on the GPU at once
            # NCCL 2.28 detects GPU-initiated networking by itself, and calls a null plugin if it finds a
            # device that is not Mellanox's; 2 selects networking initiated by the CPU.
            'NCCL_GIN_TYPE': '2',
            'NCCL_CUMEM_ENABLE': '0'}


def _rank(rank: int, work, options: argparse.Namespace, port: int) -> None:
    os.environ.update({name: os.environ.get(name, value)
                       for name, value in environment(rank, options.net).items()})
    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT=str(port))
    torch.cuda.set_device(0)
    if options.net == 'nerve':
        import nerve.torch  # registers the backend
    dist.init_process_group('nerve' if options.net == 'nerve' else 'nccl', rank=rank, world_size=options.ranks)
    try:
        work(rank, options)
    finally:
        dist.destroy_process_group()


def run(work, options: argparse.Namespace) -> None:
    """Runs work(rank, options) in each rank; raises an exception if one fails."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    mp.spawn(_rank, args=(work, options, port), nprocs=options.ranks)
