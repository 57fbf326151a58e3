#!/usr/bin/env python3
"""Runs what needs an NVIDIA GPU: WRITEs between two processes from and to its memory, over both
transports, and, where PyTorch with CUDA is installed, NCCL with GPUDirect and Nerve's own backend
of torch.distributed. One line for each case, then `N passed, N failed`. Exit status 2 if there is
no GPU."""
import argparse
import ctypes
import os
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
    expected = "GPU to GPU" if transport == "shm" else "received (staged)"
    # Copies that had to wait for the GPU are avoided for a while: on a busy machine all of a run.
    for _ in range(5):
        text = run(NERVE, "run", "--summary", "--transport", transport, "--",
                   BUILD / "bench/live/nerve_live_gpu", "--quick")
        if expected in text:
            return
    raise RuntimeError(f"'{expected}' is not in its summary: {text[-1500:]}")


def torch_ranks(example, ranks, net):
    words = [sys.executable, ROOT / f"examples/nccl/{example}.py", "--ranks", ranks, "--net", net]
    if net != "socket":
        words = [NERVE, "run", "--gpu-direct", "--device", "nerve0=lo", "--", *words]
    return run(*words)


def collectives(ranks, net):
    if "correct" not in torch_ranks("collectives", ranks, net):
        raise RuntimeError("it does not say that results are correct")


def training(ranks, net):
    def result(text):
        return re.search(r"loss (\S+), weights ([0-9.]+)", text)
    ours, nccl = (result(torch_ranks("train", ranks, by)) for by in (net, "socket"))
    # The tensor library adds in the order of ranks, and NCCL in another one.
    close = net == "nerve" and all(abs(float(a) / float(b) - 1) < 1e-4
                                   for a, b in zip(ours.groups(), nccl.groups()))
    if ours[0] != nccl[0] and not close:
        raise RuntimeError(f"{ours[0]}; NCCL over sockets: {nccl[0]}")


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
        for name, net in (("nccl", "ib"), ("torch", "nerve")):
            cases[f"{name}: collectives of {ranks} ranks"] = (
                lambda ranks=ranks, net=net: collectives(ranks, net))
            cases[f"{name}: training with {ranks} ranks"] = (
                lambda ranks=ranks, net=net: training(ranks, net))
    cases = {name: case for name, case in cases.items() if re.search(wanted, name)}
    if not cases:
        print(f"test gpu: no case matches '{wanted}'", file=sys.stderr)
        return 2
    needs_torch = [name for name in cases if not name.startswith("two programs")]
    if needs_torch and not has_torch():
        print("skipped: NCCL and the torch backend, because there is no PyTorch with CUDA")
        for name in needs_torch:
            del cases[name]
    os.environ["PYTHONPATH"] = f"{BUILD}/python:{os.environ.get('PYTHONPATH', '')}"
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
