"""perftest: each operation over each transport that has it, for bandwidth and for latency, and the options that
change how requests are posted, completed and addressed.

Measuring the CPU's speed takes these programs a quarter of a second for each line they print,
so only some cases print many.
"""
import re
from typing import Iterator, Optional

from case import Case, Check, with_loss
from process import Ended

CONNECTIONS = {'write': ('RC', 'UC', 'XRC'), 'read': ('RC', 'XRC'),
               'send': ('RC', 'UC', 'UD', 'XRC'), 'atomic': ('RC', 'XRC')}
SIZES_TO_8_MIB = 23  # 2, 4, ... 2^23
SIZES_TO_MTU = 12

# What is tried with one operation and over RC, and how many lines it prints.
BANDWIDTH = {
    'write': ('-q 16', '-b', '-b -q 16', '-l 16 -n 320', '-t 1', '-t 512 -n 600', '-Q 1', '-I 64 -s 64',
              '-m 1024', '-m 256 -s 100000', '--mr_per_qp -q 4', '--odp', '--use_old_post_send',
              '-s 1', '-s 8388608 -n 5', '-D 1 -f 0'),
    'read': ('-q 16', '-b', '-e', '-o 1', '-m 512', '-s 8388608 -n 5', '--odp'),
    'send': ('-q 16', '-b', '-b -q 16', '-e', '-e -b', '-I 64 -s 64', '--use-srq',
             '--use-srq -q 16', '--use-srq -b', '-l 16 -n 320', '--recv_post_list=16 -n 320', '-r 16',
             '-m 2048', '-s 1', '-s 8388608 -n 5', '--use_old_post_send', '-D 1 -f 0'),
    'atomic': ('-A CMP_AND_SWAP', '-A FETCH_AND_ADD -q 16', '-b', '-e', '-o 1'),
}
LATENCY = {
    'write': ('-s 1', '-s 100000', '-I 64', '-I 0'),
    'read': ('-e', '-s 100000'),
    'send': ('-e', '-s 100000', '-I 64', '-I 0', '--use-srq'),
    'atomic': ('-A CMP_AND_SWAP', '-e'),
}
ELSEWHERE = ('ib_send_bw -c UD -b', 'ib_send_bw -c UD -q 4', 'ib_send_bw -c UC -b',
             'ib_send_bw -c XRC -q 4', 'ib_send_bw -c XRC -b', 'ib_write_bw -c UC -b -q 16',
             'ib_write_bw -c XRC -q 4', 'ib_send_lat -c UD -e', 'ib_send_lat -c UC -e')


def cases(second: bool, long: bool) -> Iterator[Case]:
    for operation, connections in CONNECTIONS.items():
        for program in (f'ib_{operation}_bw', f'ib_{operation}_lat'):
            for connection in connections:
                yield perftest(f'{program} -c {connection}', long)
            yield perftest(f'{program} -x 1', long)  # the IPv6 GID
    for kind, table in (('bw', BANDWIDTH), ('lat', LATENCY)):
        for operation, all_options in table.items():
            for options in all_options:
                yield perftest(f'ib_{operation}_{kind} {options}', long)
    for line in ELSEWHERE:
        yield perftest(line, long)
    every_size = ['ib_write_bw -a', 'ib_read_bw -a', 'ib_send_bw -a -b', 'ib_send_lat -a']
    if long:
        every_size += ['ib_write_bw -a -q 16', 'ib_send_bw -a -q 16 --use-srq', 'ib_write_lat -a',
                       'ib_read_lat -a', 'ib_write_bw -a -c UC', 'ib_write_bw -a -b -c XRC']
    for line in every_size:
        yield perftest(line, long, SIZES_TO_8_MIB)
    yield perftest('ib_send_bw -a -c UD', long, SIZES_TO_MTU)
    for line in ('ib_write_bw', 'ib_read_bw', 'ib_send_bw -e', 'ib_atomic_bw'):
        yield with_loss(perftest(line, long))
    if second:
        for line in ('ib_write_bw', 'ib_read_lat', 'ib_send_bw -c UD', 'ib_send_bw -c UC -x 2'):
            yield perftest(f'{line} -d nerve1', long)


def perftest(line: str, long: bool, lines: int = 1) -> Case:
    program, *options = line.split()
    command = [program, '-F', '-p', 'PORT', *options]
    for option, value in (('-d', 'nerve0'), ('-x', '0')):
        if option not in options:
            command += [option, value]
    if not long and '-n' not in options and '-D' not in options:
        command += ['-n', '10' if '-a' in options else '200']
    return Case(line, (*command, 'localhost'), command, prints(lines),
                seconds=600 if long else 240 if lines > 1 else 60)


def prints(lines: int) -> Check:
    """A figure for each size, none with zero iterations."""
    def check(ended: Ended) -> Optional[str]:
        rows = re.findall(r'^ *\d+ +([1-9]\d*)(?:[ \t]+[0-9.]+){3,}', ended.output, re.MULTILINE)
        return None if len(rows) == lines else f'{len(rows)} lines of figures, not {lines}'
    return check
