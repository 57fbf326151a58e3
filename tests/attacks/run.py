#!/usr/bin/python3
"""Attacks: other users of the machine, forged packets, floods, files that others wrote. One line for each case,
then `N passed, N failed`. Most need root, to be two users; they are skipped otherwise."""
import argparse
import fcntl
import pathlib
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True  # the tree may belong to another user
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / 'bad_days'))

import files  # noqa: E402
import packets  # noqa: E402
import place as places  # noqa: E402
import strangers  # noqa: E402
from runner import pattern, run_one  # noqa: E402

MODULES = (strangers, packets, files)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test attacks', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER', type=pattern,
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--keep-logs', action='store_true', help='keep the logs of cases that passed too')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    wanted = [(name, case) for module in MODULES for name, case in module.cases() if re.search(options.filter, name)]
    if not wanted:
        print(f"nerve: attacks: no case matches '{options.filter}'; --list shows them", file=sys.stderr)
        return 2
    if options.list:
        print(*(name for name, _ in wanted), sep='\n')
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the programs are ended
    with open(options.build / 'bad_days.lock', 'w', encoding='utf-8') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print('nerve: attacks: another run in this tree is under way; its logs would be lost', file=sys.stderr)
            return 1
        place = places.enter(options.build.resolve(), 1, 2)
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
