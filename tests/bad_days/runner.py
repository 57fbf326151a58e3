"""Runs one case and prints its line."""
import argparse
import re
import time

import place as places


def pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from error
    return text


def run_one(name: str, case, place: places.Place, keep_logs: bool) -> str:
    before = time.monotonic()
    try:
        remark = case(place) or ''
        verdict, line = 'ok', f'ok   {name}' + (f': {remark}' if remark else '')
    except places.Skip as reason:
        verdict, line = 'skip', f'skip {name}: {reason}'
    except places.Trouble as reason:
        verdict, line = 'FAIL', f'FAIL {name}: {reason}; seed {place.seed}'
    for program in place.started:
        program.kill()
        if verdict != 'FAIL' and not keep_logs:
            for file in (program.out, program.err):
                file.unlink(missing_ok=True)
    place.started.clear()
    print(f'{line} ({time.monotonic() - before:.1f} s)', flush=True)
    return verdict
