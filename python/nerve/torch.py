"""A backend of torch.distributed.

    import torch.distributed as dist, nerve.torch
    dist.init_process_group("nerve")

The transport is RDMA, or what the environment variable NERVEAI_TRANSPORT says (rdma or tcp).
NERVEAI_QPS sets the number of QPs for each peer.

Operations of one process group run one after the other, in the order of the calls, in a thread of
their own, so that DistributedDataParallel overlaps them with the backward pass. An operation on a
CUDA tensor begins when the work has ended that was on the current stream at the call. When wait()
returns, or the future is complete, the result is there for every stream.
"""
import collections
import concurrent.futures
import contextlib
import os
import socket

import torch
import torch.distributed as dist

import nerve

_OPS = {"SUM": "sum", "PRODUCT": "product", "MIN": "min", "MAX": "max", "AVG": "average"}
_Work = getattr(dist, "Work", None) or dist._Work
_Future = torch.futures.Future


class _Store:
    """What nerve.join() needs of a store of torch."""

    def __init__(self, store):
        self._store = store

    def set(self, key, value):
        self._store.set(key, value.hex())

    def get(self, key):
        # Waits, for a rank that is still starting; the limit is the timeout of the store.
        return bytes.fromhex(self._store.get(key).decode())


class _NerveWork(_Work):
    def __init__(self, running, result, devices):
        super().__init__()
        self._running = running
        finished = _Future(devices=devices)

        def value(_):
            running.result()  # or its exception
            return result
        # C++ code of torch, such as DistributedDataParallel, does not see an exception that was set
        # in Python. It sees one that a callback raised, with its text.
        self._future = finished.then(value)
        running.add_done_callback(lambda _: finished.set_result(None))

    def is_completed(self):
        return self._running.done()

    def is_success(self):
        return self._running.done() and self._running.exception() is None

    def wait(self, timeout=None):
        self._running.result()
        return True

    def get_future(self):
        return self._future


class NerveProcessGroup(dist.ProcessGroup):
    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._group = nerve.join(rank=rank, ranks=size, store=_Store(store), host=_host(),
                                 transport=os.environ.get("NERVEAI_TRANSPORT", "rdma"),
                                 qps=_qps(),
                                 timeout=timeout.total_seconds())
        self._rank, self._size = rank, size
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "nerve")
        # C++ code of torch holds the C++ part of a work only: without its Python part, which ends
        # with the last reference from Python, get_future() would be gone. One that is running is
        # kept by its callback.
        self._recent = collections.deque(maxlen=16)
        self._streams = {}

    def getBackendName(self):
        return "nerve"

    @property
    def group(self):
        """The nerve.Group, for put, get and stats."""
        return self._group

    def _start(self, call, result, tensors=()):
        """Runs call() in the thread. `tensors` are those that it uses, in nested lists."""
        devices = _cuda_devices(tensors)
        ready = [(self._stream(device), torch.cuda.current_stream(device).record_event())
                 for device in devices]

        def run():
            with contextlib.ExitStack() as streams:
                for stream, event in ready:
                    streams.enter_context(torch.cuda.stream(stream))
                    stream.wait_event(event)
                try:
                    call()
                finally:
                    for stream, _ in ready:
                        stream.synchronize()
        work = _NerveWork(self._thread.submit(run), result, devices)
        self._recent.append(work)
        return work

    def _stream(self, device):
        """A stream for copies of ours: the default one would wait for kernels of other streams."""
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        return self._streams[device]

    # --- collectives on lists of one tensor, as torch passes them
    def allreduce(self, tensors, opts=None):
        op = _op(opts)

        def run():
            for tensor in tensors:
                with _contiguous(tensor, read=True, written=True) as here:
                    self._group.all_reduce(here, op)
        return self._start(run, tensors, tensors)

    def allreduce_coalesced(self, tensors, opts=None):
        return self.allreduce(tensors, opts)

    def broadcast(self, tensors, opts):
        def run():
            is_root = opts.rootRank == self._rank
            with _contiguous(tensors[0], read=is_root, written=not is_root) as here:
                self._group.broadcast(here, opts.rootRank)
        return self._start(run, tensors, tensors)

    def reduce(self, tensors, opts):
        op = _op(opts)

        def run():
            with _contiguous(tensors[0], read=True, written=False) as here:
                total = here.clone()
                self._group.all_reduce(total, op)
            if opts.rootRank == self._rank:
                tensors[0].copy_(total)
        return self._start(run, tensors, tensors)

    def allgather(self, outputs, inputs, opts=None):
        def run():
            with _contiguous(inputs[0], read=True, written=False) as here:
                gathered = here.new_empty((self._size, *here.shape))
                self._group.all_gather(here, gathered)
            for out, piece in zip(outputs[0], gathered):
                out.copy_(piece)
        return self._start(run, outputs, [outputs, inputs])

    def _allgather_base(self, output, source, opts=None):
        def run():
            with _contiguous(source, True, False) as here, _contiguous(output, False, True) as out:
                self._group.all_gather(here, out)
        return self._start(run, [output], [output, source])

    def reduce_scatter(self, outputs, inputs, opts=None):
        op = _op(opts)

        def run():
            source = torch.stack(inputs[0])
            with _contiguous(outputs[0], read=False, written=True) as out:
                self._group.reduce_scatter(source, out, op)
        return self._start(run, outputs, [outputs, inputs])

    def _reduce_scatter_base(self, output, source, opts=None):
        op = _op(opts)

        def run():
            with _contiguous(source, True, False) as here, _contiguous(output, False, True) as out:
                self._group.reduce_scatter(here, out, op)
        return self._start(run, [output], [output, source])

    def alltoall_base(self, output, source, output_sizes, input_sizes, opts=None):
        if len(set(output_sizes)) > 1 or len(set(input_sizes)) > 1:
            raise nerve.Error("all_to_all_single with pieces of different sizes is not supported; "
                              "pad them to one size")

        def run():
            with _contiguous(source, True, False) as here, _contiguous(output, False, True) as out:
                self._group.all_to_all(here, out)
        return self._start(run, [output], [output, source])

    def alltoall(self, outputs, inputs, opts=None):
        def run():
            source = torch.stack(inputs)
            result = torch.empty_like(source)
            self._group.all_to_all(source, result)
            for out, piece in zip(outputs, result):
                out.copy_(piece)
        return self._start(run, outputs, [outputs, inputs])

    def gather(self, outputs, inputs, opts):
        def run():
            with _contiguous(inputs[0], read=True, written=False) as here:
                gathered = here.new_empty((self._size, *here.shape))
                self._group.all_gather(here, gathered)
            if opts.rootRank == self._rank:
                for out, piece in zip(outputs[0], gathered):
                    out.copy_(piece)
        return self._start(run, outputs, [outputs, inputs])

    def scatter(self, outputs, inputs, opts):
        def run():
            with _contiguous(outputs[0], read=False, written=True) as here:
                pieces = here.new_empty((self._size, *here.shape))
                if opts.rootRank == self._rank:
                    for to, piece in zip(pieces, inputs[0]):
                        to.copy_(piece)
                self._group.broadcast(pieces, opts.rootRank)
                here.copy_(pieces[self._rank])
        return self._start(run, outputs, [outputs, inputs])

    def barrier(self, opts=None):
        return self._start(self._group.barrier, [])

    # --- two ranks; the tag is not used: messages are received in the order of sending
    def send(self, tensors, peer, tag=0):
        def run():
            with _contiguous(tensors[0], read=True, written=False) as here:
                self._group.send(here, peer)
        return self._start(run, tensors, tensors)

    def recv(self, tensors, peer, tag=0):
        def run():
            with _contiguous(tensors[0], read=False, written=True) as here:
                self._group.receive(here, peer)
        return self._start(run, tensors, tensors)


class _contiguous:
    """The tensor, or a copy of it if it has gaps."""

    def __init__(self, tensor, read, written):
        self._tensor, self._written = tensor, written
        if tensor.is_contiguous():
            self._used = tensor.detach()
        elif read:
            self._used = tensor.detach().contiguous()
        else:
            self._used = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)

    def __enter__(self):
        return self._used

    def __exit__(self, failed, *_):
        if self._written and failed is None and self._used.data_ptr() != self._tensor.data_ptr():
            self._tensor.detach().copy_(self._used)


def _cuda_devices(tensors):
    """The GPUs of the tensors in nested lists, each once."""
    if isinstance(tensors, torch.Tensor):
        return [tensors.device] if tensors.device.type == "cuda" else []
    found = []
    for part in tensors:
        found += [device for device in _cuda_devices(part) if device not in found]
    return found


def _op(opts):
    if opts is None:
        return "sum"
    for name, op in _OPS.items():
        if opts.reduceOp == getattr(dist.ReduceOp, name):
            return op
    raise nerve.Error(f"this operation of torch is not supported; use one of {', '.join(_OPS)}")


def _qps():
    text = os.environ.get("NERVEAI_QPS", "1")
    if not text.isdecimal():
        raise nerve.Error(f"NERVEAI_QPS={text} is not a number; use 1 to 16")
    return int(text)


def _host():
    """The address of this host that faces MASTER_ADDR."""
    master = os.environ.get("MASTER_ADDR", "127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((master, 9))  # sends nothing
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def _create(store, rank, size, timeout):
    return NerveProcessGroup(store, rank, size, timeout)


if not hasattr(dist.Backend, "NERVE"):
    dist.Backend.register_backend("nerve", _create)
