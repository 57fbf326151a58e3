#!/usr/bin/python3
"""Runs Nerve against Soft-RoCE: unmodified programs, one end on Nerve, the other in a guest whose kernel has
rdma_rxe. One line for each case, then `N passed, N failed`. Needs root, for a network namespace of its own."""
import argparse
import ctypes
import os
import pathlib
import re
import shutil
import signal
import sys
import time
from typing import Optional

sys.dont_write_bytecode = True  # the tree may belong to somebody else

import captures  # noqa: E402
import peers  # noqa: E402
from cases import Case, cases  # noqa: E402
from case import says  # noqa: E402

FIRST_PORT = 20000  # each case has its own: what a failed one left does not disturb the next
SECONDS = 60  # for one case; a lossless one takes two
CLONE_NEWNET = 0x40000000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test interop', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER',
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--keep-logs', action='store_true', help='keep logs and captures of cases that passed too')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def enter(namespace: str) -> None:
    """This process and those it starts are on the namespace's network from here on."""
    with open(f'/run/netns/{namespace}', 'rb') as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f'cannot enter the network namespace {namespace}')


class Runner:
    def __init__(self, build: pathlib.Path, logs: pathlib.Path):
        self._nerve = peers.Nerve(build, logs)
        self._guest = peers.Guest(logs)
        self._guest.install(peers.compare_program(build))
        self._decode = captures.Decoder(build)
        self._logs = logs
        self._loss = 0

    def run(self, number: int, case: Case) -> tuple[Optional[str], pathlib.Path]:
        """What is wrong, or None, and the stem of the names of its logs."""
        stem = self._logs / f'{number:04d}-{re.sub("[^A-Za-z0-9]+", "-", case.name)}'
        if case.loss != self._loss:
            self._guest.lose(case.loss)
            self._loss = case.loss
        capture = pathlib.Path(f'{stem}.pcap')
        why = self._converse(case, FIRST_PORT + number, capture, stem)
        return why or self._decode.check(capture), stem

    def _converse(self, case: Case, port: int, capture: pathlib.Path, stem: pathlib.Path) -> Optional[str]:
        ends = (self._guest, self._nerve)
        client, server = ends if case.client == 'guest' else reversed(ends)
        extra = {'NERVE_PCAP': str(capture)}
        if case.loss:
            extra['NERVE_FAULT'] = f'loss={case.loss}%,seed=7'
        limit = time.monotonic() + SECONDS
        serving = server.start(case.command(server.device, port), extra, pathlib.Path(f'{stem}.server.log'), SECONDS)
        try:
            while not server.listening(port):
                if not serving.running() or time.monotonic() > limit:
                    return f'server: {serving.wait(0.1).trouble() or "did not listen"}'
                time.sleep(0.05)
            asking = client.start(case.command(client.device, port, server.address), extra,
                                  pathlib.Path(f'{stem}.client.log'), SECONDS)
            asked = asking.wait(limit - time.monotonic())
            # A client that failed leaves a server that waits: what it says then is of no interest.
            served = serving.wait(limit - time.monotonic() if asked.status == 0 else 1)
        finally:
            serving.end()
        why = asked.trouble() or says(case.work.done)(asked)
        if why:
            return f'client: {why}'
        return f'server: {served.trouble()}' if served.trouble() else None


def run_all(options: argparse.Namespace, wanted: list[Case], logs: pathlib.Path) -> list[bool]:
    enter(os.environ.get('NERVE_INTEROP_NETNS', 'nerve-interop'))
    runner = Runner(options.build, logs)
    wire = captures.Wire('roce0', logs / 'wire.pcap')
    results = []
    try:
        for number, case in enumerate(wanted):
            why, stem = runner.run(number, case)
            results.append(tell(case.name, why, f'{stem}.*'))
            if not why and not options.keep_logs:
                for file in stem.parent.glob(f'{stem.name}.*'):
                    file.unlink()
    finally:
        wire.stop()
    for name, why in captures.verdicts(options.build, wire):
        results.append(tell(name, why, str(wire.file)))
    return results


def tell(name: str, why: Optional[str], logs: str) -> bool:
    print(f'FAIL {name}: {why}; logs: {logs}' if why else f'ok   {name}', flush=True)
    return not why


def main() -> int:
    options = arguments()
    wanted = [case for case in cases() if re.search(options.filter, case.name)]
    if options.list:
        print(*(case.name for case in wanted), sep='\n')
        return 0
    if os.geteuid() != 0:
        print('interop: needs root: it makes a network namespace and a tap device', file=sys.stderr)
        return 1
    options.build = options.build.resolve()
    logs = options.build / 'interop'
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    # Ended from outside, the guest still has to be stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = []
    if peers.guest_script('prepare') != 0:
        return 1
    try:
        if peers.guest_script('start') != 0:
            return 1
        results = run_all(options, wanted, logs)
    finally:
        peers.guest_script('stop')
    print(f'{results.count(True)} passed, {results.count(False)} failed')
    return 0 if results and all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
