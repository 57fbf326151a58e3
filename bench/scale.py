#!/usr/bin/python3
"""The speed of the simulator with 1, 2, 4, ... threads, and how many times that of one thread it is.

    ./nerve bench scale [--largest HOSTS] [--cores 1,2,4] [--repeat N] [--json FILE]
    ./nerve bench scale --ranks 1,2,4 [--largest HOSTS] [--repeat N] [--json FILE]

Each line is the best of N runs (3) of nerve_sim_bench; the numbers of threads take turns. With --ranks,
of a permutation by `mpirun nerve sim` with so many ranks of one thread; all must have the same hash.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


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


SCENARIO = """seed = 1
[servers]
count = {hosts}
gpus = 1
[fabric]
topology = "fat-tree"
nic_rate = "400 Gb/s"
[nic]
congestion = "dcqcn"
[[job]]
kind = "permutation"
size = "1 MB"
"""


def run_ranks(program: pathlib.Path, folder: pathlib.Path, ranks: int) -> dict:
    """The result of the scenario in this folder."""
    words = [str(program), 'sim', 'permutation.toml', '--cores', '1', '--quiet', '--anyway', '--out', 'out']
    if ranks > 1:
        mpirun = shutil.which('mpirun.openmpi') or shutil.which('mpirun')
        if mpirun is None:
            sys.exit('bench scale: there is no mpirun; install openmpi-bin and libopenmpi-dev')
        words = [mpirun, '--oversubscribe', '-n', str(ranks), *words]
    allowed = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    done = subprocess.run(words, cwd=folder, env={**os.environ, **allowed}, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f'bench scale: {" ".join(words)} failed: {done.stdout}{done.stderr}')
    return json.loads((folder / 'out/result.json').read_text(encoding='utf-8'))


def compare_ranks(program: pathlib.Path, options: argparse.Namespace) -> list:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'permutation.toml').write_text(SCENARIO.format(hosts=options.largest), encoding='utf-8')
        best = {}
        hashes = set()
        for _ in range(options.repeat):
            for ranks in options.ranks:
                result = run_ranks(program, folder, ranks)
                hashes.add(result['hash'])
                rate = result['totals']['data_packets'] / result['wall_seconds'] / 1e3
                best[ranks] = max(best.get(ranks, (0, 0)), (rate, result['memory_bytes'] / 1e6))
        if len(hashes) != 1:
            sys.exit(f'bench scale: the results differ: {hashes}')
    print(f"{'workload':12} {'hosts':>6} {'ranks':>6} {'k pk/s':>8} {'x one':>6} {'MB all':>6}")
    for ranks, (rate, memory) in sorted(best.items()):
        times = rate / best[1][0]
        rows.append({'workload': 'permutation', 'hosts': options.largest, 'ranks': ranks,
                     'packets_per_second': rate * 1e3, 'times_one_rank': times, 'megabytes': memory})
        print(f"{'permutation':12} {options.largest:6} {ranks:6} {rate:8.0f} {times:6.2f} {memory:6.0f}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog='./nerve bench scale', description=__doc__.splitlines()[0])
    parser.add_argument('--largest', type=above_zero, default=8192, metavar='HOSTS')
    parser.add_argument('--cores', type=numbers, default=powers_of_two(len(os.sched_getaffinity(0))),
                        metavar='1,2,4', help='default: powers of two up to the number of CPUs')
    parser.add_argument('--ranks', type=numbers, metavar='1,2,4', help='with MPI, in place of threads')
    parser.add_argument('--repeat', type=above_zero, default=3, metavar='N', help='the best of N runs (3)')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE')
    program = pathlib.Path(sys.argv[1]) / 'bench/nerve_sim_bench'
    options = parser.parse_args(sys.argv[2:])

    if options.ranks:
        rows = compare_ranks(pathlib.Path(sys.argv[1]).resolve() / 'src/cli/nerve-sim', options)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + '\n', encoding='utf-8')
        return
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
