"""QEMU: a guest that continuously writes to its memory is migrated to another QEMU.

The same guest on every machine, because it is emulated: an arm64 board with a few instructions in its memory,
which count through 4096 pages, and random bytes. QEMU's own dumps of both memories are compared.
"""
import filecmp
import os
import pathlib
import struct
import time
from typing import Iterator, Optional, Sequence

from case import Case, Stage, Verdict, with_loss
from qmp import Qmp, Refused

MEMORY, CODE, PAGES, DATA = 0x4000_0000, 0x4100_0000, 0x4200_0000, 0x4400_0000
COUNTED = 4096 * 4096  # bytes from PAGES on
PROGRAM = struct.pack('<7I',
                      0xd2a84000,  # mov x0, #PAGES
                      0xd2800001,  # mov x1, #0
                      0x92402c22,  # and x2, x1, #4095
                      0x8b023002,  # add x2, x0, x2, lsl #12
                      0xf9000041,  # str x1, [x2]
                      0x91000421,  # add x1, x1, #1
                      0x17fffffc)  # b   .-16


def cases(second: bool, long: bool) -> Iterator[Case]:
    megabytes = 512 if long else 48
    yield Case('qemu migrate rdma:', act=lambda stage, _: migrate(stage, False, ('rdma', 'tcp'), megabytes))
    yield Case('qemu migrate rdma:, rdma-pin-all', act=lambda stage, _: migrate(stage, True, ('rdma',), megabytes))
    yield with_loss(Case('qemu migrate rdma:', act=lambda stage, _: migrate(stage, False, ('rdma',), 8)))


class Machine:
    def __init__(self, stage: Stage, name: str, megabytes: int, *options: str):
        self._memory, self._dump = megabytes << 20, stage.scratch / f'{name}-{stage.port}.memory'
        door = stage.scratch / f'{name}-{stage.port}.qmp'
        door.unlink(missing_ok=True)
        self.program = stage.start(('qemu-system-aarch64', '-machine', 'virt', '-cpu', 'cortex-a57', '-accel', 'tcg',
                                    '-m', f'{megabytes}M', '-nodefaults', '-nographic', '-qmp',
                                    f'unix:{door},server=on,wait=off', *options), name)
        self.ask = Qmp(door, self.program, stage.remaining())

    def dump(self) -> pathlib.Path:
        """All of the guest's memory, as a file."""
        self.ask('pmemsave', val=MEMORY, size=self._memory, filename=str(self._dump))
        return self._dump

    def count(self) -> int:
        """How far the guest has counted."""
        self.ask('pmemsave', val=PAGES, size=COUNTED, filename=str(self._dump))
        bytes = self._dump.read_bytes()
        return max(struct.unpack_from('<Q', bytes, at)[0] for at in range(0, COUNTED, 4096))

    def end(self) -> None:
        self.ask.close()
        self.program.end()
        self._dump.unlink(missing_ok=True)


def migrate(stage: Stage, pinned: bool, schemes: Sequence[str], megabytes: int) -> Verdict:
    """Migrates the guest with this much data in its larger memory."""
    notes = []
    for scheme in schemes:
        try:
            verdict = one_move(stage, f'{scheme}:127.0.0.1:{stage.port}', pinned, megabytes)
        except (Refused, OSError) as why:
            return Verdict(f'{scheme}: {why}')
        if verdict.trouble:
            return Verdict(f'{scheme}: {verdict.trouble}')
        notes.append(f'{scheme} {verdict.note}')
    return Verdict(None, '; '.join(notes))


def one_move(stage: Stage, uri: str, pinned: bool, megabytes: int) -> Verdict:
    code, data = (stage.scratch / f'{name}-{stage.port}' for name in ('code', 'data'))
    code.write_bytes(PROGRAM)
    data.write_bytes(os.urandom(megabytes << 20))
    size = megabytes + 80  # megabytes: the memory before the data, and some that is empty
    source = Machine(stage, 'source', size, '-device', f'loader,file={code},addr={CODE},cpu-num=0,force-raw=on',
                     '-device', f'loader,file={data},addr={DATA},force-raw=on')
    # It does not resume by itself, so that the two memories can be compared.
    target = Machine(stage, 'target', size, '-S', '-incoming', uri)
    try:
        for end in (source, target):
            end.ask('migrate-set-capabilities', capabilities=[{'capability': 'rdma-pin-all', 'state': pinned}])
        source.ask('migrate-set-parameters', max_bandwidth=1 << 34, downtime_limit=2000)
        source.ask('migrate', uri=uri)
        told = wait_for(stage, source)
        if told['status'] != 'completed':
            return Verdict(f'{told["status"]}: {told.get("error-desc", "no reason told")}')
        trouble = compare(source, target, data) or goes_on(source, target)
        ram = told['ram']
        return Verdict(trouble, f'{told["total-time"]} ms, {ram["mbps"] / 8:.0f} MB/s, down {told["downtime"]} ms')
    finally:
        for end in (source, target):
            end.end()
        data.unlink()


def wait_for(stage: Stage, source: Machine) -> dict:
    while stage.remaining() > 0:
        told = source.ask('query-migrate')
        if told.get('status') in ('completed', 'failed', 'cancelled'):
            return told
        time.sleep(0.05)
    raise Refused('did not end in time')


def compare(source: Machine, target: Machine, data: pathlib.Path) -> Optional[str]:
    left = source.dump()
    if not filecmp.cmp(left, target.dump(), shallow=False):
        return 'the two memories differ'
    with open(left, 'rb') as memory:
        memory.seek(DATA - MEMORY)
        there = memory.read(data.stat().st_size)
    return None if there == data.read_bytes() else 'memory is not what was loaded'


def goes_on(source: Machine, target: Machine) -> Optional[str]:
    left_at = source.count()
    if left_at == 0:
        return 'the guest never ran'
    target.ask('cont')
    seen = [target.count()]
    while len(seen) < 50 and seen[-1] <= left_at:
        time.sleep(0.02)
        seen.append(target.count())
    return None if seen[-1] > left_at else f'the guest stands still at {left_at}'
