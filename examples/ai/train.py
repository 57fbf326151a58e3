"""./nerve ai train: trains a small transformer on several ranks over RDMA and TCP, and compares.

The same job, from the same seed, runs in one process and then on every transport. The command
succeeds if all ranks end with the same parameters and those of one process, bit for bit.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import re
import statistics
import sys
from typing import Any

import launch
import page
import report
import scenario

LIMITS = {"ranks": (2, 8), "steps": (1, 10_000), "hidden": (16, 2048), "layers": (1, 48),
          "batch": (1, 4096), "length": (4, 2048)}
HEADS, VOCABULARY = 4, 36


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./nerve ai train", description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=4, metavar="N", help="2 to 8; default 4")
    parser.add_argument("--sharded", action="store_true",
                        help="reduce-scatter and all-gather instead of data parallel (DDP)")
    parser.add_argument("--steps", type=int, default=40, metavar="N", help="default 40")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="default 1")
    parser.add_argument("--transport", default="shm,udp,tcp", metavar="LIST",
                        help="which to compare; default shm,udp,tcp")
    parser.add_argument("--loss", metavar="P%", help="also run over udp with this packet loss: 1%%")
    parser.add_argument("--kill", metavar="RANK@STEP",
                        help="also run with this rank killed in this step, and resume")
    for name, default, text in (("hidden", 64, f"width of the model, a multiple of {HEADS}"),
                                ("layers", 2, "transformer blocks of the model"),
                                ("batch", 8, "sequences of one rank in a step"),
                                ("length", 24, "tokens of a sequence")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N",
                            help=f"{text}; default {default}")
    report.add_output_options(parser, "job")
    return parser.parse_args(words)


def refuse(text: str) -> None:
    print(f"nerve ai train: {text}", file=sys.stderr)
    sys.exit(2)


def spec_of(options: argparse.Namespace) -> dict[str, Any]:
    """The job that the ranks get. Ends the program if a value cannot be used."""
    for name, (low, high) in LIMITS.items():
        value = getattr(options, name)
        if not low <= value <= high:
            refuse(f"--{name} {value}: use {low} to {high}")
    if options.hidden % HEADS:
        refuse(f"--hidden {options.hidden}: must be a multiple of the {HEADS} attention heads")
    report.check_transports(options.transport, refuse)
    report.check_predict(options.predict, refuse)
    report.check_files([options.html, options.scenario], refuse)
    spec = {"shape": {"vocabulary": VOCABULARY, "hidden": options.hidden,
                      "layers": options.layers, "heads": HEADS, "positions": options.length},
            "seed": options.seed, "ranks": options.ranks, "steps": options.steps,
            "batch": options.batch, "length": options.length, "rate": 5e-3, "bucket": 128 << 10,
            "sharded": options.sharded, "checkpoint": max(1, min(10, options.steps // 4)),
            "kill": None}
    # Per rank: parameters, gradients, two moments, and activations kept for the backward pass.
    weights = report.parameters(spec["shape"])
    tokens = options.batch * options.length
    activations = tokens * options.layers * (34 * options.hidden + 5 * HEADS * options.length)
    needed = options.ranks * 4 * (6 * weights + activations)
    if needed > report.free_memory():
        refuse(f"this model of {weights:,} parameters needs about {needed / 1e9:.1f} GB for "
               f"{options.ranks} ranks and {report.free_memory() / 1e9:.1f} GB are free; use a "
               "smaller --hidden, --layers or --batch, or fewer --ranks")
    return spec


def kill_of(options: argparse.Namespace) -> list[int] | None:
    if options.kill is None:
        return None
    found = re.fullmatch(r"(\d+)@(\d+)", options.kill)
    if not found:
        refuse(f"--kill {options.kill}: write RANK@STEP, as in 1@12")
    rank, step = int(found[1]), int(found[2])
    if rank >= options.ranks:
        refuse(f"--kill {options.kill}: ranks are 0 to {options.ranks - 1}")
    if step >= options.steps:
        refuse(f"--kill {options.kill}: steps are 0 to {options.steps - 1}")
    return [rank, step]


def plan(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The runs: every transport, then udp with loss, then with a death."""
    chosen = options.transport.split(",")
    runs = [{"name": name, "transport": name} for name in chosen]
    if options.loss:
        report.check_loss(options.loss, refuse)
        runs.append({"name": f"udp, {options.loss} loss", "transport": "udp",
                     "fault": f"loss={options.loss},seed={options.seed}"})
    kill = kill_of(options)
    if kill:
        runs.append({"name": f"{chosen[0]}, rank {kill[0]} killed", "transport": chosen[0],
                     "kill": kill})
    return runs


def measure(spec: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    progress = launch.Progress(f"train over {run['name']}", spec["steps"])
    result = launch.run("trainer:ranks", {**spec, "kill": run.get("kill")}, run["transport"],
                        progress, run.get("fault"))
    progress.end()
    return summary(run, result)


def summary(run: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Means over the ranks; the parts are per step."""
    ranks = result["ranks"]
    steps = len(ranks[0]["steps"])
    mean = {name: statistics.fmean(rank["parts"][name] for rank in ranks) / steps
            for name in ranks[0]["parts"]}
    times = sorted(time for rank in ranks for time in rank["steps"])
    out = {"name": run["name"], "transport": run["transport"],
           "seconds": result["seconds"] if result["deaths"] else
           max(rank["seconds"] for rank in ranks),
           "step": statistics.median(times), "step_p99": report.percentile(times, 0.99),
           "parts": mean,
           "communication": statistics.fmean(rank["communication"] for rank in ranks) / steps,
           "megabytes_per_step": statistics.fmean(rank["bytes_per_step"] for rank in ranks) / 1e6,
           "losses": [statistics.fmean(values) for values in zip(*(r["losses"] for r in ranks))],
           "digests": [rank["digest"] for rank in ranks], "path": ranks[0]["transport"]}
    if result["deaths"]:
        death = result["deaths"][0]
        killed = [n for n, rank in enumerate(death["ranks"]) if "killed" in rank]
        out["death"] = {"killed": killed, "resumed": result["resumed"],
                        "named": {str(n): rank.get("died") for n, rank in enumerate(death["ranks"])
                                  if n not in killed},
                        "text": next((r["text"] for r in death["ranks"] if "text" in r), "")}
    return out


def checks(one: dict[str, Any], runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = []

    def check(text: str, passed: bool) -> None:
        out.append({"text": text, "passed": bool(passed)})
    for run in runs:
        name = run["name"]
        check(f"{name}: all ranks end with the same parameters", len(set(run["digests"])) == 1)
        check(f"{name}: parameters equal those of one process, bit for bit",
              run["digests"][0] == one["digest"])
        check(f"{name}: every loss equals that of one process, bit for bit",
              run["losses"] == one["losses"])
        if run.get("death"):
            death = run["death"]
            check(f"{name}: every survivor names rank {death['killed'][0]}",
                  set(death["named"].values()) == set(death["killed"]))
    gap = max(abs(a - b) for a, b in zip(one["losses"], one["whole_batch"]))
    check(f"one process with one large batch: losses within 1e-3 (largest difference {gap:.1e}: "
          "its sums have another order)", gap < 1e-3)
    return out


def text(result: dict[str, Any]) -> str:
    spec, runs = result["job"], result["runs"]
    how = "sharded" if spec["sharded"] else "data parallel (DDP)"
    lines = [f"{how}, {spec['ranks']} ranks, {spec['steps']} steps, "
             f"{result['parameters']:,} parameters, seed {spec['seed']}", ""]
    rows = [["", "job", "step", "p99", "forward", "backward", "exposed", "optimizer", "MB/step"]]
    rows.append(["one process", report.seconds(result["one"]["seconds"])])
    for run in runs:
        parts = run["parts"]
        rows.append([run["name"], report.seconds(run["seconds"]), report.seconds(run["step"]),
                     report.seconds(run["step_p99"]),
                     *(report.seconds(parts[name]) for name in parts),
                     f"{run['megabytes_per_step']:.2f}"])
    lines += report.table(rows)
    lines += ["", "exposed: communication that computation does not hide. "
              "job: all steps. Parts: means of the steps after the first."]
    losses = result["one"]["losses"]
    lines += [f"loss: {losses[0]:.3f} at the first step, {losses[-1]:.3f} at the last", ""]
    for run in runs:
        if run.get("death"):
            death = run["death"]
            lines += [f"{run['name']}: survivors report: {death['text']}",
                      "  all ranks " + (f"resumed from the checkpoint of step {death['resumed']}"
                                        if death["resumed"] else
                                        "started again: there was no checkpoint yet")]
    lines += report.check_lines(result["checks"])
    if result.get("prediction"):
        lines += ["", scenario.sentence(result["prediction"])]
    return "\n".join(lines)


def main() -> int:
    options = arguments()
    spec, runs = spec_of(options), plan(options)
    progress = launch.Progress("train in one process", spec["steps"])
    one = launch.run("trainer:reference", spec, "tcp", progress)
    progress.end()
    measured = [measure(spec, run) for run in runs]
    result = {"kind": "train", "job": spec, "parameters": report.parameters(spec["shape"]),
              "one": one, "runs": measured, "checks": checks(one, measured),
              "machine": report.machine(), "command": report.command("train")}
    if options.scenario or options.predict:
        result["prediction"] = scenario.train(result, options.scenario, options.predict)
    if options.html:
        pathlib.Path(options.html).write_text(page.train(result))
    print(json.dumps(result, indent=1) if options.json else text(result))
    return 0 if all(check["passed"] for check in result["checks"]) else 1


if __name__ == "__main__":
    report.run_main(main, "train")
