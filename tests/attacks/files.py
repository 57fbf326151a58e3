"""Files that others wrote."""
import os
import subprocess
import sys

from place import Place, Trouble
from victims import IDLE


def run(place: Place, command, **environment) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=place.environment('shm') | environment, capture_output=True, text=True,
                          timeout=60, check=False, cwd='/', **place.as_user())


def dots(place: Place) -> str:
    """Each dot nests a table in another."""
    file = place.scratch / 'dots.toml'
    file.write_text('a' + '.a' * 500_000 + ' = 1\n')
    done = run(place, [sys.executable, '-c', IDLE.replace('time.sleep(120)', '')], NERVE_CONFIG=str(file))
    if done.returncode != 0 or 'open' not in done.stdout:
        raise Trouble(f'exit status {done.returncode}: {done.stderr!r}')
    return repr(done.stderr.strip())


def endless(place: Place) -> str:
    link = place.scratch / 'endless.pcap'
    link.symlink_to('/dev/zero')
    try:
        done = run(place, ['/usr/bin/prlimit', f'--as={2 << 30}', place.program('nerve'), 'decode', str(link)])
    finally:
        os.unlink(link)
    if done.returncode != 1 or 'it is a device' not in done.stderr:
        raise Trouble(f'exit status {done.returncode}: {done.stderr!r}')
    return repr(done.stderr.strip())


def cases():
    yield 'configuration with 500 000 dots', dots
    yield 'capture without end', endless
