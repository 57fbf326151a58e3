"""Random programs of two processes that use the library, with seeded faults, compared with a model: `nerve_verbs_worlds`.
docs/bad-days.md describes them."""
import os
import re

from peers import Program
from place import Place, Trouble

MISTAKES = ('byte', 'stale', 'lost', 'twice', 'order', 'event')
JOBS = 4          # pairs of processes at a time: most of them wait for timers
REPEATS = 20      # of one world: the outcome depends on timing as well as on the seed
_FAILED = re.compile(r'^world (\d+) side \d .*', re.M)


def run(place: Place, transport: str, seconds: float, **settings) -> Program:
    command = [place.program('nerve_verbs_worlds'), *(f'{name}={value}' for name, value in settings.items())]
    program = Program(place, command, place.environment(transport), f'worlds-{transport}')
    program.wait(seconds)
    return program


def expect_right(program: Program, transport: str) -> str:
    if program.process.returncode == 0:
        return program.text().strip().splitlines()[-1]
    failed = _FAILED.search(program.text())
    if not failed:
        raise Trouble(f'exit status {program.process.returncode}: {program.errors()[-300:]!r}; {program.log}.*')
    raise Trouble(f'{failed[0]}; replay: NERVE_SEED={failed[1]} ./nerve test bad-days "worlds, {transport}"; {program.log}.*')


def worlds(place: Place, transport: str) -> str:
    if 'NERVE_SEED' in os.environ:
        seed = int(os.environ['NERVE_SEED'])
        for _ in range(REPEATS):
            remark = expect_right(run(place, transport, 120, first=seed, last=seed), transport)
        return f'world {seed}, {REPEATS} times: {remark}'
    count = place.worlds // 2
    return expect_right(run(place, transport, 120 + count / 5, first=1, last=count, jobs=JOBS), transport)


def mistakes(place: Place) -> str:
    """The test program makes a mistake in place of the library; the model must detect it."""
    found = []
    for mistake in MISTAKES:
        program = run(place, 'shm', 120, first=1, last=200, jobs=1, mistake=mistake, patience_ms=2000)
        failed = _FAILED.search(program.text())
        if program.process.returncode != 1 or not failed:
            raise Trouble(f'mistake {mistake} was not noticed: {program.log}.*')
        found.append(f'{mistake} in world {failed[1]}')
    return ', '.join(found)


def cases():
    for transport in ('shm', 'udp'):
        yield f'random worlds, {transport}', lambda p, t=transport: worlds(p, t)
    yield 'random worlds notice mistakes', mistakes
