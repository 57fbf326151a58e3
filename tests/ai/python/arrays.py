"""One rank of ranks_test.py: every call of the module, with the results compared."""
import array
import os

import numpy

import nerve

rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
group = nerve.join(rank=rank, ranks=ranks, at="file://" + os.environ["FOLDER"],
                   transport=os.environ["TRANSPORT"], timeout=60)


def refused(call, words, kind=Exception):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error: {words}")


# Collectives, with all types that numpy has.
for name in ("float32", "float64", "float16", "int8", "uint8", "int32", "int64"):
    x = numpy.full(1000, rank + 1, dtype=name)
    group.all_reduce(x)
    assert (x == ranks * (ranks + 1) // 2).all(), name
    group.all_reduce(x, op="max", algorithm="ring")
big = numpy.arange(300_000, dtype=numpy.float32) + rank
group.all_reduce(big, op="average")
assert numpy.allclose(big, numpy.arange(300_000) + (ranks - 1) / 2)

out = numpy.zeros((ranks, 5), dtype=numpy.int32)
group.all_gather(numpy.full(5, rank, dtype=numpy.int32), out)
assert (out == numpy.arange(ranks)[:, None]).all()
part = numpy.zeros(5, dtype=numpy.int32)
group.reduce_scatter(out, part)
assert (part == rank * ranks).all()
swapped = numpy.zeros((ranks, 2), dtype=numpy.int64)
group.all_to_all(numpy.arange(ranks * 2, dtype=numpy.int64).reshape(ranks, 2) + 100 * rank, swapped)
assert (swapped[:, 0] == numpy.arange(ranks) * 100 + rank * 2).all()
text = bytearray(b"from rank 0") if rank == 0 else bytearray(11)
group.broadcast(text)
assert text == b"from rank 0"
numbers = array.array("f", [rank] * 3)
group.all_reduce(numbers)
assert numbers[0] == sum(range(ranks))


class OnlyDlpack:
    """Memory that is reachable by DLPack alone."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self):
        return self.inner.__dlpack__()


inner = numpy.full((2, 3), float(rank), dtype=numpy.float32)
group.all_reduce(OnlyDlpack(inner))
assert (inner == sum(range(ranks))).all()

# One-sided transfers: to the next rank, and back by a get.
memory = numpy.zeros(10_000, dtype=numpy.uint8)
buffer = group.register(memory)
keys = numpy.zeros((ranks, len(buffer.key())), dtype=numpy.uint8)
group.all_gather(numpy.frombuffer(buffer.key(), dtype=numpy.uint8), keys)
following, previous = (rank + 1) % ranks, (rank - 1) % ranks
remote = group.remote(following, keys[following].tobytes())
memory[:5000] = rank + 1
transfer = group.put(buffer[0:5000], remote[5000:10_000], notify=7)
transfer.wait()
group.wait(previous, 7)
assert (memory[5000:] == previous + 1).all()
group.barrier()
memory[:5000] = 0
group.barrier()
group.get(buffer[0:100], remote[5000:5100]).wait()
assert (memory[:100] == rank + 1).all()
group.notify(following, 8)
group.wait(previous, 8)
if rank == 0:
    group.send(big, 1)
elif rank == 1:
    received = numpy.zeros_like(big)
    group.receive(received, 0)
    assert (received == big).all()

# Mistakes.
refused(lambda: group.all_reduce(numpy.zeros((4, 4))[:, 1]), "not contiguous")
refused(lambda: group.all_reduce(b"constant"), "read-only")
refused(lambda: group.all_reduce(numpy.zeros(3, dtype=complex)), "complex128 cannot be reduced")
refused(lambda: group.all_reduce("text"), "has no memory")
refused(lambda: group.all_reduce(big, op="median"), "sum, product")
refused(lambda: group.put(buffer[0:10], remote[0:11]), "same length")
refused(lambda: group.notify(99, 1), "not in a group", nerve.Error)
refused(lambda: nerve.join(rank=5, ranks=2, at="tcp://127.0.0.1:1"), "rank 5 of 2", nerve.Error)
assert group.stats()["bytes_put"] > 0
del buffer

# A rank that leaves is named.
group.barrier()
if rank == ranks - 1:
    group.close()
else:
    try:
        group.wait(ranks - 1, 99)
    except nerve.PeerDied as error:
        assert error.rank == ranks - 1, error
    else:
        raise AssertionError("the wait for a rank that left ended without an error")
