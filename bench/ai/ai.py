#!/usr/bin/env python3
"""All-reduce of 1 KB to 64 MB with several ranks on this machine: the tensor library over Nerve's
shared memory, over UDP and over TCP, compared with Gloo over ibverbs on Nerve, Gloo over TCP and
Open MPI over shared memory. Prints microseconds per call (the mean of the fastest of five batches, of
the slowest rank), and how many times as fast ours over shm is as each of the others."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SIZES = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26]
RANKS = [2, 4, 8]
COMPARED = ("gloo ibverbs", "gloo tcp", "open mpi")


def arguments():
    parser = argparse.ArgumentParser(prog="./nerve bench ai", description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="2 and 4 ranks, up to 1 MB")
    parser.add_argument("--ranks", help="numbers of ranks, as in 2,4,8")
    parser.add_argument("--sizes", help="bytes, as in 1024,65536")
    parser.add_argument("--milliseconds", type=int, default=500, help="for each size (500)")
    parser.add_argument("--json", metavar="FILE", help="write the times there as well")
    return parser.parse_args()


def run_ranks(commands, timeout):
    """The output of the first of these commands, which run together; what went wrong otherwise."""
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for command in commands]
    try:
        outputs = [process.communicate(timeout=timeout) for process in processes]
    except subprocess.TimeoutExpired:
        return "", "it took too long"
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs):
        if process.returncode != 0:
            return "", (errors.strip().splitlines() or [f"status {process.returncode}"])[-1]
    return outputs[0][0], None


def programs(build, ranks, milliseconds, sizes):
    """Name -> a function that takes a new folder and returns the commands of all ranks."""
    folder, nerve = build / "bench/ai", [str(build / "src/cli/nerve"), "run"]
    tail = [str(milliseconds), *map(str, sizes)]

    def each(before, after):
        return lambda place: [[*before, str(rank), str(ranks), place, *after, *tail]
                              for rank in range(ranks)]
    ours, gloo = str(folder / "nerve_ai_ours"), str(folder / "nerve_ai_gloo")
    yield "ours shm", each([*nerve, "--transport", "shm", "--", ours, "rdma"], ["auto"])
    yield "ours udp", each([*nerve, "--transport", "udp", "--", ours, "rdma"], ["auto"])
    yield "ours tcp", each([ours, "tcp"], ["auto"])
    if (folder / "nerve_ai_gloo").exists():
        yield "gloo ibverbs", each([*nerve, "--", gloo, "ibverbs", "nerve0"], [])
        yield "gloo tcp", each([gloo, "tcp", "lo"], [])
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if mpirun and (folder / "nerve_ai_mpi").exists():
        yield "open mpi", lambda _: [[mpirun, "--allow-run-as-root", "--oversubscribe", "--mca", "pml",
                                      "ob1", "--mca", "btl", "self,vader", "-n", str(ranks),
                                      str(folder / "nerve_ai_mpi"), *tail]]


def measure(commands, timeout):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "ranks"
        place.mkdir()
        output, trouble = run_ranks(commands(str(place)), timeout)
    if trouble:
        return {}, trouble
    return {int(size): float(us) for size, us in map(str.split, output.splitlines())}, None


def size_text(size):
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"


def print_table(ranks, sizes, times):
    names = list(times)
    others = [name for name in COMPARED if name in times]
    print(f"\n| {ranks} ranks, us | " + " | ".join(names) + " | "
          + " | ".join(f"{name} / ours" for name in others) + " |")
    print("|---" + "|---:" * (len(names) + len(others)) + "|")
    for size in sizes:
        row = [f"{times[name][size]:.1f}" if size in times[name] else "" for name in names]
        ours = times["ours shm"].get(size)
        row += [f"{times[name][size] / ours:.2f}" if ours and size in times[name] else ""
                for name in others]
        print(f"| {size_text(size)} | " + " | ".join(row) + " |", flush=True)


def main():
    options = arguments()
    sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else \
        [size for size in SIZES if size <= 1 << 20 or not options.quick]
    all_ranks = [int(ranks) for ranks in options.ranks.split(",")] if options.ranks else \
        [ranks for ranks in RANKS if ranks < 8 or not options.quick]
    results = []
    for ranks in all_ranks:
        times = {}
        for name, commands in programs(options.build, ranks, options.milliseconds, sizes):
            timeout = 60 + len(sizes) * (5 + options.milliseconds / 100)
            times[name], trouble = measure(commands, timeout)
            if trouble:
                print(f"nerve bench ai: {name}, {ranks} ranks: {trouble}", file=sys.stderr)
        print_table(ranks, sizes, times)
        results += [{"ranks": ranks, "name": name, "bytes": size, "us": us}
                    for name, one in times.items() for size, us in one.items()]
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
