"""Programs that connect by rdma_cm: on Nerve through the device in libnerve-preload.so, in the guest through the kernel's.

The path MTU is the device's, which is the cable's: programs cannot choose another.
"""
import dataclasses
import itertools
from typing import Iterator, Sequence

from cases import DIRECTIONS, FAMILIES, Case, Work

CABLE_MTU, FAR_MTU = 4096, 1024


@dataclasses.dataclass(frozen=True)
class CmWork(Work):
    """`command` is the client's. PORT and SERVER stand for the server's port and address."""
    server: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class CmCase(Case):
    work: CmWork

    def command(self, device: str, port: int, server: str, client: bool) -> list[str]:
        words = self.work.command if client else self.work.server
        return [word.replace('PORT', str(port)).replace('SERVER', server) for word in words]


def by_cm(name: str, server: str, client: str, done: str, loss: bool = False, **more) -> CmWork:
    return CmWork(f'CM {name}', client.split(), done, loss, perftest=False, by_cm=True, server=server.split(), **more)


def rping(size: int, loss: bool = False) -> CmWork:
    common = f'rping -v -V -C 20 -S {size} -a SERVER -p PORT'
    return by_cm(f'rping {size}', f'{common} -s', f'{common} -c', '^ping data: rdma-ping-19: ', loss)


def stream(program: str, loss: bool = False) -> CmWork:
    common = f'{program} -p PORT -S 20001 -C 40 -I 2'
    return by_cm(program, f'{common} -b SERVER', f'{common} -s SERVER', '^custom', loss)


def works() -> Iterator[CmWork]:
    yield by_cm('meet', 'nerve_meet -p PORT -b SERVER', 'nerve_meet -p PORT SERVER', '^all as it should be$')
    yield rping(64)
    yield rping(20001, loss=True)
    # Five connections at once; the server disconnects.
    yield by_cm('ucmatose', 'ucmatose -p PORT -c 5 -C 20 -S 5000 -b SERVER',
                'ucmatose -p PORT -c 5 -C 20 -S 5000 -s SERVER', '^test complete', loss=True, served='^test complete')
    yield by_cm('udaddy', 'udaddy -c 4 -b SERVER', 'udaddy -c 4 -s SERVER', '^test complete',
                served='^test complete', port=7174)
    yield by_cm('rdma_client', 'rdma_server -p PORT -s SERVER', 'rdma_client -p PORT -s SERVER', '^rdma_client: end 0')
    yield stream('rstream', loss=True)
    yield stream('riostream')
    yield by_cm('cmtime', 'cmtime -p PORT -b SERVER', 'cmtime -p PORT -s SERVER -c 20', '^disconnect ', lasting=True)


def by_ipv4(server: str) -> Iterator[CmWork]:
    # It parses an address up to the first colon.
    yield by_cm('rcopy', 'rcopy -p PORT', 'rcopy /bin/busybox SERVER:copied -p PORT', r'^\d+ bytes in ', lasting=True)
    # perftest's server listens for its second connection after it has told the client to connect:
    # on Nerve that is fast enough, in an emulated guest it is not.
    for program in ('ib_write_bw', 'ib_read_lat') if server == 'host' else ():
        common = f'{program} -R -F -s 20001 -n 40 -p PORT'
        yield by_cm(f'{program} -R', common, f'{common} SERVER', r'^ *20001 +40 +([0-9.]+|inf) ')


def mckey(server: str) -> CmWork:
    """Not connected: both join a group, each with a given local address."""
    own = {'host': '198.51.100.1', 'guest': '198.51.100.2'}
    client = 'guest' if server == 'host' else 'host'
    return by_cm('mckey', f'mckey -m 239.1.1.1 -C 8 -b {own[server]}', f'mckey -m 239.1.1.1 -C 8 -b {own[client]} -s',
                 '^test complete', served='^data transfers complete', listens=False)


def cases() -> Iterator[CmCase]:
    for client, server in DIRECTIONS:
        for ip, work in itertools.product(FAMILIES, works()):
            yield CmCase(work, client, server, ip, CABLE_MTU, 0)
        for work in (*by_ipv4(server), mckey(server)):
            yield CmCase(work, client, server, 'ipv4', CABLE_MTU, 0)
    for (client, server), ip, work in itertools.product(DIRECTIONS, FAMILIES, works()):
        if work.survives_loss:
            yield CmCase(work, client, server, ip, CABLE_MTU, 1)
    for ip, work in itertools.product(FAMILIES, works()):
        yield CmCase(work, 'far', 'host', ip, FAR_MTU, 0)
