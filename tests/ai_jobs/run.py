#!/usr/bin/python3
"""Runs `ai train` and `ai infer` over all transports, with loss and with killed processes, plants
bugs that they must notice, and gives them bad input. One line for each case, then `N passed, N
failed`."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
JOBS = ROOT / "examples/ai"
sys.path.insert(0, str(JOBS))
os.environ["PYTHONPATH"] = str(HERE)  # for planted.py

import infer  # noqa: E402
import launch  # noqa: E402
import train  # noqa: E402


class Quiet:
    def show(self, _):
        pass


def command(job, *words):
    return subprocess.run([sys.executable, "-B", str(JOBS / f"{job}.py"), *words],
                          capture_output=True, text=True, timeout=300)


def succeeds(job, *words, also=lambda result: ""):
    """The command passes all its checks; `also` looks at its result and returns what is wrong."""
    def case():
        done = command(job, "--json", *words)
        if done.returncode != 0:
            return f"status {done.returncode}: {done.stdout[-600:]}{done.stderr[-1500:]}"
        return also(json.loads(done.stdout))
    return case


def refused(job, words, expected):
    """Exit status 2 and a sentence, before anything runs."""
    def case():
        done = command(job, *words.split())
        if done.returncode != 2 or expected not in done.stderr:
            return f"status {done.returncode}, wanted 2 and '{expected}': {done.stderr[-500:]}"
        return ""
    return case


def noticed(work, expected, transport="shm", **changes):
    """A planted bug in `infer` ends the run with this sentence."""
    def case():
        spec = {**infer.spec_of(infer.arguments(["--check", "--requests", "6"])), **changes}
        try:
            launch.run(f"planted:{work}", spec, transport, Quiet(), limit=60)
        except launch.Failed as error:
            return "" if expected in str(error) else f"wanted '{expected}': {error}"
        return "not noticed"
    return case


def checks_of(job, work, words, **changes):
    """What the command would check after this work."""
    module = {"train": train, "infer": infer}[job]
    spec = {**module.spec_of(module.arguments(list(words))), **changes}
    reference = "trainer:reference" if job == "train" else "server:reference"
    one = launch.run(reference, spec, "tcp", Quiet())
    result = launch.run(f"planted:{work}", spec, "shm", Quiet(), limit=60)
    run = {"name": "planted", "transport": "shm"}
    if job == "train":
        return train.checks(one, [train.summary(run, result)])
    return infer.checks(one, [{**run, **result, "mode": "read", "kill": spec["kill"],
                               "verified": 1}], False)


def fails_check(job, work, expected, words=(), **changes):
    """A planted bug lets a check of the command fail."""
    def case():
        bad = [check["text"] for check in checks_of(job, work, words, **changes)
               if not check["passed"]]
        return "" if any(expected in text for text in bad) else f"failed checks: {bad}"
    return case


def passes_checks(job, work, words):
    """All checks pass, and one of them is about a death."""
    def case():
        checks = checks_of(job, work, words)
        bad = [check["text"] for check in checks if not check["passed"]]
        if bad or not any("started again" in check["text"] for check in checks):
            return f"failed checks: {bad} of {checks}"
        return ""
    return case


def page_and_scenario(job):
    def case():
        with tempfile.TemporaryDirectory() as folder:
            page, toml = f"{folder}/page.html", f"{folder}/job.toml"
            few = ("--steps", "4") if job == "train" else ("--requests", "4")
            done = command(job, *few, "--transport", "shm", "--html", page, "--scenario", toml,
                           "--predict", "64")
            if done.returncode != 0:
                return done.stderr[-1500:]
            text = pathlib.Path(page).read_text()
            if "<svg" not in text or "Here and on a fabric" not in text:
                return "the page lacks a part"
            if re.search(r"(src|href)=|<script|url\(", text):
                return "the page loads something"
            simulated = subprocess.run([str(launch.BUILD / "src/cli/nerve-sim"), "sim", toml,
                                        "--quiet", "--out", folder + "/out"], capture_output=True,
                                       text=True)
            return simulated.stderr if simulated.returncode else ""
    return case


def death(result):
    died = result["runs"][-1].get("death")
    if not died or died["resumed"] in (None, 0):
        return f"no rank died, or the job began anew: {died}"
    return ""


def several_moved(result):
    run = result["runs"][-1]
    return "" if run["killed"] and run["moved"] else f"no request moved: {run['killed']}"


def evicts(result):
    return "" if all(run["evictions"] for run in result["runs"] if run["mode"] == "read") \
        else "no block was evicted"


FEW = ("--no-recompute", "--check", "--requests", "16")
KILL = {"kill": [1, 5], "steps": 8, "checkpoint": 2}
SMALL = ("--ranks", "2", "--steps", "8")
CASES = {
    "train: data parallel, 4 ranks, all transports, 1 % loss":
        succeeds("train", "--steps", "10", "--loss", "1%"),
    "train: sharded, 3 ranks, all transports, 1 % loss":
        succeeds("train", "--ranks", "3", "--sharded", "--steps", "10", "--loss", "1%"),
    "train: 8 ranks": succeeds("train", "--ranks", "8", "--steps", "4", "--transport", "shm"),
    "train: rank 0 killed over udp":
        succeeds("train", "--steps", "12", "--kill", "0@8", "--transport", "udp", also=death),
    "train: last rank killed over tcp":
        succeeds("train", "--steps", "12", "--kill", "3@8", "--transport", "tcp", also=death),
    "train: sharded, rank killed over shm":
        succeeds("train", "--sharded", "--steps", "12", "--kill", "1@8", "--transport", "shm",
                 also=death),
    "train: page, scenario and prediction": page_and_scenario("train"),
    "infer: blocks read, all transports, recomputed": succeeds("infer", "--check", also=evicts),
    "infer: blocks written, all transports, 1 % loss":
        succeeds("infer", *FEW, "--mode", "write", "--loss", "1%"),
    "infer: 2 prefill and 3 decode workers":
        succeeds("infer", *FEW, "--prefill", "2", "--decode", "3", "--transport", "shm"),
    "infer: decode worker killed, blocks read over shm":
        succeeds("infer", *FEW, "--kill-decode", "--transport", "shm", also=several_moved),
    "infer: decode worker killed, blocks written over udp":
        succeeds("infer", *FEW, "--kill-decode", "--transport", "udp", "--mode", "write",
                 also=several_moved),
    "infer: decode worker killed, blocks read over tcp":
        succeeds("infer", *FEW, "--kill-decode", "--transport", "tcp", also=several_moved),
    "infer: only prefill worker killed, blocks read over shm":
        succeeds("infer", *FEW, "--kill-prefill", "--transport", "shm", also=several_moved),
    "infer: prefill worker of two killed, blocks read over udp":
        succeeds("infer", *FEW, "--prefill", "2", "--kill-prefill", "--transport", "udp",
                 also=several_moved),
    "infer: prefill worker of two killed, blocks written over shm":
        succeeds("infer", *FEW, "--prefill", "2", "--kill-prefill", "--transport", "shm",
                 "--mode", "write", also=several_moved),
    "infer: only prefill worker killed, blocks written over udp":
        succeeds("infer", *FEW, "--kill-prefill", "--transport", "udp", "--mode", "write",
                 also=several_moved),
    "infer: prefill worker of two killed, blocks read over tcp":
        succeeds("infer", *FEW, "--prefill", "2", "--kill-prefill", "--transport", "tcp",
                 also=several_moved),
    "infer: prefill worker dies before its blocks are read":
        passes_checks("infer", "prefill_dies_late", ["--requests", "12"]),
    "infer: page, scenario and prediction": page_and_scenario("infer"),

    "planted: a block of another request": noticed("block_of_another_request", "another request"),
    "planted: a block of another layer": noticed("block_of_another_layer", "is of layer"),
    "planted: a torn block": noticed("torn_block", "wrong checksum"),
    "planted: a block that was not fetched": noticed("missing_block", "another request"),
    "planted: blocks written to another table":
        noticed("push_to_another_table", "another request", mode="write"),
    "planted: answers that start again without their tokens":
        fails_check("infer", "answers_start_again_without_their_tokens", "answers equal",
                    ["--requests", "16"], kill="decode"),
    "planted: blocks of a dead prefill worker count as read":
        fails_check("infer", "blocks_of_a_dead_worker_count_as_read", "answers equal",
                    ["--requests", "12"]),
    "planted: a gradient of one rank is missing":
        fails_check("train", "gradient_of_one_rank_missing", "parameters equal those", SMALL),
    "planted: one rank has another learning rate":
        fails_check("train", "one_rank_with_another_rate", "same parameters", SMALL),
    "planted: parameters are used before they arrive":
        fails_check("train", "parameters_used_before_they_arrive", "parameters equal those", SMALL,
                    sharded=True),
    "planted: gradients are sent before they are complete":
        fails_check("train", "gradients_sent_before_they_are_complete", "parameters equal those",
                    SMALL, sharded=True),
    "planted: a checkpoint without the optimizer's state":
        fails_check("train", "stale_checkpoint", "parameters equal those", SMALL, **KILL),

    "refused: a peer with another model":
        noticed("peer_with_another_model", "start both with the same model"),
    "refused: 1 rank": refused("train", "--ranks 1", "use 2 to 8"),
    "refused: 9 ranks": refused("train", "--ranks 9", "use 2 to 8"),
    "refused: unknown transport": refused("train", "--transport ib", "choose from shm,udp,tcp"),
    "refused: killing a rank that is not there": refused("train", "--kill 4@1", "0 to 3"),
    "refused: loss without a percent sign": refused("train", "--loss 1", "as in 1%"),
    "refused: a model that does not fit":
        refused("train", "--hidden 2048 --layers 48 --ranks 8 --batch 4096", "GB are free"),
    "refused: a cache that does not fit":
        refused("infer", "--hidden 2048 --layers 48 --decode-blocks 1000000", "GB are free"),
    "refused: a request that does not fit": refused("infer", "--prefill-blocks 3", "at least 14"),
    "refused: killing the only decode worker":
        refused("infer", "--decode 1 --kill-decode", "--decode 2"),
    "refused: a file that cannot be written": None,
}


def unwritable():
    done = command("train", "--steps", "1", "--ranks", "2", "--transport", "tcp", "--html",
                   "/nowhere/page.html")
    return "" if done.returncode == 2 and "/nowhere" in done.stderr else done.stderr[-500:]


CASES["refused: a file that cannot be written"] = unwritable


def main():
    parser = argparse.ArgumentParser(prog="./nerve test ai", description=__doc__)
    parser.add_argument("filter", nargs="?", default="", metavar="FILTER",
                        help="run the cases whose line matches this regular expression")
    parser.add_argument("--list", action="store_true", help="print the cases and run nothing")
    options = parser.parse_args()
    chosen = [name for name in CASES if re.search(options.filter, name)]
    if options.list:
        print(*chosen, sep="\n")
        return 0
    bad = 0
    for name in chosen:
        started = time.monotonic()
        try:
            trouble = CASES[name]()
        except Exception as error:  # a case that cannot run has failed
            trouble = f"{type(error).__name__}: {error}"
        bad += bool(trouble)
        print(f"FAIL {name}: {trouble}" if trouble else
              f"ok   {name} ({time.monotonic() - started:.1f} s)", flush=True)
    print(f"{len(chosen) - bad} passed, {bad} failed")
    return 0 if chosen and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
