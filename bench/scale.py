#!/usr/bin/python3
"""The speed of the simulator with 1, 2, 4, ... threads, and how many times that of one thread it is.

    ./nerve bench scale [--largest HOSTS] [--cores 1,2,4] [--repeat N] [--json FILE]

Each line is the best of N runs (3) of nerve_sim_bench; the numbers of threads take turns.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys


def powers_of_two(most: int) -> list:
    cores = [1]
    while cores[-1] * 2 <= most:
        cores.append(cores[-1] * 2)
    return cores if cores[-1] == most else [*cores, most]


def numbers(text: str) -> list:
    try:
        cores = sorted({int(one) for one in text.split(',')})
    except ValueError:
        cores = []
    if not cores or cores[0] < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers above zero such as 1,2,4")
    return cores if cores[0] == 1 else [1, *cores]


def above_zero(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above zero")
    return int(text)


def measure(program: pathlib.Path, largest: int, cores: int) -> dict:
    """Thousands of packets per second and megabytes, by workload and hosts."""
    done = subprocess.run([program, '--largest', str(largest), '--cores', str(cores)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{program.name} --cores {cores} failed: {done.stdout}{done.stderr}')
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 12 and words[1].isdecimal():
            found[words[0], int(words[1])] = float(words[6]), float(words[11])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog='./nerve bench scale', description=__doc__.splitlines()[0])
    parser.add_argument('--largest', type=above_zero, default=8192, metavar='HOSTS')
    parser.add_argument('--cores', type=numbers, default=powers_of_two(len(os.sched_getaffinity(0))),
                        metavar='1,2,4', help='default: powers of two up to the number of CPUs')
    parser.add_argument('--repeat', type=above_zero, default=3, metavar='N', help='the best of N runs (3)')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE')
    program = pathlib.Path(sys.argv[1]) / 'bench/nerve_sim_bench'
    options = parser.parse_args(sys.argv[2:])

    best = {}
    for _ in range(options.repeat):
        for cores in options.cores:
            for what, (rate, memory) in measure(program, options.largest, cores).items():
                best[what, cores] = max(best.get((what, cores), (0, 0)), (rate, memory))
    print(f"{'workload':12} {'hosts':>6} {'cores':>6} {'k pk/s':>8} {'x one':>6} {'MB':>6}")
    rows = []
    for (what, cores), (rate, memory) in sorted(best.items()):
        times = rate / best[what, 1][0]
        rows.append({'workload': what[0], 'hosts': what[1], 'cores': cores, 'packets_per_second': rate * 1e3,
                     'times_one_core': times, 'megabytes': memory})
        print(f'{what[0]:12} {what[1]:6} {cores:6} {rate:8.0f} {times:6.2f} {memory:6.0f}')
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
