#!/usr/bin/python3
"""Runs Nerve against Soft-RoCE: unmodified programs, one end on Nerve, the other in a guest whose kernel has
rdma_rxe; and against Nerve over a cable that is not loopback. One line for each case, then `N passed, N failed`.
Needs root, for its network namespaces."""
import argparse
import ctypes
import itertools
import os
import pathlib
import re
import shutil
import signal
import sys
import time
from typing import Iterator, Optional

sys.dont_write_bytecode = True  # the tree may belong to another user

import captures  # noqa: E402
import evidence  # noqa: E402
import mads  # noqa: E402
import peers  # noqa: E402
import veth  # noqa: E402
import cases as by_exchange  # noqa: E402
import cm_cases  # noqa: E402
from cases import Case  # noqa: E402
from case import says  # noqa: E402
from process import Ended, Program  # noqa: E402

FIRST_PORT = 20000  # each case has its own, so that a failed one does not disturb the next
SECOND_TRY = 5000
SECONDS = 180  # for one case, which takes one or two: reached only by a hang, even under load
CLONE_NEWNET = 0x40000000
FAREWELL = 30  # seconds for a server whose client is done
LOST_TOUCH = 'the guest does not say how the program ended'
LOST_LAST = 'the last acknowledgement was lost, and its sender had gone'
EXCUSES = (LOST_TOUCH, LOST_LAST)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test interop', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER',
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--keep-logs', action='store_true', help='keep logs and captures of cases that passed too')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def enter(namespace: str) -> None:
    """Moves this process and those it starts to the namespace's network."""
    with open(f'/run/netns/{namespace}', 'rb') as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f'cannot enter the network namespace {namespace}')


class Runner:
    def __init__(self, build: pathlib.Path, logs: pathlib.Path):
        self.nerve = peers.Nerve(build, logs)
        self.guest = peers.Guest(logs)
        for program in peers.own_programs(build):
            self.guest.install(program)
        self._decode = captures.Decoder(build)
        self._pulse = evidence.Pulse(self.guest.address)
        self._logs = logs
        self._loss = 0
        self.sent_again = 0  # cases with loss in which Nerve retransmitted

    def run(self, number: int, case: Case) -> tuple[Optional[str], pathlib.Path]:
        """What is wrong, or None, and the stem of the names of its logs."""
        stem = self._logs / f'{number:04d}-{re.sub("[^A-Za-z0-9]+", "-", case.name)}'
        if case.loss != self._loss:
            self.guest.lose(case.loss)
            self._loss = case.loss
        began = time.monotonic()
        why = self._converse(case, FIRST_PORT + number, stem)
        if excuse := why and (why if why in EXCUSES else evidence.blame(self._pulse, began)):
            told = why if why == excuse else f'{why}; {excuse}'
            print(f'     {case.name}: {told}: once more; logs: {stem}.*', flush=True)
            stem = stem.with_name(f'{stem.name}again')
            why = self._converse(case, FIRST_PORT + SECOND_TRY + number, stem)
        if not why:
            why = next(filter(None, map(self._decode.check, stem.parent.glob(f'{stem.name}.*.pcap'))), None)
        return why, stem

    def _converse(self, case: Case, port: int, stem: pathlib.Path) -> Optional[str]:
        far = 'far' in (case.client, case.server)
        ends = veth.ends(self.nerve, case.mtu) if far else {'host': self.nerve, 'guest': self.guest}

        server, by_cm, port = ends[case.server], case.work.by_cm, case.work.port or port
        at = server.address6 if by_cm and case.ip == 'ipv6' else server.address

        def start(role: str, name: str) -> Program:
            extra = {'NERVE_PCAP': f'{stem}.{name}.pcap'}
            if case.loss:
                extra |= {'NERVE_FAULT': f'loss={case.loss}%,seed=7', 'NERVE_SUMMARY': 'on'}
            client = role == 'client'
            return ends[name].start(case.command(ends[name].device, port, at, client), extra,
                                    pathlib.Path(f'{stem}.{role}.log'), SECONDS,
                                    port if case.work.listens and not client else 0, by_cm)

        limit = time.monotonic() + SECONDS
        serving = start('server', case.server)
        try:
            while case.work.listens and not server.listening(serving, port, by_cm):
                if not serving.running() or time.monotonic() > limit:
                    ended = serving.wait(0.1)
                    if ended.status == peers.NO_STATUS:
                        return LOST_TOUCH
                    return f'server: {ended.trouble() or "did not listen"}'
                time.sleep(0.05)
            asked = start('client', case.client).wait(limit - time.monotonic())
            while came_too_early(case, asked) and serving.running() and time.monotonic() < limit:
                time.sleep(0.5)
                asked = start('client', case.client).wait(limit - time.monotonic())
            if case.work.lasting:
                served = Ended(0, serving.output())
            else:
                # A failed client leaves a waiting server, whose output does not matter then.
                served = serving.wait(min(limit - time.monotonic(), FAREWELL) if asked.status == 0 else 1)
        finally:
            serving.end()
        if peers.NO_STATUS in (asked.status, served.status):
            return LOST_TOUCH
        ours = asked if case.client == 'host' else served
        if case.loss and re.search(r' (?!0 )\S+( \w)? retransmitted$', ours.output, re.MULTILINE):
            self.sent_again += 1
        why = asked.trouble() or says(case.work.done)(asked)
        if case.loss and case.work.leaves and (asked.status == 0) != (served.status == 0):
            return LOST_LAST
        if why:
            return f'client: {why}'
        why = served.trouble() or (says(case.work.served)(served) if case.work.served else None)
        return f'server: {why}' if why else None

    def losses(self) -> Iterator[tuple[str, Optional[str]]]:
        """Checks that packets were really lost: otherwise the cases with loss prove nothing."""
        yield ('packets of Nerve were lost, and sent again',
               None if self.sent_again else 'no case with loss sent a packet again')
        lost = self.guest.lost()
        yield 'packets of the guest were lost', None if lost else f'netem says {lost}'


def came_too_early(case: Case, asked: Ended) -> bool:
    """A client of rdma_cm that came before its server on Nerve listened: it was refused, and nothing else."""
    return (case.work.by_cm and case.server == 'host' and asked.status not in (0, None, peers.NO_STATUS) and
            re.search(r'REJECTED, error:? 8|UNREACHABLE, error: 1|refused', asked.output) is not None)


def run_all(options: argparse.Namespace, wanted: list[Case], logs: pathlib.Path) -> list[bool]:
    enter(os.environ.get('NERVE_INTEROP_NETNS', 'nerve-interop'))
    runner = Runner(options.build, logs)
    mtus = sorted({case.mtu for case in wanted if case.client == 'far'})
    cables = [veth.interface(mtu) for mtu in mtus]
    if any('guest' in (case.client, case.server) for case in wanted):
        cables.insert(0, 'roce0')
    far = veth.FarEnd(mtus)
    wires = [captures.Wire(cable, logs / f'{cable}.pcap') for cable in cables]
    results = []
    try:
        for number, case in enumerate(wanted):
            why, stem = runner.run(number, case)
            results.append(tell(case.name, why, f'{stem}.*'))
            if not why and not options.keep_logs:
                for file in stem.parent.glob(f'{stem.name}.*'):
                    file.unlink()
    finally:
        for wire in wires:
            wire.stop()
        far.stop()
    for wire in wires:
        for name, why in captures.verdicts(options.build, wire):
            results.append(tell(name, why, str(wire.file)))
    if any(case.work.by_cm and 'guest' in (case.client, case.server) for case in wanted):
        results.append(tell('the cable roce0: CM messages are as Linux writes them',
                            mads.compare(wires[0].file, {runner.nerve.address, runner.nerve.address6}), str(wires[0].file)))
    if sum(1 for case in wanted if case.loss) > 10:  # fewer cases may lose nothing by chance
        results += [tell(name, why, str(logs)) for name, why in runner.losses()]
    return results


def tell(name: str, why: Optional[str], logs: str) -> bool:
    print(f'FAIL {name}: {why}; logs: {logs}' if why else f'ok   {name}', flush=True)
    return not why


def main() -> int:
    options = arguments()
    every = itertools.chain(by_exchange.cases(), cm_cases.cases())
    wanted = [case for case in every if re.search(options.filter, case.name)]
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
    # The guest must be stopped even if the runner is terminated.
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
