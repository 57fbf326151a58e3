"""Programs that connect through librdmacm, the distribution's own, over the rdma_cm device of the preload library."""
import re
from typing import Iterator, Optional, Sequence

from case import Case, says, with_loss
from process import Ended

LOOPBACK = ('127.0.0.1', '::1')


def by_cm(name: str, server: Sequence[str], client: Sequence[str], **more) -> Case:
    return Case(name, client, server, by_cm=True, **more)


def rping(address: str, count: int, *options: str) -> Case:
    common = ('rping', '-a', address, '-p', 'PORT', '-v', *options)
    name = ' '.join(('rping', '-C', str(count), *options, address))
    return by_cm(name, (*common, '-s', '-C', str(count)), (*common, '-c', '-C', str(count)),
                 check_client=pings(count))


def pings(count: int):
    """Every ping came back with what was sent: rping -v prints it."""
    def check(ended: Ended) -> Optional[str]:
        came = len(re.findall(r'^ping data: rdma-ping-', ended.output, re.MULTILINE))
        return None if came == count else f'{came} of {count} pings'
    return check


def cases(second: bool, long: bool) -> Iterator[Case]:
    for address in LOOPBACK:
        yield rping(address, 20)
        yield rping(address, 20, '-S', '4096')
        yield by_cm(f'ucmatose {address}', ('ucmatose', '-p', 'PORT', '-c', '20', '-b', address),
                    ('ucmatose', '-p', 'PORT', '-c', '20', '-s', address),
                    check_client=says('^test complete'), check_server=says('^test complete'))
        yield by_cm(f'udaddy {address}', ('udaddy', '-c', '8', '-b', address), ('udaddy', '-c', '8', '-s', address),
                    check_client=says('^test complete'), check_server=says('^test complete'))
        yield by_cm(f'rdma_client {address}', ('rdma_server', '-s', address, '-p', 'PORT'),
                    ('rdma_client', '-s', address, '-p', 'PORT'), check_client=says('^rdma_client: end 0'))
    yield with_loss(rping('127.0.0.1', 20))
    for connection in 'r', 'x':
        yield by_cm(f'rdma_xclient -c {connection}', ('rdma_xserver', '-p', 'PORT', '-c', connection),
                    ('rdma_xclient', '-s', '127.0.0.1', '-p', 'PORT', '-c', connection),
                    check_client=says('^rdma_xclient: end 0'))
    yield by_cm('mckey', ('mckey', '-m', '239.1.1.1', '-b', '127.0.0.1', '-C', '8'),
                ('mckey', '-m', '239.1.1.1', '-b', '127.0.0.1', '-C', '8', '-s'))
    yield from streams(long)
    yield by_cm('cmtime -c 1000', ('cmtime', '-p', 'PORT'), ('cmtime', '-p', 'PORT', '-s', '127.0.0.1', '-c', '1000'),
                check_client=says('^connect'), lasting=True)
    yield from perftest_and_qperf()


def streams(long: bool) -> Iterator[Case]:
    for program in 'rstream', 'riostream':
        for options in (), ('-T', 'b'), ('-T', 'n'):
            test = ('-S', 'all') if long else ('-S', '65536', '-C', '200', '-I', '2')
            common = (program, '-p', 'PORT', *options, *test)
            yield by_cm(' '.join((program, *options, *test)), (*common, '-b', '127.0.0.1'),
                        (*common, '-s', '127.0.0.1'), check_client=says(r'^(custom|64k_bw)'))
    common = ('rstream', '-p', 'PORT', '-S', '4096', '-C', '20', '-I', '2')
    yield with_loss(by_cm('rstream -S 4096 -C 20 -I 2', (*common, '-b', '127.0.0.1'), (*common, '-s', '127.0.0.1')))


def perftest_and_qperf() -> Iterator[Case]:
    for program in 'ib_write_bw', 'ib_read_lat', 'ib_send_bw', 'ib_atomic_bw':
        common = (program, '-R', '-p', 'PORT', '-n', '200')
        yield by_cm(f'{program} -R', common, (*common, '127.0.0.1'))
    common = ('ib_send_bw', '-R', '-c', 'UD', '-p', 'PORT', '-n', '200')
    yield by_cm('ib_send_bw -R -c UD', common, (*common, '127.0.0.1'))
    for test in 'rc_bw', 'rc_lat', 'rc_rdma_read_bw':
        client = ('qperf', '-lp', 'PORT', '-cm1', '-t', '1', '127.0.0.1', test)
        yield Case(f'qperf -cm1 {test}', client, ('qperf', '-lp', 'PORT'), lasting=True,
                   check_client=says(r'(bw|latency) +='))
