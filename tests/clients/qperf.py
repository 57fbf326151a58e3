"""qperf: its RDMA tests, RC, UC and UD. It names its peer by LID, as on InfiniBand (src/verbs/lid.h).

It waits for events by itself; `-cp 1` polls. What is unreliable is measured for a time, for a message may
be lost; the rest by count.
"""
from typing import Iterator

from case import Case, says

RELIABLE = ('rc_bw', 'rc_bi_bw', 'rc_lat', 'rc_rdma_read_bw', 'rc_rdma_read_lat', 'rc_rdma_write_bw',
            'rc_rdma_write_lat', 'rc_rdma_write_poll_lat', 'rc_compare_swap_mr', 'rc_fetch_add_mr',
            'ver_rc_compare_swap', 'ver_rc_fetch_add')
UNRELIABLE = ('uc_bw', 'uc_bi_bw', 'uc_lat', 'uc_rdma_write_bw', 'uc_rdma_write_lat',
              'uc_rdma_write_poll_lat', 'ud_bw', 'ud_bi_bw', 'ud_lat')
POLLED = ('rc_bw', 'rc_lat', 'uc_bw', 'ud_lat', 'rc_rdma_read_lat')


def cases(second: bool, long: bool) -> Iterator[Case]:
    for test in RELIABLE:
        yield qperf(test) if long else qperf(test, '-n', '2000')
    for test in UNRELIABLE:
        yield qperf(test) if long else qperf(test, '-t', '1')
    for test in POLLED:
        yield qperf(test, '-t', '1', '-cp', '1')
    for size in ('1', '4096', '1M'):
        yield qperf('rc_bw', '-n', '2000', '-m', size)
    if second:
        yield qperf('rc_lat', '-n', '2000', '-i', 'nerve1:1')


def qperf(test: str, *options: str) -> Case:
    # The client's options hold for both ends, but the device for itself alone.
    device = () if '-i' in options else ('-i', 'nerve0:1')
    client = ('qperf', '-lp', 'PORT', 'localhost', *device, *options, test)
    return Case(' '.join(('qperf', test, *options)), client, ('qperf', '-lp', 'PORT'),
                says(r'^ +(bw|send_bw|latency|msg_rate) +=  *[0-9.,]*[1-9]'), lasting=True)
