#!/usr/bin/python3
"""Runs third-party programs over the adapter: unmodified, as an ordinary user, over shared
memory and over UDP. One line for each case, then `N passed, N failed`."""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import sys
from typing import Iterator

sys.dont_write_bytecode = True  # the tree may belong to another user

import crash  # noqa: E402
import fio  # noqa: E402
import gloo  # noqa: E402
import iser  # noqa: E402
import libfabric  # noqa: E402
import mpi  # noqa: E402
import pair  # noqa: E402
import perftest  # noqa: E402
import pingpong  # noqa: E402
import prometheus  # noqa: E402
import pyverbs  # noqa: E402
import qemu  # noqa: E402
import qperf  # noqa: E402
import rdmacm  # noqa: E402
import rsockets  # noqa: E402
import ucx  # noqa: E402
import world  # noqa: E402
from case import Case, Stage, Verdict  # noqa: E402

FIRST_PORT = 20000  # below the kernel's ephemeral ports


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test clients', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER',
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--transport', choices=('shm', 'udp'), help='only this transport; default: both')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--jobs', type=int, default=1, metavar='N', help='cases at a time; default: 1')
    parser.add_argument('--keep-logs', action='store_true', help='keep the logs of cases that passed too')
    parser.add_argument('--long', action='store_true', help='as many iterations as the programs do by themselves')
    parser.add_argument('--seal', action='store_true',
                        help='over UDP, with all packets sealed')
    parser.add_argument('--seal-pair', action='store_true',
                        help='the same with a key pair in place of a preshared key')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


SUITES = (pingpong, perftest, qperf, rdmacm, rsockets, ucx, libfabric, mpi, fio, iser, gloo, qemu, pyverbs, crash, prometheus)


def all_cases(second: bool, long: bool) -> Iterator[Case]:
    for suite in SUITES:
        yield from suite.cases(second, long)


def label(transport: str, case: Case) -> str:
    return f'{transport}  {case.name}'


def judge(case: Case, transport: str, port: int, place: world.World, log: pathlib.Path) -> Verdict:
    way = 'auto' if case.multicast and transport == 'shm' else transport
    stage = Stage(place.environment(way) | case.env, port, place.scratch, log, case.seconds)
    try:
        return (case.act or pair.play)(stage, case)
    finally:
        stage.end()


def run(options: argparse.Namespace) -> int:
    place = world.enter(options.build.resolve())
    if options.seal or options.seal_pair:
        options.transport = 'udp'
        place = place.sealed(options.seal_pair)
    transports = (options.transport,) if options.transport else ('shm', 'udp')
    wanted = [(transport, case) for transport in transports
              for case in all_cases(place.second is not None, options.long)
              if re.search(options.filter, label(transport, case))
              and not (options.seal_pair and case.multicast)]  # a group has no key pair
    if options.list:
        print(*(label(*one) for one in wanted), sep='\n')
        return 0
    os.chdir(place.scratch)
    names = {case.name for _, case in wanted}
    for suite in (suite for suite in SUITES if hasattr(suite, 'prepare')):
        if any(case.name in names for case in suite.cases(place.second is not None, options.long)):
            suite.prepare(place.scratch)

    def one(number: int, transport: str, case: Case) -> bool:
        log = place.logs / f'{number:04d}-{transport}-{re.sub("[^A-Za-z0-9]+", "-", case.name)[:80]}.log'
        verdict = judge(case, transport, FIRST_PORT + number, place, log)
        if verdict.trouble:
            print(f'FAIL {label(transport, case)}: {verdict.trouble}; logs: {place.logs_name / log.stem}.*',
                  flush=True)
        else:
            print(f'ok   {label(transport, case)}{verdict.note and f" ({verdict.note})"}', flush=True)
            if not options.keep_logs:
                for file in log.parent.glob(log.stem + '.*'):
                    file.unlink()
        return not verdict.trouble

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, itertools.count(), *zip(*wanted))) if wanted else []
    shutil.rmtree(place.scratch, ignore_errors=True)
    print(f'{results.count(True)} passed, {results.count(False)} failed')
    return 0 if results and all(results) else 1


if __name__ == '__main__':
    sys.exit(run(arguments()))
