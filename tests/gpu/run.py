#!/usr/bin/env python3
"""Runs what needs an NVIDIA GPU: WRITEs between two processes from and to its memory, over both
transports, and, where PyTorch with CUDA is installed, NCCL with GPUDirect. One line for each case,
then `N passed, N failed`. Exit status 2 if there is no GPU."""
import argparse
import ctypes
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
NERVE = str(BUILD / "src/cli/nerve")
RANKS = (2, 4)
SECONDS = 120


def run(*words):
    """The output of a command; raises RuntimeError if it fails."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {SECONDS} s") from None
    text = done.stdout + done.stderr
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {text[-1500:]}")
    return text


def two_programs(transport):
    text = run(NERVE, "run", "--summary", "--transport", transport, "--",
               BUILD / "bench/live/nerve_live_gpu", "--quick")
    expected = "GPU to GPU" if transport == "shm" else "received (staged)"
    if expected not in text:
        raise RuntimeError(f"'{expected}' is not in its summary: {text[-1500:]}")


def nccl(example, ranks, net):
    words = [sys.executable, ROOT / f"examples/nccl/{example}.py", "--ranks", ranks, "--net", net]
    if net == "ib":
        words = [NERVE, "run", "--gpu-direct", "--device", "nerve0=lo", "--", *words]
    return run(*words)


def collectives(ranks):
    if "correct" not in nccl("collectives", ranks, "ib"):
        raise RuntimeError("it does not say that results are correct")


def training(ranks):
    def result(text):
        return re.search(r"loss \S+, weights \S+", text)[0]
    ours, sockets = (result(nccl("train", ranks, net)) for net in ("ib", "socket"))
    if ours != sockets:
        raise RuntimeError(f"{ours}, over sockets {sockets}")


def has_torch():
    look = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"],
                          capture_output=True, check=False)
    return look.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filter", nargs="?", default="", help="a regular expression for names")
    wanted = parser.parse_args().filter
    try:
        count = ctypes.c_int()
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
            raise OSError("it finds no GPU")
    except OSError as problem:
        print(f"test gpu: no CUDA driver with a GPU here: {problem}", file=sys.stderr)
        return 2
    cases = {f"two programs: {transport}": lambda transport=transport: two_programs(transport)
             for transport in ("shm", "udp")}
    for ranks in RANKS:
        cases[f"nccl: collectives of {ranks} ranks"] = lambda ranks=ranks: collectives(ranks)
        cases[f"nccl: training with {ranks} ranks"] = lambda ranks=ranks: training(ranks)
    cases = {name: case for name, case in cases.items() if re.search(wanted, name)}
    if not cases:
        print(f"test gpu: no case matches '{wanted}'", file=sys.stderr)
        return 2
    if any(name.startswith("nccl") for name in cases) and not has_torch():
        print("skipped: NCCL, because there is no PyTorch with CUDA")
        cases = {name: case for name, case in cases.items() if not name.startswith("nccl")}
    passed = failed = 0
    for name, case in cases.items():
        try:
            case()
            passed += 1
            print(f"ok      {name}", flush=True)
        except RuntimeError as problem:
            failed += 1
            print(f"FAILED  {name}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
