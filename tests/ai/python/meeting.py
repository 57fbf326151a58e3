"""One rank of ranks_test.py: a group that is joined by rdma_cm, and the death of a rank in it."""
import array
import os
import signal
import time

import nerve

rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
at = os.environ["MEETING"]
try:
    nerve.join(rank=rank, ranks=ranks, at=at, transport="tcp")
except nerve.Error as error:
    assert "cannot be joined at rdma://" in str(error), error
else:
    raise AssertionError("the transport tcp was joined at rdma://")

group = nerve.join(rank=rank, ranks=ranks, at=at, timeout=60)
with open("/proc/self/net/tcp") as table:
    tcp = {f"socket:[{line.split()[9]}]" for line in table.readlines()[1:]}
assert not tcp & {os.readlink(f.path) for f in os.scandir("/proc/self/fd") if os.path.islink(f.path)}
for count in (10, 200_000):
    x = array.array("f", [rank + 1] * count)
    group.all_reduce(x)
    assert list(x) == [sum(range(1, ranks + 1))] * count
group.barrier()
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
began = time.monotonic()
try:
    group.all_reduce(x)
except nerve.PeerDied as error:
    assert error.rank == 1, error
else:
    raise AssertionError("the death of a rank was not noticed")
assert time.monotonic() - began < 30, time.monotonic() - began
