"""The cases: the table of programs, and all combinations in which each is run.

The guest may be emulated in software, a hundred times slower than a machine: few iterations, and
time limits that suit a slow guest.
"""
import dataclasses
import itertools
from typing import Iterator, Sequence

from peers import GID_INDEX

# ACK timeouts of the QPs that perftest makes, as 4.096 us * 2^n. The default, 14, is 67 ms: a guest
# that shares its CPU answers later than that, and Nerve, which interprets "retry 7" as seven
# retries, would give up. 18 is one second. With loss, each lost acknowledgement costs one such
# time: 16, a quarter of that.
ACK_TIMEOUT, ACK_TIMEOUT_WITH_LOSS = '18', '16'


@dataclasses.dataclass(frozen=True)
class Work:
    """One program, and how to tell from the client's output that it succeeded."""
    name: str
    command: Sequence[str]
    done: str  # a line of the client's output matches this
    survives_loss: bool  # unreliable transports wait forever for lost messages
    perftest: bool = True
    leaves: bool = False  # exits without notice, while the other end may wait for its last acknowledgement
    by_cm: bool = False  # connects by rdma_cm: such cases are in cm_cases.py
    port: int = 0  # of a server whose port cannot be set
    listens: bool = True
    lasting: bool = False  # the server never exits
    served: str = ''  # a line of the server's output matches this


@dataclasses.dataclass(frozen=True)
class Case:
    """Between Nerve here, the 'host', and the 'guest' or the 'far' end: see peers.py."""
    work: Work
    client: str
    server: str
    ip: str
    mtu: int
    loss: int  # per cent of the packets that each end sends

    @property
    def name(self) -> str:
        loss = f' loss {self.loss}%' if self.loss else ''
        return f'{self.client}->{self.server} {self.work.name} {self.ip} mtu {self.mtu}{loss}'

    def command(self, device: str, port: int, server: str, client: bool) -> list[str]:
        """The command of one end; `server` is the server's address."""
        index = str(GID_INDEX[self.ip])
        if not self.work.perftest:
            unit = () if 'ud' in self.work.command[0] else ('-m', str(self.mtu))
            # Soft-RoCE cannot retransmit a fenced request: it waits for READs after it, which wait
            # for it.
            no_fence = ('-n',) if self.work is COMPARE and self.loss and self.client == 'guest' else ()
            where = ('-p', str(port), '-d', device, '-g', index, *unit, *no_fence)
        else:
            timeout = ACK_TIMEOUT_WITH_LOSS if self.loss else ACK_TIMEOUT
            unit = () if 'UD' in self.work.command else ('-u', timeout)
            where = ('-p', str(port), '-d', device, '-x', index, '-m', str(self.mtu), '-F', *unit)
        return [*(word.replace('MTU', str(self.mtu)) for word in self.work.command), *where,
                *((server,) if client else ())]


def pingpong(kind: str, *options: str) -> Work:
    return Work(f'{kind} pingpong', (f'ibv_{kind.lower()}_pingpong', *options), r'^\d+ iters in [0-9.]+ seconds',
                kind in ('RC', 'SRQ'), perftest=False, leaves=True)


def perftest(kind: str, program: str, size: str, iterations: int, *options: str, title: str = '') -> Work:
    transport = ('-c', kind) if kind != 'RC' else ()
    length = ('-s', size) if size else ()
    queues = int(options[options.index('-q') + 1]) if '-q' in options else 1
    # An emulated guest may have a clock too irregular for perftest, which then prints "inf".
    done = rf'^ *\d+ +{iterations * queues} +([0-9.]+|inf) '
    return Work(f'{kind} {title or program}', (program, *transport, *length, '-n', str(iterations), *options), done,
                kind == 'RC')


COMPARE = Work('RC compare', ('nerve_compare',), '^all as it should be$', True, perftest=False)


def works() -> Iterator[Work]:
    yield COMPARE  # bytes, atomics, errors: the program is in compare/
    # Sizes of several packets with an odd end, if the transport has multi-packet messages.
    yield pingpong('RC', '-n', '40', '-s', '20001', '-c')
    yield pingpong('UC', '-n', '40', '-s', '20001')
    yield pingpong('UD', '-n', '40', '-s', '1023', '-c')
    yield pingpong('SRQ', '-n', '40', '-s', '5001', '-q', '4')
    # Unreliable transports have no flow control, and what the guest cannot receive is lost: so
    # there is only as much as fits into the queues on the way.
    for kind, size, iterations in (('RC', '65537', 40), ('UC', '16385', 10)):
        yield perftest(kind, 'ib_write_bw', size, iterations)
        yield perftest(kind, 'ib_write_lat', '5001', 40)
        yield perftest(kind, 'ib_send_bw', size, iterations)
        yield perftest(kind, 'ib_send_lat', '5001', 40)
    yield perftest('RC', 'ib_read_bw', '65537', 40)
    yield perftest('RC', 'ib_read_lat', '5001', 40)
    yield perftest('UD', 'ib_send_bw', 'MTU', 40)
    yield perftest('UD', 'ib_send_lat', '1023', 40)
    for kind, title in (('FETCH_AND_ADD', 'add'), ('CMP_AND_SWAP', 'swap')):
        for program in ('ib_atomic_bw', 'ib_atomic_lat'):
            yield perftest('RC', program, '', 40, '-A', kind, title=f'{program} {title}')


def both_ways() -> Iterator[Work]:
    """Each end requests and responds at the same time, and on several connections."""
    for program in ('ib_write_bw', 'ib_send_bw', 'ib_read_bw'):
        yield perftest('RC', program, '65537', 20, '-b', title=f'{program} both ways')
    yield perftest('RC', 'ib_write_bw', '20001', 10, '-b', '-q', '3', title='ib_write_bw both ways, 3 QPs')


DIRECTIONS = (('guest', 'host'), ('host', 'guest'))
FAMILIES, MTUS = ('ipv4', 'ipv6'), (1024, 4096)


def cases() -> Iterator[Case]:
    for loss in (0, 1):
        for (client, server), ip, mtu in itertools.product(DIRECTIONS, FAMILIES, MTUS):
            for work in (*works(), *both_ways()):
                if not loss or work.survives_loss:
                    yield Case(work, client, server, ip, mtu, loss)
        if not loss:
            for client, server in DIRECTIONS:
                yield Case(pingpong('RC', '-n', '40', '-s', '20001', '-c'), client, server, 'link-local', 1024, 0)
    # The kernel treats trains differently on an ordinary interface than on loopback.
    for ip, mtu in itertools.product(FAMILIES, MTUS):
        for work in (*works(), *both_ways()):
            yield Case(work, 'far', 'host', ip, mtu, 0)
