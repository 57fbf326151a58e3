"""One rank of ranks_test.py: arrays in GPU memory, of the stand-in for the CUDA driver."""
import array
import ctypes
import os
import threading
import time

import nerve

rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
context = ctypes.c_void_p()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxPushCurrent_v2(context) == 0


class GpuArray:
    """An array that has the CUDA array interface and nothing else."""

    def __init__(self, values, code="f", **interface):
        self.host = array.array(code, values)
        self.size = len(self.host) * self.host.itemsize
        self.address = ctypes.c_ulonglong()
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(self.size)) == 0
        self.set(values)
        kind = "f" if code in "fd" else "i"
        self.__cuda_array_interface__ = {
            "shape": (len(self.host),), "typestr": f"<{kind}{self.host.itemsize}",
            "data": (self.address.value, False), "version": 3, "strides": None, **interface}

    def set(self, values):
        bytes_ = array.array(self.host.typecode, values).tobytes()
        assert cuda.fake_cuda_poke(self.address, bytes_, ctypes.c_size_t(self.size))

    def get(self):
        bytes_ = ctypes.create_string_buffer(self.size)
        assert cuda.fake_cuda_peek(bytes_, self.address, ctypes.c_size_t(self.size))
        return list(array.array(self.host.typecode, bytes_.raw))

    def free(self):
        assert cuda.cuMemFree_v2(self.address) == 0


class DlTensor(ctypes.Structure):
    """A managed tensor of DLPack, version 0."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("dimensions", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DlpackArray:
    """The same memory by DLPack alone."""

    def __init__(self, inner, strides=None):
        self.streams = []
        shape = (ctypes.c_int64 * 1)(len(inner.host))
        steps = (ctypes.c_int64 * 1)(strides) if strides else None
        self.tensor = DlTensor(inner.address.value, 2, 0, 1, 2, 32, 1, shape, steps, 0, None, None)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def refused(call, words):
    try:
        call()
    except Exception as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error: {words}")


group = nerve.join(rank=rank, ranks=ranks, at="file://" + os.environ["FOLDER"],
                   transport=os.environ["TRANSPORT"], timeout=60)
# Collectives, one of them with the result in host memory.
for count in (3, 50_000):
    x = GpuArray([rank + 1] * count)
    group.all_reduce(x)
    assert x.get() == [sum(range(1, ranks + 1))] * count
    out = array.array("f", [0] * count * ranks)
    group.all_gather(GpuArray([rank] * count), out)
    assert list(out) == [float(peer) for peer in range(ranks) for _ in range(count)]
    x.set([rank] * count)
    group.broadcast(x, 1)
    assert x.get() == [1] * count
inner = GpuArray([rank] * 7)
packed = DlpackArray(inner)
group.all_reduce(packed)
assert inner.get() == [sum(range(ranks))] * 7
assert packed.streams == [2], packed.streams  # a stream of the calling thread, not the default one
refused(lambda: group.all_reduce(DlpackArray(inner, strides=2)), "not contiguous")
parts = GpuArray(range(ranks), "i")
swapped = GpuArray([0] * ranks, "i")
group.all_to_all(parts, swapped)
assert swapped.get() == [rank] * ranks
part = GpuArray([0], "i")
group.reduce_scatter(swapped, part, op="max")
assert part.get() == [ranks - 1]

# One-sided transfers.
memory = GpuArray([0] * 1000, "i")
buffer = group.register(memory)
keys = bytearray(len(buffer.key()) * ranks)
group.all_gather(buffer.key(), keys)
following, previous = (rank + 1) % ranks, (rank - 1) % ranks
size = len(buffer.key())
remote = group.remote(following, bytes(keys[following * size:(following + 1) * size]))
memory.set([rank] * 500 + [-1] * 500)
group.barrier()
group.put(buffer[0:2000], remote[2000:4000], notify=3).wait()
group.wait(previous, 3)
assert memory.get() == [rank] * 500 + [previous] * 500

# Data that is still being made: a copy on the array's stream, behind a kernel.
stream = ctypes.c_void_p()
assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
late = GpuArray([0] * 100, stream=stream.value)
host = ctypes.c_void_p()
assert cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(400), 0) == 0
ctypes.memmove(host, array.array("f", [rank + 1] * 100).tobytes(), 400)
cuda.fake_cuda_begin_kernel()
assert cuda.cuMemcpyHtoDAsync_v2(late.address, host, ctypes.c_size_t(400), stream) == 0


def end_kernel():
    time.sleep(0.1)
    cuda.fake_cuda_end_kernel()


kernel = threading.Thread(target=end_kernel)
kernel.start()
group.all_reduce(late)
kernel.join()
assert late.get() == [sum(range(1, ranks + 1))] * 100

# Mistakes.
refused(lambda: group.all_reduce(GpuArray([1, 2], strides=(8,))), "not contiguous")
refused(lambda: group.all_reduce(GpuArray([1, 2], strides=(4, 4))), "1 dimensions and 2 strides")
refused(lambda: group.all_reduce(GpuArray([1, 2], shape=(-2,))), "invalid shape")
refused(lambda: group.all_reduce(GpuArray([1, 2], stream=0)), "the stream of this GpuArray is 0")
refused(lambda: group.all_reduce(GpuArray([1, 2], typestr=">f4")), "only little-endian")
refused(lambda: group.all_reduce(GpuArray([1, 2], typestr="<c8")), "<c8 cannot be reduced")
refused(lambda: group.all_reduce(GpuArray([1, 2], mask=object())), "has a mask")
constant = GpuArray([1, 2])
constant.__cuda_array_interface__["data"] = (constant.address.value, True)
refused(lambda: group.all_reduce(constant), "read-only")
refused(lambda: group.all_reduce(GpuArray([1, 2], shape=(3000,))), "exceeds its allocation")
freed = GpuArray([1, 2])
freed.free()
refused(lambda: group.all_reduce(freed), f"0x{freed.address.value:x} with 8 bytes is memory of")
group.barrier()
del buffer
group.close()
