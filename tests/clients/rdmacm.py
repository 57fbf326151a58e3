"""Programs that connect through the distribution's librdmacm, over the rdma_cm device of the preload
library: those of rdmacm-utils, and perftest and qperf with rdma_cm. Sockets over it are in
rsockets.py."""
import os
import pathlib
import re
import time
from typing import Iterator, Optional

from case import Case, Stage, Verdict, by_cm, says, with_loss
from pair import until_let_in
from process import Ended, Program

LOOPBACK = ('127.0.0.1', '::1')


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield from rpings(long)
    yield from ucmatoses()
    yield from datagrams(second)
    for address in LOOPBACK:
        yield by_cm(f'rdma_client {address}', ('rdma_server', '-s', address, '-p', 'PORT'),
                    ('rdma_client', '-s', address, '-p', 'PORT'), check_client=says('^rdma_client: end 0'))
        for connection in 'r', 'x':
            yield by_cm(f'rdma_xclient -c {connection} {address}', ('rdma_xserver', '-p', 'PORT', '-c', connection),
                        ('rdma_xclient', '-s', address, '-p', 'PORT', '-c', connection),
                        check_client=says('^rdma_xclient: end 0'))
    for options in ('-c 1000', '-c 200 -b 127.0.0.1', '-c 200 -r 3 -t 1000'):
        yield by_cm(f'cmtime {options}', ('cmtime', '-p', 'PORT'),
                    ('cmtime', '-p', 'PORT', '-s', '127.0.0.1', *options.split()),
                    check_client=says('^connect'), note=connect_time, lasting=True)
    yield from perftest_and_qperf()


def rpings(long: bool) -> Iterator[Case]:
    for address in LOOPBACK:
        for options in ('', '-S 4096', '-S 65535', '-V', '-q', '-d'):
            yield rping(address, 20, *options.split())
    yield rping('127.0.0.1', 2000 if long else 500, '-V', '-S', '1000')
    yield with_loss(rping('127.0.0.1', 20))
    yield rpings_in_a_row(1000)


def rping(address: str, count: int, *options: str) -> Case:
    common = ('rping', '-a', address, '-p', 'PORT', '-v', *options)
    name = ' '.join(('rping', '-C', str(count), *options, address))
    return by_cm(name, (*common, '-s', '-C', str(count)), (*common, '-c', '-C', str(count)),
                 check_client=pings(count))


def pings(count: int):
    """Every ping came back with the sent data: rping -v prints it."""
    def check(ended: Ended) -> Optional[str]:
        came = len(re.findall(r'^ping data: rdma-ping-', ended.output, re.MULTILINE))
        return None if came == count else f'{came} of {count} pings'
    return check


def rpings_in_a_row(count: int) -> Case:
    """One server for all of them. Its open descriptors and its memory do not grow."""
    def act(stage: Stage, case: Case) -> Verdict:
        server = stage.start(case.server, 'server')
        done = until_let_in(stage, server, case.client)
        began = time.monotonic()
        files, memory = 0, 0
        for number in range(1, count):
            if done.trouble():
                return Verdict(f'connection {number}: {done.trouble()}')
            if number == count // 2:  # by now everything that is kept permanently exists
                files, memory = open_files(server), resident(server)
            done = stage.finish(case.client, 'client')
        rate = count / (time.monotonic() - began)
        time.sleep(0.5)  # the last connection is still being closed
        more_files, more_memory = open_files(server) - files, resident(server) - memory
        if more_files > count // 8 or more_memory > 256 + 2 * count:
            return Verdict(f'the server has {more_files} files more than half way, and {more_memory} KB')
        return Verdict(done.trouble(), f'{rate:.0f} programs/s')

    return by_cm(f'rping -P, {count} connections in a row', ('rping', '-s', '-P', '-a', '127.0.0.1', '-p', 'PORT'),
                 ('rping', '-c', '-a', '127.0.0.1', '-p', 'PORT', '-C', '2', '-V'), act=act, seconds=300)


def open_files(program: Program) -> int:
    return len(os.listdir(f'/proc/{program.pid}/fd'))


def resident(program: Program) -> int:
    """In KB."""
    status = pathlib.Path(f'/proc/{program.pid}/status').read_text()
    return int(re.search(r'^VmRSS:\s+(\d+)', status, re.MULTILINE)[1])


def ucmatoses() -> Iterator[Case]:
    for address in LOOPBACK:
        for options in ('-c 20', '-m -c 4', '-t 32 -c 2', '-a 16 -c 2', '-C 1000 -S 64', '-C 4 -S 1000000',
                        '-P ib', '-f ip'):
            yield by_cm(f'ucmatose {options} {address}', ('ucmatose', '-p', 'PORT', *options.split(), '-b', address),
                        ('ucmatose', '-p', 'PORT', *options.split(), '-s', address),
                        check_client=says('^test complete'), check_server=says('^test complete'))


def datagrams(second: bool) -> Iterator[Case]:
    for address in LOOPBACK:
        for options in ('-c 8', '-C 200 -S 100', '-S 2000', '-t 32', '-P udp'):
            yield by_cm(f'udaddy {options} {address}', ('udaddy', *options.split(), '-b', address),
                        ('udaddy', *options.split(), '-s', address),
                        check_client=says('^test complete'), check_server=says('^test complete'))
    bound = [('127.0.0.1', '239.1.1.1')]  # the kernel has no route for IPv6 groups over loopback
    if second:
        bound += [('198.51.100.7', '239.1.1.2'), ('2001:db8::7', 'ff0e::18')]
    for address, group in bound:
        for options in ('-C 8', '-c 4 -C 8', '-S 1000'):
            yield mckey(address, group, *options.split())
    yield mckey('127.0.0.1', '239.1.1.3', '-p', '0x111')  # the UDP port space
    yield mckey('127.0.0.1', '239.1.1.4', '-C', '8', sender='-o')


def mckey(address: str, group: str, *options: str, sender: str = '') -> Case:
    common = ('mckey', '-m', group, '-b', address, *options)
    name = ' '.join(('mckey', *options, sender, group, address)).replace('  ', ' ')
    return by_cm(name, common, (*common, '-s', *sender.split()), multicast=True,
                 check_client=says('^test complete'), check_server=says('^test complete'))


def connect_time(ended: Ended) -> str:
    found = re.search(r'^connect *:(?: +[0-9.]+){3} +([0-9.]+)', ended.output, re.MULTILINE)
    return f'connect: {found[1]} us each' if found else ''


def perftest_and_qperf() -> Iterator[Case]:
    lines = [f'ib_{operation}_{kind}' for operation in ('write', 'read', 'send', 'atomic') for kind in ('bw', 'lat')]
    lines += ['ib_send_bw -c UD', 'ib_send_lat -c UD', 'ib_write_bw -q 8', 'ib_send_bw -q 8 -b', 'ib_read_bw -q 4',
              'ib_write_bw -b', 'ib_send_bw -e', 'ib_send_bw --use-srq', 'ib_write_bw -T 32']
    for line in lines:
        program, *options = line.split()
        common = (program, '-R', '-F', '-p', 'PORT', *options, '-n', '200')
        yield Case(f'{program} -R {" ".join(options)}'.rstrip(), (*common, '127.0.0.1'), common, act=once,
                   check_client=says(r'^ *\d+ +[1-9]\d* +[0-9.]+ '), seconds=60)
    for test in QPERF:
        client = ('qperf', '-lp', 'PORT', '-cm1', '-t', '1', '127.0.0.1', test)
        yield Case(f'qperf -cm1 {test}', client, ('qperf', '-lp', 'PORT'), lasting=True,
                   check_client=says(r'^ +(bw|send_bw|latency|msg_rate) += +[0-9.,]*[1-9]'))


def once(stage: Stage, case: Case) -> Verdict:
    """perftest connects twice, first to agree on what is measured, and a client that is refused crashes: so it
cannot retry until it is accepted."""
    server = stage.start(case.server, 'server')
    time.sleep(1)
    done = stage.finish(case.client, 'client')
    trouble = done.trouble() or case.check_client(done)
    if not trouble and (served := server.wait(stage.remaining()).trouble()):
        trouble = f'server: {served}'
    return Verdict(trouble)


QPERF = ('rc_bw', 'rc_bi_bw', 'rc_lat', 'rc_rdma_read_bw', 'rc_rdma_read_lat', 'rc_rdma_write_bw', 'rc_rdma_write_lat',
         'rc_rdma_write_poll_lat', 'rc_compare_swap_mr', 'rc_fetch_add_mr', 'ver_rc_compare_swap', 'ver_rc_fetch_add',
         'uc_bw', 'uc_lat', 'ud_bw', 'ud_lat')
