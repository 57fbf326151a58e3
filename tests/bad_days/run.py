#!/usr/bin/python3
"""Bad days: processes that are killed, stopped or starved, machines that lack something, hostile peers. One
line for each case, then `N passed, N failed`."""
import argparse
import fcntl
import os
import pathlib
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True  # the tree may belong to another user

import addresses  # noqa: E402
import connections  # noqa: E402
import deaths  # noqa: E402
import hostile  # noqa: E402
import lives  # noqa: E402
import machine  # noqa: E402
import memory  # noqa: E402
import place as places  # noqa: E402
import shaped  # noqa: E402
import worlds  # noqa: E402
from runner import pattern, run_one  # noqa: E402

MODULES = (addresses, connections, deaths, lives, machine, hostile, shaped, worlds, memory)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test bad-days', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER', type=pattern,
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--seed', type=int, default=1, metavar='N', help='seed of the random moments; default: 1')
    parser.add_argument('--worlds', type=at_least_two, default=2000, metavar='N',
                        help='how many random worlds, half of them over each transport; default: 2000; '
                             'NERVE_SEED=n in the environment replays the n-th')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--keep-logs', action='store_true', help='keep the logs of cases that passed too')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def at_least_two(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 2 on: half of them run over each transport")
    return int(text)


def main() -> int:
    options = arguments()
    wanted = [(name, case) for module in MODULES for name, case in module.cases() if re.search(options.filter, name)]
    seed = os.environ.get('NERVE_SEED', '1')
    if not wanted or not seed.isdecimal():
        problem = f"NERVE_SEED='{seed}' is not a number" if wanted else f"no case matches '{options.filter}'; --list shows them"
        print(f'nerve: bad-days: {problem}', file=sys.stderr)
        return 2
    if options.list:
        print(*(name for name, _ in wanted), sep='\n')
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the programs are ended
    lock = open(options.build / 'bad_days.lock', 'w', encoding='utf-8')  # pylint: disable=consider-using-with
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print('nerve: bad-days: another run in this tree is under way; its logs would be lost', file=sys.stderr)
        return 1
    place = places.enter(options.build.resolve(), options.seed, options.worlds)
    try:
        verdicts = [run_one(name, case, place, options.keep_logs) for name, case in wanted]
    finally:
        for program in place.started:
            program.kill()
        shutil.rmtree(place.scratch, ignore_errors=True)
    skipped = f', {verdicts.count("skip")} skipped' if 'skip' in verdicts else ''
    print(f'{verdicts.count("ok")} passed, {verdicts.count("FAIL")} failed{skipped}')
    return 0 if 'FAIL' not in verdicts and 'ok' in verdicts else 1


if __name__ == '__main__':
    sys.exit(main())
