"""./nerve ai infer: serves requests with prefill and decode apart, over RDMA and TCP, and compares.

The same requests, from the same seed, are served over every transport, and by workers that compute
prompts themselves (recompute). The command succeeds if every answer equals that of one process.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
from typing import Any

import kv_cache
import launch
import page
import report
import scenario

LIMITS = {"prefill": (1, 4), "decode": (1, 4), "requests": (1, 10_000), "prompt": (16, 4096),
          "answer": (2, 1024), "prefill_blocks": (1, 1 << 20), "decode_blocks": (1, 1 << 20),
          "batch": (1, 64), "hidden": (16, 2048), "layers": (1, 48)}
HEADS, VOCABULARY = 4, 256


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./nerve ai infer", description=__doc__.split("\n")[0])

    def number(name: str, default: int, text: str) -> None:
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N",
                            help=f"{text}; default {default}")
    number("prefill", 1, "prefill workers")
    number("decode", 2, "decode workers")
    number("requests", 32, "requests in all")
    parser.add_argument("--rate", type=float, default=10.0, metavar="R",
                        help="requests per second, a Poisson process; default 10")
    parser.add_argument("--mode", choices=("read", "write"), default="read",
                        help="decode workers read blocks, or prefill workers write them; "
                        "default read")
    parser.add_argument("--transport", default="shm,udp,tcp", metavar="LIST",
                        help="which to compare; default shm,udp,tcp")
    parser.add_argument("--no-recompute", action="store_true",
                        help="leave out the run without transfers")
    parser.add_argument("--loss", metavar="P%", help="also run over udp with this packet loss: 1%%")
    parser.add_argument("--kill-decode", action="store_true",
                        help="also run with a decode worker killed in the middle")
    parser.add_argument("--kill-prefill", action="store_true",
                        help="also run with a prefill worker killed in the middle of a prompt")
    parser.add_argument("--check", action="store_true",
                        help="verify the identity and the checksum of every block that arrives")
    number("seed", 1, "of the model and the requests")
    number("prompt", 160, "tokens of a prompt, about")
    number("answer", 16, "tokens of an answer, at most")
    number("batch", 8, "requests that a worker decodes at once, at most")
    number("prefill-blocks", 48, f"cache of a prefill worker, in blocks of {kv_cache.BLOCK} tokens")
    number("decode-blocks", 64, "cache of a decode worker")
    number("hidden", 128, f"width of the model, a multiple of {HEADS}")
    number("layers", 4, "transformer blocks of the model")
    report.add_output_options(parser, "transfers")
    return parser.parse_args(words)


def refuse(text: str) -> None:
    print(f"nerve ai infer: {text}", file=sys.stderr)
    sys.exit(2)


def spec_of(options: argparse.Namespace) -> dict[str, Any]:
    for name, (low, high) in LIMITS.items():
        value = getattr(options, name)
        if not low <= value <= high:
            refuse(f"--{name.replace('_', '-')} {value}: use {low} to {high}")
    if not 0.01 <= options.rate <= 10_000:
        refuse(f"--rate {options.rate:g}: use 0.01 to 10000 requests per second")
    if options.hidden % HEADS:
        refuse(f"--hidden {options.hidden}: must be a multiple of the {HEADS} attention heads")
    if options.kill_decode and options.decode < 2:
        refuse("--kill-decode needs a decode worker that is left; use --decode 2 or more")
    report.check_transports(options.transport, refuse)
    if options.loss:
        report.check_loss(options.loss, refuse)
    report.check_predict(options.predict, refuse)
    report.check_files([options.html, options.scenario], refuse)
    longest = options.prompt + max(4, options.prompt // 4)
    positions = longest + options.answer
    for name, tokens in (("prefill", positions), ("decode", positions)):
        have, needed = getattr(options, f"{name}_blocks"), kv_cache.blocks_for(tokens)
        if have < needed:
            refuse(f"--{name}-blocks {have}: a request of {tokens} tokens needs {needed} blocks of "
                   f"{kv_cache.BLOCK}; use at least {needed}, or a smaller --prompt")
    shape = {"vocabulary": VOCABULARY, "hidden": options.hidden, "layers": options.layers,
             "heads": HEADS, "positions": positions}
    workers = options.prefill + options.decode
    cache = 2 * 4 * options.layers * options.hidden * kv_cache.BLOCK
    needed = workers * 4 * report.parameters(shape) + cache * (
        options.prefill * options.prefill_blocks + options.decode * options.decode_blocks)
    if needed > report.free_memory():
        refuse(f"the model and its caches need about {needed / 1e9:.1f} GB in {workers} workers "
               f"and {report.free_memory() / 1e9:.1f} GB are free; use a smaller --hidden, "
               "--layers or --decode-blocks")
    return {"shape": shape, "seed": options.seed, "requests": options.requests,
            "rate": options.rate, "prompt": options.prompt, "answer": options.answer,
            "prefill": options.prefill, "decode": options.decode, "workers": workers,
            "prefill_blocks": options.prefill_blocks, "decode_blocks": options.decode_blocks,
            "batch": options.batch, "mode": options.mode, "check": options.check, "kill": None}


def plan(options: argparse.Namespace) -> list[dict[str, Any]]:
    chosen = options.transport.split(",")
    runs = [{"name": name, "transport": name, "mode": options.mode} for name in chosen]
    if not options.no_recompute:
        runs.append({"name": "recompute", "transport": "tcp", "mode": "recompute"})
    if options.loss:
        runs.append({"name": f"udp, {options.loss} loss", "transport": "udp",
                     "mode": options.mode, "fault": f"loss={options.loss},seed={options.seed}"})
    for kind, asked in (("decode", options.kill_decode), ("prefill", options.kill_prefill)):
        if asked:
            runs.append({"name": f"{chosen[0]}, {kind} 0 killed", "transport": chosen[0],
                         "mode": options.mode, "kill": kind})
    return runs


def measure(spec: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    progress = launch.Progress(f"serve over {run['name']}", spec["requests"])
    result = launch.run("server:serve",
                        {**spec, "mode": run["mode"], "kill": run.get("kill")},
                        run["transport"], progress, run.get("fault"))
    progress.end()
    workers = result["prefill"] + result["decode"]
    waits = [wait for worker in result["decode"] for wait in worker["waits"]]
    tokens = sum(map(len, result["tokens"]))
    lookups = sum(worker["lookups"] for worker in result["prefill"])
    return {"name": run["name"], "transport": run["transport"], "mode": run["mode"],
            "seconds": result["seconds"], "tokens_per_second": tokens / result["seconds"],
            "ttft": statistics.fmean(result["ttft"]),
            "ttft_p99": report.percentile(result["ttft"], 0.99),
            "gap": statistics.fmean(result["gaps"]),
            "gap_p99": report.percentile(result["gaps"], 0.99),
            "kv_wait": statistics.fmean(waits) if waits else None,
            "kv_wait_p99": report.percentile(waits, 0.99) if waits else None,
            "kv_bytes": sum(worker["bytes"] for worker in workers),
            "prefill_busy": sum(worker["busy"] for worker in result["prefill"]),
            "decode_busy": sum(worker["busy"] for worker in result["decode"]),
            "evictions": sum(worker["evictions"] for worker in result["prefill"]),
            "hit_share": sum(w["hits"] for w in result["prefill"]) / lookups if lookups else None,
            "verified": sum(worker["verified"] for worker in result["decode"]),
            "moved": result["moved"], "kill": run.get("kill"), "killed": result["killed"],
            "ttfts": result["ttft"], "gaps": result["gaps"], "tokens": result["tokens"],
            "path": result["decode"][0]["transport"]}


def checks(one: dict[str, Any], runs: list[dict[str, Any]], check_blocks: bool) -> list:
    out = []
    for run in runs:
        same = sum(a == b for a, b in zip(run["tokens"], one["tokens"]))
        out.append({"text": f"{run['name']}: {same} of {len(one['tokens'])} answers equal those of "
                    "one process, token for token", "passed": run["tokens"] == one["tokens"]})
        if run["killed"]:
            out.append({"text": f"{run['name']}: {' and '.join(run['killed'])} died, "
                        f"{run['moved']} requests started again, none was lost",
                        "passed": (run["moved"] or not run["kill"]) and all(run["tokens"])})
        elif run["kill"]:
            out.append({"text": f"{run['name']}: no worker was killed, because none was in the "
                        "middle of its work; use more --requests or a longer --answer",
                        "passed": False})
    if check_blocks:
        rows = [run["verified"] for run in runs if run["mode"] != "recompute"]
        out.append({"text": f"{sum(rows)} rows of blocks arrived with the right identity and "
                    "checksum", "passed": all(rows)})  # a wrong one ends its run with an error
    out.append({"text": f"one process: the best token leads by {one['margin']:.1e} at least; "
                f"batching changes logits by {one['rounding']:.1e} at most",
                "passed": one["margin"] > 2 * one["rounding"]})
    return out


def text(result: dict[str, Any]) -> str:
    job = result["job"]
    lines = [f"{job['requests']} requests, {job['rate']:g} per second, {job['prefill']} prefill "
             f"and {job['decode']} decode workers, blocks by RDMA {job['mode'].upper()}, "
             f"{result['parameters']:,} parameters, seed {job['seed']}", ""]
    rows = [["", "job", "tokens/s", "TTFT", "p99", "token gap", "p99", "wait for KV", "p99",
             "KV moved"]]
    for run in result["runs"]:
        rows.append([run["name"], report.seconds(run["seconds"]),
                     f"{run['tokens_per_second']:.0f}", report.seconds(run["ttft"]),
                     report.seconds(run["ttft_p99"]), report.seconds(run["gap"]),
                     report.seconds(run["gap_p99"]), report.seconds(run["kv_wait"]),
                     report.seconds(run["kv_wait_p99"]), f"{run['kv_bytes'] / 1e6:.1f} MB"])
    lines += report.table(rows)
    lines += ["", "TTFT: time to the first token. wait for KV: from the end of prefill until "
              "decode has all blocks.", f"recompute: {job['workers']} workers that compute prompts "
              "themselves; no transfers, no shared prefixes."]
    first = result["runs"][0]
    if first["hit_share"] is not None:
        lines.append(f"prefill cache: {first['hit_share'] * 100:.0f} % of prompt blocks found, "
                     f"{first['evictions']} blocks evicted ({first['name']})")
    lines += ["", *report.check_lines(result["checks"])]
    if result.get("prediction"):
        lines += ["", scenario.sentence(result["prediction"])]
    return "\n".join(lines)


def main() -> int:
    options = arguments()
    spec, runs = spec_of(options), plan(options)
    progress = launch.Progress("answers of one process", spec["requests"])
    one = launch.run("server:reference", spec, "tcp", progress)
    progress.end()
    measured = [measure(spec, run) for run in runs]
    transfers = [run for run in measured if run["mode"] != "recompute"]
    # The bytes of a killed worker are not known.
    whole = [run for run in transfers if not run["killed"]] or transfers
    mean = statistics.fmean(run["kv_bytes"] for run in whole)
    result = {"kind": "infer", "job": spec, "parameters": report.parameters(spec["shape"]),
              "one": one, "runs": measured, "checks": checks(one, measured, spec["check"]),
              "kv_bytes_per_request": mean / spec["requests"],
              "machine": report.machine(), "command": report.command("infer")}
    if options.scenario or options.predict:
        result["prediction"] = scenario.infer(result, options.scenario, options.predict)
    if options.html:
        pathlib.Path(options.html).write_text(page.infer(result))
    print(json.dumps(result, indent=1) if options.json else text(result))
    return 0 if all(check["passed"] for check in result["checks"]) else 1


if __name__ == "__main__":
    report.run_main(main, "infer")
