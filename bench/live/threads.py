#!/usr/bin/python3
"""Threads of one process: the rate of N threads, for N up to the number of CPUs, compared with UCX and TCP.

    ./nerve bench threads [--quick] [--threads 1,2,4] [--only REGEX] [--repeat N] [--json FILE]

Each row is a shape; bench/live/threads.cc describes them. Every figure is measured several times, in turns, and the best
one is shown. `workers` and `churn` have more than N threads: workers has as many pollers as submitters, churn has one
additional thread that registers memory and creates QPs.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import sys
import time

SHAPES = 'own', 'contexts', 'shared_cq', 'srq', 'workers'
SIZES = {8: '8 B', 65536: '64 KB'}


def main() -> int:
    args = arguments()
    rows = [row for row in all_rows(args) if re.search(args.only, row.name)]
    if not rows:
        print(f"bench threads: no row matches '{args.only}'", file=sys.stderr)
        return 2
    best = {}
    failures = {}
    total = args.repeat * sum(len(row.counts(args.threads)) for row in rows)
    done = 0
    for _ in range(args.repeat):
        for row in rows:
            for count in row.counts(args.threads):
                done += 1
                progress(f'{done} of {total}: {row.name}, {count}')
                try:
                    value = row.measure(count)
                except (OSError, ValueError, subprocess.SubprocessError) as error:
                    failures[row.name, count] = str(error)
                    continue
                better = max if row.more_is_better else min
                key = row.name, count
                best[key] = better(best.get(key, value), value)
    progress('')
    print_table(args, rows, best)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(as_json(args, rows, best), indent=1) + '\n', encoding='utf-8')
    for (name, count), why in failures.items():
        print(f'bench threads: {name}, {count} threads: {why}', file=sys.stderr)
    return 1 if failures else 0


def arguments() -> argparse.Namespace:
    processors = len(os.sched_getaffinity(0))
    powers = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= processors]
    parser = argparse.ArgumentParser(prog='./nerve bench threads', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument('build', type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument('--quick', action='store_true', help='each figure once, with shorter runs')
    parser.add_argument('--threads', type=numbers, default=powers, help=f'numbers of threads; default {commas(powers)}')
    parser.add_argument('--only', type=pattern, default='', help='only rows that match this regular expression')
    parser.add_argument('--repeat', type=positive, help='runs per figure; default 3, with --quick 1')
    parser.add_argument('--json', help='write the figures to this file')
    args = parser.parse_args()
    args.repeat = args.repeat or (1 if args.quick else 3)
    args.seconds = 0.4 if args.quick else 1.5
    return args


def numbers(text: str) -> list:
    return [positive(word) for word in text.split(',')]


def positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 512:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 512")
    return int(text)


def pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from error
    return text


def commas(values: list) -> str:
    return ','.join(map(str, values))


class Row:
    """One line of the table."""
    more_is_better = True

    def __init__(self, name: str, unit: str, measure):
        self.name, self.unit, self.measure = name, unit, measure

    @staticmethod
    def counts(threads: list) -> list:
        return threads


class Pause(Row):
    more_is_better = False

    @staticmethod
    def counts(threads: list) -> list:
        return threads[:1]


def all_rows(args: argparse.Namespace):
    for transport in 'shm', 'udp':
        for size, size_name in SIZES.items():
            unit, scale = ('M/s', 1e-6) if size == 8 else ('GB/s', size * 1e-9)
            for shape in SHAPES:
                yield Row(f'{shape} {size_name}, {transport}', unit,
                          lambda n, shape=shape, size=size, scale=scale, transport=transport:
                          scale * ours(args, transport, shape, n, size))
            if transport == 'shm' and shutil.which('ucx_perftest'):
                yield Row(f'UCX tag {size_name}, posix and cma', unit,
                          lambda n, size=size, scale=scale: scale * ucx(args, n, size))
        yield Pause(f'longest call beside churn, {transport}', 'us',
                    lambda n, transport=transport: ours(args, transport, 'churn', n, 8))
    if shutil.which('iperf3'):
        yield Row('iperf3 TCP streams, 64 KB', 'GB/s', lambda n: iperf3(args, n))


def ours(args: argparse.Namespace, transport: str, shape: str, threads: int, size: int) -> float:
    env = {name: value for name, value in os.environ.items() if not name.startswith('NERVE_')}
    env |= {'LD_LIBRARY_PATH': str(args.build / 'lib'), 'NERVE_TRANSPORT': transport, 'NERVE_DEVICES': 'nerve0=lo'}
    return float(run([args.build / 'bench/live/nerve_live_threads', shape, threads, size, args.seconds], env).split()[1])


def ucx(args: argparse.Namespace, threads: int, size: int) -> float:
    """Messages per second of all threads together; with -T each has its own worker."""
    env = os.environ | {'UCX_TLS': 'posix,cma,self', 'UCX_WARN_UNUSED_ENV_VARS': 'n'}
    rate = 3e6 if size == 8 else 6e4  # roughly the messages per second of one thread
    port = free_port()
    common = ['ucx_perftest', '-p', port, '-T', threads]
    with started(common, env):
        time.sleep(0.5)
        text = run([*common, '127.0.0.1', '-t', 'tag_bw', '-s', size, '-n', int(rate * args.seconds), '-f'], env)
    figures = text.split()
    if not figures or not figures[-1].isdecimal():
        raise ValueError('no figure in: ' + text.strip()[-200:])
    return float(figures[-1])


def iperf3(args: argparse.Namespace, streams: int) -> float:
    port = free_port()
    with started(['iperf3', '-s', '-1', '-p', port], os.environ):
        time.sleep(0.3)
        text = run(['iperf3', '-c', '127.0.0.1', '-p', port, '-P', streams, '-t', max(1, round(args.seconds)), '-l', '64K',
                    '-J'], os.environ)
    return json.loads(text)['end']['sum_received']['bits_per_second'] / 8e9


class started:
    """A program that runs during the with block."""
    def __init__(self, command: list, env: dict):
        self.command, self.env = [str(word) for word in command], env

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(command: list, env: dict) -> str:
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise ValueError(f'exit code {done.returncode}: {done.stderr.strip()[-200:]}')
    return done.stdout


def free_port() -> int:
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)


def print_table(args: argparse.Namespace, rows: list, best: dict) -> None:
    print(f'{platform.machine()}, {len(os.sched_getaffinity(0))} processors, Linux {platform.release()}; '
          f'best of {args.repeat}; in brackets the ratio to one thread\n')
    print('| threads | ' + ' | '.join(map(str, args.threads)) + ' |')
    print('|---|' + '---|' * len(args.threads))
    for row in rows:
        cells = []
        one = best.get((row.name, 1))
        for count in args.threads:
            value = best.get((row.name, count))
            if value is None:
                cells.append('failed' if count in row.counts(args.threads) else '')
                continue
            ratio = f' ({value / one:.2f})' if one and count > 1 else ''
            cells.append(f'{value:.3g} {row.unit}{ratio}')
        print(f'| {row.name} | ' + ' | '.join(cells) + ' |')


def as_json(args: argparse.Namespace, rows: list, best: dict) -> dict:
    return {'architecture': platform.machine(), 'processors': len(os.sched_getaffinity(0)), 'repeat': args.repeat,
            'rows': [{'name': row.name, 'unit': row.unit,
                      'best': {str(n): best[row.name, n] for n in args.threads if (row.name, n) in best}} for row in rows]}


if __name__ == '__main__':
    sys.exit(main())
