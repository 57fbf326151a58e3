"""What both commands share in checking their input and printing their results."""
from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import sys
from typing import Any, Callable

import launch

Refuse = Callable[[str], None]


def add_output_options(parser: argparse.ArgumentParser, simulated: str) -> None:
    """The options of both jobs that say where results go."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page with charts")
    parser.add_argument("--scenario", metavar="FILE", help="write the job as a fabric scenario")
    parser.add_argument("--predict", type=int, metavar="N",
                        help=f"simulate the {simulated} on N ranks of a fabric: 4096")


def check_transports(text: str, refuse: Refuse, known: tuple = launch.TRANSPORTS) -> None:
    for name in text.split(","):
        if name not in known:
            refuse(f"--transport {text}: no transport '{name}'; choose from {','.join(known)}")
    if len(set(text.split(","))) != len(text.split(",")):
        refuse(f"--transport {text}: name each transport once")


def check_loss(text: str, refuse: Refuse) -> None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if not found:
        refuse(f"--loss {text}: write a percentage, as in 1%")
    if not 0 < float(found[1]) <= 20:
        refuse(f"--loss {text}: use more than 0% and at most 20%")


def check_predict(ranks: int | None, refuse: Refuse) -> None:
    if ranks is not None and not 2 <= ranks <= 65536:
        refuse(f"--predict {ranks}: use 2 to 65536 ranks")


def check_files(names: list[str | None], refuse: Refuse) -> None:
    """Before minutes of work, not after."""
    for name in filter(None, names):
        try:
            with open(name, "a"):
                pass
        except OSError as error:
            refuse(f"cannot write {name}: {error.strerror}")


def parameters(shape: dict[str, int]) -> int:
    """As Shape.parameters(), without importing torch."""
    hidden = shape["hidden"]
    return (shape["vocabulary"] + shape["positions"]) * hidden \
        + shape["layers"] * (12 * hidden * hidden + 13 * hidden) + 2 * hidden


def free_memory() -> float:
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return float("inf")


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}"


def command(name: str) -> str:
    return shlex.join(["./nerve", "ai", name, *sys.argv[1:]])


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 10:
        return f"{value:.1f} s"
    if value >= 1:
        return f"{value:.2f} s"
    if value >= 0.1:
        return f"{value * 1e3:.0f} ms"
    return f"{value * 1e3:.2f} ms" if value >= 1e-4 else f"{value * 1e6:.0f} us"


def table(rows: list[list[str]]) -> list[str]:
    """Columns, the first one aligned to the left."""
    columns = max(map(len, rows))
    width = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(columns)]
    return ["  ".join(cell.ljust(width[i]) if i == 0 else cell.rjust(width[i])
                      for i, cell in enumerate(row)).rstrip() for row in rows]


def check_lines(checks: list[dict[str, Any]]) -> list[str]:
    bad = [check for check in checks if not check["passed"]]
    lines = [f"{'ok  ' if check['passed'] else 'FAIL'} {check['text']}" for check in checks]
    return lines + [f"{len(checks) - len(bad)} checks passed, {len(bad)} failed"]


def percentile(values: list[float], share: float) -> float:
    """The nearest rank, so that it is a value that occurred."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1)] if ordered else 0.0


def run_main(main: Callable[[], int], name: str) -> None:
    try:
        status = main()
    except launch.Failed as error:
        print(f"nerve ai {name}: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print(f"nerve ai {name}: interrupted", file=sys.stderr)
        status = 130
    except OSError as error:
        print(f"nerve ai {name}: {error}", file=sys.stderr)
        status = 1
    sys.exit(status)
