#!/usr/bin/python3
"""Runs programs that nobody here wrote over the adapter: unmodified, as an ordinary user, over shared
memory and over UDP. One line for each case, then `N passed, N failed`."""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import sys
import time
from typing import Iterator, Optional

sys.dont_write_bytecode = True  # the tree may belong to somebody else

import pingpong  # noqa: E402
import world  # noqa: E402
from case import Case  # noqa: E402
from process import Program, wait_until_listening  # noqa: E402

FIRST_PORT = 20000  # below the ports that the kernel hands out


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


def label(transport: str, case: Case) -> str:
    return f'{transport}  {case.name}'


def verdict(case: Case, transport: str, port: int, place: world.World, log: pathlib.Path) -> Optional[str]:
    """None when all is well, else what is wrong."""
    env = place.environment(transport) | case.env
    limit = time.monotonic() + case.seconds

    def start(command, role: str) -> Program:
        full = tuple(word.replace('PORT', str(port)) for word in command)
        return Program(full, env, log.with_suffix(f'.{role}.log'), place.scratch)

    if not case.server:
        done = start(case.client, 'client').wait(case.seconds)
        return done.trouble() or case.check_client(done)

    server = start(case.server, 'server')
    try:
        if not wait_until_listening(server, port, min(10, case.seconds)):
            trouble = server.wait(0.1).trouble()
            return f'server: {trouble}' if trouble else 'server: did not listen'
        done = start(case.client, 'client').wait(limit - time.monotonic())
        if case.lasting:
            return done.trouble() or case.check_client(done)
        # A client that failed leaves a server that waits: what it says then is of no interest.
        served = server.wait(limit - time.monotonic() if done.status == 0 else 1)
        why = done.trouble() or case.check_client(done)
        if why:
            return f'client: {why}'
        why = served.trouble() or case.check_server(served)
        return f'server: {why}' if why else None
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

    def one(number: int, transport: str, case: Case) -> bool:
        log = place.logs / f'{number:04d}-{transport}-{re.sub("[^A-Za-z0-9]+", "-", case.name)[:80]}.log'
        why = verdict(case, transport, FIRST_PORT + number, place, log)
        if why:
            print(f'FAIL {label(transport, case)}: {why}; logs: {log.with_suffix("")}.*', flush=True)
        else:
            print(f'ok   {label(transport, case)}', flush=True)
            if not options.keep_logs:
                for file in log.parent.glob(log.stem + '.*'):
                    file.unlink()
        return not why

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, itertools.count(), *zip(*wanted))) if wanted else []
    shutil.rmtree(place.scratch, ignore_errors=place.logs == place.scratch)
    print(f'{results.count(True)} passed, {results.count(False)} failed')
    return 0 if results and all(results) else 1


if __name__ == '__main__':
    sys.exit(run(arguments()))
