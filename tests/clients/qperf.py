"""qperf: its RDMA tests, RC, UC and UD. It addresses its peer by LID, as on InfiniBand (src/verbs/lid.h).

It waits for events by default; `-cp 1` polls. Most of its tests end after a fixed time.
"""
from typing import Iterator

from case import Case, says

TESTS = ('rc_bw', 'rc_bi_bw', 'rc_lat', 'rc_rdma_read_bw', 'rc_rdma_read_lat', 'rc_rdma_write_bw',
         'rc_rdma_write_lat', 'rc_rdma_write_poll_lat', 'rc_compare_swap_mr', 'rc_fetch_add_mr',
         'ver_rc_compare_swap', 'ver_rc_fetch_add', 'uc_bw', 'uc_bi_bw', 'uc_lat',
         'uc_rdma_write_bw', 'uc_rdma_write_lat', 'uc_rdma_write_poll_lat', 'ud_bw', 'ud_bi_bw',
         'ud_lat')
POLLED = ('rc_bw', 'rc_lat', 'uc_bw', 'ud_lat', 'rc_rdma_read_lat')


def cases(second: bool, long: bool) -> Iterator[Case]:
    time = '2' if long else '1'
    for test in TESTS:
        yield qperf(test, '-t', time)
    for test in POLLED:
        yield qperf(test, '-t', time, '-cp', '1')
    for size in ('1', '4096', '1M'):
        yield qperf('rc_bw', '-t', time, '-m', size)
    yield qperf('rc_bw', '-n', '2000')
    if second:
        yield qperf('rc_lat', '-t', time, '-i', 'nerve1:1')


def qperf(test: str, *options: str) -> Case:
    # The client's options apply to both ends, except the device.
    device = () if '-i' in options else ('-i', 'nerve0:1')
    client = ('qperf', '-lp', 'PORT', 'localhost', *device, *options, test)
    return Case(' '.join(('qperf', test, *options)), client, ('qperf', '-lp', 'PORT'),
                says(r'^ +(bw|send_bw|latency|msg_rate) += +[0-9.,]*[1-9]'), lasting=True)
