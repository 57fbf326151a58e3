#!/usr/bin/python3
"""Runs programs that nobody here wrote over the adapter: unmodified, as an ordinary user, over shared
memory and over UDP. One line for each case, then `N passed, N failed`."""
import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import re
import shutil
import sys
import time
from typing import Iterator, Optional, Sequence

sys.dont_write_bytecode = True  # the tree may belong to somebody else

import perftest  # noqa: E402
import pingpong  # noqa: E402
import pyverbs  # noqa: E402
import qperf  # noqa: E402
import rdmacm  # noqa: E402
import ucx  # noqa: E402
import world  # noqa: E402
from case import Case  # noqa: E402
from process import Ended, Program, wait_until_listening  # noqa: E402

FIRST_PORT = 20000  # below the ports that the kernel hands out
CM_TRIES, CM_PAUSE = 6, 0.5


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test clients', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER',
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--transport', choices=('shm', 'udp'), help='one of the two; both unless told')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--jobs', type=int, default=1, metavar='N', help='cases at a time; 1 unless told')
    parser.add_argument('--keep-logs', action='store_true', help='keep the logs of cases that passed too')
    parser.add_argument('--long', action='store_true', help='as many iterations as the programs do by themselves')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def all_cases(second: bool, long: bool) -> Iterator[Case]:
    yield from pingpong.cases(second, long)
    yield from perftest.cases(second, long)
    yield from qperf.cases(second, long)
    yield from rdmacm.cases(second, long)
    yield from ucx.cases(second, long)
    yield from pyverbs.cases()


def label(transport: str, case: Case) -> str:
    return f'{transport}  {case.name}'


@dataclasses.dataclass(frozen=True)
class Verdict:
    trouble: Optional[str]  # None when all is well
    note: str = ''


def judge(case: Case, transport: str, port: int, place: world.World, log: pathlib.Path) -> Verdict:
    way = 'auto' if case.multicast and transport == 'shm' else transport
    env = place.environment(way) | case.env
    limit = time.monotonic() + case.seconds

    def start(command: Sequence[str], role: str) -> Program:
        full = tuple(word.replace('PORT', str(port)) for word in command)
        return Program(full, env, log.with_suffix(f'.{role}.log'), place.scratch)

    def about_client(done: Ended) -> Verdict:
        trouble = done.trouble() or case.check_client(done)
        return Verdict(trouble, case.note(done) if case.note and not trouble else '')

    if not case.server:
        return about_client(start(case.client, 'client').wait(case.seconds))
    server = start(case.server, 'server')
    try:
        if case.by_cm:
            time.sleep(CM_PAUSE)
        elif not wait_until_listening(server, port, min(10, case.seconds)):
            return Verdict(f'server: {server.wait(0.1).trouble() or "did not listen"}')
        done = start(case.client, 'client').wait(limit - time.monotonic())
        for _ in range(CM_TRIES if case.by_cm else 0):
            if not done.trouble() or not server.running() or time.monotonic() > limit:
                break
            time.sleep(CM_PAUSE)
            done = start(case.client, 'client').wait(limit - time.monotonic())
        verdict = about_client(done)
        if case.lasting or verdict.trouble:
            return verdict
        served = server.wait(limit - time.monotonic())
        trouble = served.trouble() or case.check_server(served)
        return Verdict(f'server: {trouble}', '') if trouble else verdict
    finally:
        server.end()


def run(options: argparse.Namespace) -> int:
    place = world.enter(options.build.resolve())
    transports = (options.transport,) if options.transport else ('shm', 'udp')
    wanted = [(transport, case) for transport in transports
              for case in all_cases(place.second is not None, options.long)
              if re.search(options.filter, label(transport, case))]
    if options.list:
        print(*(label(*one) for one in wanted), sep='\n')
        return 0
    os.chdir(place.scratch)
    pyverbs.prepare(place.scratch)

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
