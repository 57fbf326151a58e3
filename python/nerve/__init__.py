"""Tensors between processes over RDMA, or over TCP behind the same calls.

    import numpy, nerve
    group = nerve.join(rank=0, ranks=4, at="tcp://10.0.0.1:29500")
    x = numpy.ones(1000, dtype=numpy.float32)
    group.all_reduce(x)                     # in place, on all ranks

Arrays are numpy arrays, torch tensors, or any object with the buffer protocol, the CUDA array
interface or DLPack, in host or CUDA memory. Their memory is used where it is. Run programs under
`nerve run -- python3 ...` where there is no RDMA hardware. docs/ai-library.md describes all calls.

Errors are nerve.Error with the attribute `rank`, the rank that the error is about, or None;
nerve.PeerDied (a rank died or left) and nerve.Timeout are special cases. Where other code catches
an error and raises one of its own, last_error() returns the last nerve.Error of this process.
"""
from nerve._nerve import (Buffer, Error, Group, PeerDied, RemoteBuffer, Timeout, Transfer,
                          join, last_error)

__all__ = ["Buffer", "Error", "Group", "PeerDied", "RemoteBuffer", "Timeout", "Transfer", "join",
           "last_error"]
