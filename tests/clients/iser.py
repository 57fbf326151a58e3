"""Storage: tgtd serves a file as a disk over iSER; the programs of libiscsi and QEMU read and write it.

tgtd serves the same file over iSCSI as well, at the TCP port of the same number, to compare figures.
Its iSER side accepts an initiator by address and by name; so all of them use the name that
QEMU uses.
"""
import filecmp
import os
import pathlib
import re
import time
from typing import Callable, Iterator, Optional, Sequence

from case import Case, Stage, Verdict, with_loss

INITIATOR = 'iqn.2008-11.org.linux-kvm'
TARGET = 'iqn.2026-01.example'
PIECE = 256 << 10  # the most that libiscsi 1.19 can transfer at once over iSER


def cases(second: bool, long: bool) -> Iterator[Case]:
    megabytes = 512 if long else 64
    for host in ('127.0.0.1', '[::1]'):
        yield case(f'iscsi-inq, iscsi-readcapacity16 iser://{host}', 8,
                   lambda stage, disk, at=host: look(stage, disk, at))
    yield case(f'qemu-img dd iser:// {megabytes} MB and back', megabytes,
               lambda stage, disk: there_and_back(stage, disk, ('iser', 'iscsi')))
    yield with_loss(case('qemu-img dd iser:// 16 MB and back', 16,
                         lambda stage, disk: there_and_back(stage, disk, ('iser',))))
    yield case('iscsi-perf iser://', 64, lambda stage, disk: perf(stage, disk, 10 if long else 2))
    yield case('iscsi-perf iser:// three at a time, killed, then qemu-img dd', 8, outlive)


def case(name: str, megabytes: int, use: Callable[[Stage, 'Disk'], Verdict]) -> Case:
    """`use` finds a disk of this size."""
    def act(stage: Stage, _: Case) -> Verdict:
        disk = Disk(stage, megabytes)
        try:
            trouble = disk.serve()
            return Verdict(trouble) if trouble else use(stage, disk)
        finally:
            disk.file.unlink()
    return Case(name, act=act)


class Disk:
    """A file, and a tgtd that serves it."""

    def __init__(self, stage: Stage, megabytes: int):
        self._stage, self.megabytes = stage, megabytes
        self.file = stage.scratch / f'disk-{stage.port}'
        with open(self.file, 'wb') as file:
            file.truncate(megabytes << 20)
        self._socket = str(stage.scratch / f'tgtd-{stage.port}')
        self._daemon = stage.start(('tgtd', '-f', '--iser', 'port=PORT', '--iscsi', 'portal=127.0.0.1:PORT'), 'tgtd',
                                   TGT_IPC_SOCKET=self._socket)

    def url(self, transport: str, host: str = '127.0.0.1') -> str:
        return f'{transport}://{host}:{self._stage.port}/{TARGET}:{transport}/1'

    def serve(self) -> Optional[str]:
        """None if everything is set up, otherwise what went wrong."""
        while not pathlib.Path(f'{self._socket}.0').exists():
            if not self._daemon.running() or self._stage.remaining() < 0:
                return f'tgtd: {self._daemon.wait(0.1).trouble()}'
            time.sleep(0.01)
        return next((why for number, transport in enumerate(('iser', 'iscsi'), 1)
                     for why in self._set_up(transport, str(number)) if why), None)

    def _set_up(self, transport: str, number: str) -> Iterator[Optional[str]]:
        for mode, *options in (('target', '--op', 'new', '--targetname', f'{TARGET}:{transport}'),
                               ('logicalunit', '--op', 'new', '--lun', '1', '--backing-store', str(self.file)),
                               ('target', '--op', 'bind', '--initiator-address', 'ALL'),
                               ('target', '--op', 'bind', '--initiator-name', INITIATOR)):
            command = ('tgtadm', '--lld', transport, '--mode', mode, '--tid', number, *options)
            yield self._stage.finish(command, 'tgtadm', TGT_IPC_SOCKET=self._socket).trouble()


def look(stage: Stage, disk: Disk, host: str) -> Verdict:
    for program, pattern in (('iscsi-inq', '^Product:VIRTUAL-DISK'),
                             ('iscsi-readcapacity16', f'^Total size:{disk.megabytes << 20}$')):
        done = stage.finish((program, '-i', INITIATOR, disk.url('iser', host)), program)
        if trouble := done.trouble():
            return Verdict(trouble)
        if not re.search(pattern, done.output, re.MULTILINE):
            return Verdict(f'{program}: nothing like "{pattern}" in the output')
    return Verdict(None)


def there_and_back(stage: Stage, disk: Disk, transports: Sequence[str]) -> Verdict:
    """A file is written to the disk and read back, and is the same in both places."""
    ours, back = (stage.scratch / f'{name}-{stage.port}' for name in ('file', 'back'))
    notes = []
    for transport in transports:
        ours.write_bytes(os.urandom(disk.megabytes << 20))
        speeds = []
        for source, target in ((str(ours), disk.url(transport)), (disk.url(transport), str(back))):
            began = time.monotonic()
            done = stage.finish(('qemu-img', 'dd', '-f', 'raw', '-O', 'raw', f'bs={PIECE}', f'if={source}',
                                 f'of={target}'), f'{transport}-{len(speeds)}')
            if trouble := done.trouble():
                return Verdict(f'{source} to {target}: {trouble}')
            speeds.append(f'{disk.megabytes / (time.monotonic() - began):.0f}')
        for there in (disk.file, back):
            if not filecmp.cmp(ours, there, shallow=False):
                return Verdict(f'{there} is not what {ours} is')
        notes.append(f'{transport} {"/".join(speeds)}')
        ours.unlink()
        back.unlink()
    return Verdict(None, f'write/read {", ".join(notes)} MB/s' if len(notes) > 1 else '')


def perf_command(disk: Disk, transport: str, seconds: int) -> Sequence[str]:
    """Reads of 64 KB, 32 at a time."""
    return ('iscsi-perf', '-i', INITIATOR, '-m', '32', '-b', '128', '-t', str(seconds), disk.url(transport))


def perf(stage: Stage, disk: Disk, seconds: int) -> Verdict:
    notes = []
    for transport in ('iser', 'iscsi'):
        done = stage.finish(perf_command(disk, transport, seconds), transport)
        if trouble := done.trouble():
            return Verdict(f'{transport}: {trouble}')
        average = re.search(r'iops average (\d+) \((\d+) MB/s\)', done.output)
        if not average:
            return Verdict(f'{transport}: no average in the output')
        notes.append(f'{transport} {average[2]} MB/s')
    return Verdict(None, ', '.join(notes))


def outlive(stage: Stage, disk: Disk) -> Verdict:
    """tgtd serves the next initiators after earlier ones were killed while active."""
    readers = [stage.start(perf_command(disk, 'iser', 60), f'reader{number}') for number in range(3)]
    while not all('iops' in reader.output() for reader in readers):
        for reader in readers:
            if not reader.running() or stage.remaining() < 0:
                return Verdict(f'iscsi-perf: {reader.wait(0.1).trouble() or "ended too soon"}')
        time.sleep(0.05)
    for reader in readers:
        reader.end()
    return there_and_back(stage, disk, ('iser',))
