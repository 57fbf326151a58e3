"""Sockets over rdma_cm: rstream, riostream, rcopy and udpong of rdmacm-utils, and programs for ordinary sockets with
librspreload preloaded.

With `-T a` the client ends before its last line if the last data and the disconnect of the other end arrive
together (docs/clients/rdmacm.md): what it measured before counts, and the server measures everything.
"""
import filecmp
import os
import pathlib
import re
import select
from typing import Iterator, Sequence

from case import Case, Stage, Verdict, all_of, by_cm, says, with_loss
from pair import until_let_in
from process import Ended

STREAM_OPTIONS = ('', '-T b', '-T n', '-T v', '-T b -T v', '-T r', '-f ip', '-B 65536', '-B 4194304', '-i 200', '-k 5',
                  '-T s', '-T f', '-T f -T b')
IO_STREAM_OPTIONS = ('', '-T b', '-T n', '-T v', '-f ip', '-B 1048576', '-i 200')


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield from streams(long)
    yield from copies(1 << 30)
    yield from datagrams(long)
    yield from preloaded()


def streams(long: bool) -> Iterator[Case]:
    for program, table in (('rstream', STREAM_OPTIONS), ('riostream', IO_STREAM_OPTIONS)):
        for options in table:
            yield stream(program, options, '-S 65536 -C 200 -I 2')
        for sizes in ('-S 1 -C 100', '-S 4096 -I 100', '-S 1000000 -C 10', '-S 5000001 -C 2'):
            yield stream(program, '-T v', sizes)
    yield stream('rstream', '', '-S 65536 -C 200', '::1')
    for size, count in (('65536', '2000'), ('1048576', '200')):
        yield stream('rstream', '-T b', f'-S {size} -C {count}')
    yield async_stream('rstream', '-T a -S 1000 -C 2000')
    yield async_stream('rstream', '-T a -T b -S 65536 -C 100')
    yield async_stream('riostream', '-T a -S 1000 -C 200')
    if long:
        yield stream('rstream', '-T b', '-S all', seconds=900)
        yield async_stream('rstream', '-T a', seconds=900)
    yield with_loss(stream('rstream', '', '-S 4096 -C 20 -I 2'))


def stream(program: str, options: str, test: str, address: str = '127.0.0.1', **more) -> Case:
    common = (program, '-p', 'PORT', *options.split(), *test.split())
    name = ' '.join((*common, *(() if address == '127.0.0.1' else (address,)))).replace(' -p PORT', '')
    return by_cm(name, (*common, '-b', address), (*common, '-s', address),
                 check_client=says(r'^(custom|1m_bw)'), note=gigabits, **more)


def gigabits(ended: Ended) -> str:
    found = re.findall(r'^\S+ .*s +([0-9.]+) +[0-9.]+$', ended.output, re.MULTILINE)
    return f'{found[-1]} Gb/s' if found else ''


def async_stream(program: str, options: str, seconds: float = 60) -> Case:
    common = (program, '-p', 'PORT', '-T', 'v', *options.split())

    def act(stage: Stage, case: Case) -> Verdict:
        server = stage.start(case.server, 'server')
        done = until_let_in(stage, server, case.client, (0, select.POLLHUP))
        if done.status not in (0, select.POLLHUP):
            return Verdict(done.trouble())
        served = server.wait(stage.remaining())
        trouble = served.trouble() or says(r'^(custom|1m_bw)')(served)
        return Verdict(trouble and f'server: {trouble}', f'{gigabits(served)}, client ended with {done.status}')

    return by_cm(f'{program} -T v {options}', (*common, '-b', '127.0.0.1'), (*common, '-s', '127.0.0.1'), act=act,
                 seconds=seconds)


def copies(size: int) -> Iterator[Case]:
    """One server takes them all, and survives those that fail."""
    def act(stage: Stage, case: Case) -> Verdict:
        source, copy = (stage.scratch / f'{stage.port}.{name}' for name in ('source', 'copy'))
        make(source, size)
        server = stage.start(case.server, 'server')

        def to(name: pathlib.Path, what: pathlib.Path = source) -> Sequence[str]:
            return 'rcopy', str(what), f'127.0.0.1:{name}', '-p', 'PORT'

        done = until_let_in(stage, server, to(copy))
        trouble = done.trouble() or (None if filecmp.cmp(source, copy, shallow=False) else 'the copy differs')
        if trouble:
            return Verdict(trouble)
        for role, command in (('absent', to(copy, stage.scratch / 'absent')), ('unwritable', to(pathlib.Path('/no/where')))):
            if stage.finish(command, role).status in (0, None):
                return Verdict(f'a file that is {role} was copied')
        empty, small = stage.scratch / f'{stage.port}.empty', stage.scratch / f'{stage.port}.small'
        make(small, 12345)
        again = stage.finish(to(empty, small), 'again')
        trouble = again.trouble() or (None if filecmp.cmp(small, empty, shallow=False) else 'the second copy differs')
        for file in (source, copy, small, empty):
            file.unlink()
        found = re.search(r'= ([0-9.]+) Gb/sec', done.output)
        return Verdict(trouble, f'{found[1]} Gb/s' if found else '')

    yield by_cm(f'rcopy of {size >> 20} MB, of an absent file, to a place that is not there', ('rcopy', '-p', 'PORT'), (),
                act=act, seconds=300)


def make(file: pathlib.Path, size: int) -> None:
    block = os.urandom(1 << 20)
    with open(file, 'wb') as out:
        for offset in range(0, size, len(block)):
            part = offset.to_bytes(8, 'little') + block[8:]  # no two alike
            out.write(part[:size - offset])


def datagrams(long: bool) -> Iterator[Case]:
    """At most as many at once as fit into the receiver's queue: this program waits forever for lost ones."""
    for options in ('-C 200 -S 64', '-C 200 -S 1400', '-T e -C 2000 -S 64', '-T e -T b -C 200 -S 1000',
                    '-T a -T e -C 200 -S 1000', '-B 1048576 -C 300', '-T s -C 200'):
        yield by_cm(f'udpong {options}', ('udpong', '-p', 'PORT', '-b', '127.0.0.1', *options.split()),
                    ('udpong', '-p', 'PORT', '-s', '127.0.0.1', *options.split()), check_client=says('^custom'),
                    lasting=True)


# The library turns a connection into an rsocket at its first byte only if programs may fork;
# otherwise its select() is wrong about accepted sockets.
PRELOADED = 'LD_PRELOAD="$LD_PRELOAD:{library}" RDMAV_FORK_SAFE=1 NERVE_SUMMARY=1 exec {command}'


def preloaded() -> Iterator[Case]:
    found = sorted(pathlib.Path('/usr/lib').glob('*/rsocket/librspreload.so'))
    if not found:
        return

    def shell(command: str) -> Sequence[str]:
        return 'sh', '-c', PRELOADED.format(library=found[0], command=command)

    for options in ('', '-R'):
        yield by_cm(f'librspreload iperf3 {options}'.rstrip(), shell('iperf3 -s -1 -p PORT'),
                    shell(f'iperf3 -c 127.0.0.1 -p PORT -t 1 {options}'), note=iperf_rate,
                    check_client=all_of(says('iperf Done'), by_rdma))
    yield netcat(shell)


def by_rdma(ended: Ended):
    """Some bytes were carried by Nerve."""
    found = re.search(r'^nerve: pid .*: shm (\S+).*udp (\S+).*received (\S+)', ended.output, re.MULTILINE)
    return None if found and set(found.groups()) != {'0', '0,', '0,'} else 'nothing went by RDMA'


def iperf_rate(ended: Ended) -> str:
    found = re.findall(r'([0-9.]+ [GM]bits)/sec +receiver', ended.output)
    return f'{found[-1]}/s' if found else ''


def netcat(shell) -> Case:
    def act(stage: Stage, case: Case) -> Verdict:
        source, copy = (stage.scratch / f'{stage.port}.{name}' for name in ('sent', 'received'))
        make(source, 20 << 20)
        server = stage.start(shell(f'nc.traditional -l -p PORT -q 1 < {source}'), 'server')
        done = until_let_in(stage, server, shell(f'nc.traditional 127.0.0.1 PORT > {copy}'))
        trouble = done.trouble() or by_rdma(done) or (
            None if filecmp.cmp(source, copy, shallow=False) else 'what came differs from what was sent')
        source.unlink(), copy.unlink()
        return Verdict(trouble)

    return by_cm('librspreload nc.traditional, 20 MB', (), (), act=act)
