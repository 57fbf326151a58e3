"""What is run: the table of programs, and every way in which each is run.

The guest may be emulated in software, a hundred times slower than a machine: few iterations, and
time limits that a slow guest keeps.
"""
import dataclasses
import itertools
from typing import Iterator, Sequence

from peers import GID_INDEX

# ACK timeouts of the QPs that perftest makes, as 4.096 us * 2^n. The default, 14, is 67 ms: a guest that
# shares its processor answers later than that, and Nerve, which takes "retry 7" for seven times, would
# give up. 18 is one second. With loss, each lost acknowledgement costs one such time: 16, a quarter of that.
ACK_TIMEOUT, ACK_TIMEOUT_WITH_LOSS = '18', '16'


@dataclasses.dataclass(frozen=True)
class Work:
    """One program, and how to tell from the client's output that it did its work."""
    name: str
    command: Sequence[str]
    done: str  # a line of the client's output matches this
    survives_loss: bool  # unreliable transports wait for ever for what is lost
    perftest: bool = True
    leaves: bool = False  # ends without a word to the other, who may wait for its last acknowledgement
    by_cm: bool = False  # the two find each other by rdma_cm: such works are in cm_cases.py
    port: int = 0  # of a server that cannot be told another
    listens: bool = True
    lasting: bool = False  # the server serves for ever
    served: str = ''  # a line of the server's output matches this


@dataclasses.dataclass(frozen=True)
class Case:
    """Between Nerve here, the 'host', and the 'guest' or the 'far' end: see peers.py."""
    work: Work
    client: str
    server: str
    ip: str
    mtu: int
    loss: int  # per cent, of what each end sends

    @property
    def name(self) -> str:
        loss = f' loss {self.loss}%' if self.loss else ''
        return f'{self.client}->{self.server} {self.work.name} {self.ip} mtu {self.mtu}{loss}'

    def command(self, device: str, port: int, server: str, client: bool) -> list[str]:
        """Of one of the two; `server` is the server's address."""
        index = str(GID_INDEX[self.ip])
        if not self.work.perftest:
            unit = () if 'ud' in self.work.command[0] else ('-m', str(self.mtu))
            # Soft-RoCE cannot send a fenced request again: it waits for READs behind it, which wait for it.
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
    # A guest in software may have a clock too odd for perftest, which then prints "inf".
    done = rf'^ *\d+ +{iterations * queues} +([0-9.]+|inf) '
    return Work(f'{kind} {title or program}', (program, *transport, *length, '-n', str(iterations), *options), done,
                kind == 'RC')


COMPARE = Work('RC compare', ('nerve_compare',), '^all as it should be$', True, perftest=False)


def works() -> Iterator[Work]:
    yield COMPARE  # bytes, atomics, refusals: the program is in compare/
    # Sizes are of several packets with an odd end, where the transport has messages of several.
    yield pingpong('RC', '-n', '40', '-s', '20001', '-c')
    yield pingpong('UC', '-n', '40', '-s', '20001')
    yield pingpong('UD', '-n', '40', '-s', '1023', '-c')
    yield pingpong('SRQ', '-n', '40', '-s', '5001', '-q', '4')
    # Nothing holds an unreliable sender back, and what the guest cannot take is lost: so little of it that it
    # fits the queues on the way.
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
    """Each end asks and answers at once, and on several connections."""
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
    # What the kernel does to trains on an ordinary interface is not what it does on loopback.
    for ip, mtu in itertools.product(FAMILIES, MTUS):
        for work in (*works(), *both_ways()):
            yield Case(work, 'far', 'host', ip, mtu, 0)
