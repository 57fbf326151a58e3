#!/usr/bin/env python3
"""The determinism matrix: the hash of each scenario's result in every build, with every number of cores.

Builds the simulator alone in build/hashes/: optimised, with the address and undefined-behaviour
sanitizers, with the thread sanitizer, and for arm64, which runs under qemu-user. Then it runs the
scenarios with each of them and compares the hashes. It takes from minutes to an hour.

A column of your own, for example several ranks:

    tests/hashes/run.py --with 'two ranks=mpirun -n 2 build/release/src/cli/nerve-sim sim'

runs that command with the scenario's file as its last argument, and takes the last number of 16
hexadecimal digits that it prints.
"""

import argparse
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "hashes"
HASH = re.compile(r"\b[0-9a-f]{16}\b")

# What each configures beyond the simulator alone, how many cores it is run with.
KINDS = {
    "release": (["-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG"], (1, 2, 3)),
    "asan": (["-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG", "-DNERVE_SANITIZE=address,undefined"], (1, 2)),
    "tsan": (["-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG", "-DNERVE_SANITIZE=thread"], (2,)),
    "arm64": (["-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG",
               f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/tests/hashes/arm64.cmake"], (1, 2)),
}
# Small ones that differ in what they use: collectives, links, routing, loss, TCP, flows.
SCENARIOS = ("ring", "rail-only", "algorithms", "infiniband", "irn", "flow-list", "dragonfly",
             "nic-caches", "admission")


def build(kind, jobs, tests):
    folder = BUILDS / kind
    targets = ["nerve_hash_of"] + (["nerve_test_hashes"] if tests else [])
    configure = ["cmake", "-S", ROOT, "-B", folder, "-GNinja", "-DNERVE_SIM_ONLY=ON",
                 "-DNERVE_BY_FOLDER=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *KINDS[kind][0]]
    compile_all = ["cmake", "--build", folder, f"-j{jobs}", "--target", *targets]
    for command in (configure, compile_all):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"hashes: {kind}: {shlex.join(map(str, command))} failed\n{done.stdout[-3000:]}")
    return folder / "tests" / "hashes"


def emulated(kind):
    return ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"] if kind == "arm64" else []


def hash_of(command, scenario):
    done = subprocess.run([*command, ROOT / "examples" / "scenarios" / f"{scenario}.toml"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = HASH.findall(done.stdout)
    if done.returncode != 0 or not found:
        return f"failed: {done.stderr.strip()[-200:]}"
    return found[-1]


def run_tests(kind, folder):
    began = time.monotonic()
    done = subprocess.run([*emulated(kind), folder / "nerve_test_hashes", "--gtest_brief=1"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    verdict = "pass" if done.returncode == 0 else f"FAIL\n{done.stdout[-3000:]}"
    print(f"pinned hashes and random scenarios, {kind}: {verdict}, {time.monotonic() - began:.0f} s", flush=True)
    return done.returncode == 0


def columns_of(args):
    for kind in args.builds:
        folder = build(kind, args.jobs, args.tests)
        if args.tests and not run_tests(kind, folder):
            args.failed = True
        name = kind if kind == "arm64" else f"{platform.machine()} {kind}"
        for cores in KINDS[kind][1]:
            yield (f"{name}, {cores} core{'s' if cores > 1 else ''}",
                   [*emulated(kind), folder / "nerve_hash_of", "--cores", str(cores)])
    for text in args.more:
        name, _, command = text.partition("=")
        if not command:
            sys.exit(f"hashes: --with '{text}': write NAME=COMMAND")
        yield name, shlex.split(command)


def matrix(columns, scenarios):
    rows = [["scenario", *(name for name, _ in columns)]]
    good = True
    for scenario in scenarios:
        row = [scenario]
        for _, command in columns:
            found = hash_of(command, scenario)
            same = len(row) > 1 and found == row[1]
            good &= HASH.fullmatch(found) is not None and (same or len(row) == 1)
            row.append("same" if same else found)
        rows.append(row)
        print(f"hashes: {scenario}: {' | '.join(row[1:])}", file=sys.stderr, flush=True)
    return rows, good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO",
                        help=f"of examples/scenarios; default: {' '.join(SCENARIOS)}")
    parser.add_argument("--builds", default=",".join(KINDS), metavar="LIST", help="default: %(default)s")
    parser.add_argument("--with", dest="more", action="append", default=[], metavar="NAME=COMMAND",
                        help="another column")
    parser.add_argument("--tests", action="store_true",
                        help="also build and run the tests of pinned hashes and of cores")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    args = parser.parse_args()
    args.builds = [kind for kind in args.builds.split(",") if kind]
    args.failed = False
    for kind in args.builds:
        if kind not in KINDS:
            parser.error(f"--builds {kind}: choose from {' '.join(KINDS)}")
    if platform.machine() == "aarch64" and "arm64" in args.builds:
        args.builds.remove("arm64")
    for scenario in args.scenarios:
        if not (ROOT / "examples" / "scenarios" / f"{scenario}.toml").exists():
            parser.error(f"there is no examples/scenarios/{scenario}.toml")
    rows, good = matrix(list(columns_of(args)), args.scenarios)
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|---" * len(row) + "|")
    return 0 if good and not args.failed else 1


if __name__ == "__main__":
    sys.exit(main())
