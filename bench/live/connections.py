#!/usr/bin/python3
"""Connections per second: `cmtime` over shared memory and over UDP, and as many TCP connections for comparison, in turns.
cmtime reports the time of each step; all connections complete a step before the next one begins.

    ./nerve bench connections [COUNT]
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

ROUNDS = 3


def cmtime(library: pathlib.Path, transport: str, count: int) -> dict:
    """Microseconds per connection, by step."""
    env = os.environ | {'LD_LIBRARY_PATH': str(library), 'LD_PRELOAD': str(library / 'libnerve-preload.so'),
                        'NERVE_TRANSPORT': transport, 'NERVE_DEVICES': 'nerve0=lo'}
    command = ['cmtime', '-p', str(free_port())]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as server:
        try:
            time.sleep(1)  # the listening server gives no sign of being ready
            client = subprocess.run([*command, '-s', '127.0.0.1', '-c', str(count)], env=env, timeout=60,
                                    capture_output=True, text=True, check=True)
        finally:
            server.kill()
    return {step: float(each) for step, each in re.findall(r'^(\w[\w ]*\w) *:(?: +[0-9.]+){3} +([0-9.]+)$', client.stdout,
                                                           re.MULTILINE)}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def tcp(programs: pathlib.Path, count: int) -> float:
    ends = sorted(os.sched_getaffinity(0))
    done = subprocess.run([programs / 'nerve_live_baseline', str(ends[0]), str(ends[-1]), 'tcp', str(count)],
                          capture_output=True, text=True, check=True)
    return float(done.stdout.split()[1])


def main(build: pathlib.Path, count: int) -> None:
    best = {}

    def take(name: str, each: float, steps: str = '') -> None:
        if name not in best or each < best[name][0]:
            best[name] = each, steps

    for _ in range(ROUNDS):
        for transport in 'shm', 'udp':
            steps = cmtime(build / 'lib', transport, count)
            take(f'cmtime, {transport}', sum(steps.values()),
                 ', '.join(f'{step} {each:.1f}' for step, each in steps.items()))
        take('TCP', tcp(build / 'bench/live', count))
    print(f'{count} connections, best of {ROUNDS}; us per connection, all steps')
    for name, (each, steps) in best.items():
        print(f'{name:<12} {each:8.1f} us {1e6 / each:9.0f} connections/s  {steps}')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
