"""The pages of both commands, in the look of the fabric's report: one file without scripts, which
loads nothing."""
from __future__ import annotations

import html
from typing import Any, Sequence

import launch
import report
import scenario

PARTS = {"forward": "--c1", "backward": "--c6", "exposed": "--exposed", "optimizer": "--c3"}
COLOURS = ("--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8")


def _style() -> str:
    return "".join((launch.ROOT / "web/src" / name).read_text()
                   for name in ("base.css", "style.css"))


def _page(title: str, lead: str, answer: str, sections: Sequence[str]) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{_style()}
svg {{ max-width: 46rem; display: block; }}
svg text {{ fill: var(--muted); font-size: 11px; }}
</style>
</head>
<body>
<main>
<p class="kicker">Nerve</p>
<h1>{title}</h1>
<p class="description">{lead}</p>
<p class="answer">{answer}</p>
{"".join(f"<section>{section}</section>" for section in sections)}
</main>
</body>
</html>
"""


def _table(rows: list[list[str]]) -> str:
    head, *body = [[html.escape(cell) for cell in row] for row in rows]
    lines = "".join("<tr><th>" + row[0] + "</th>" + "".join(f"<td>{c}</td>" for c in row[1:])
                    + "</tr>" for row in body)
    return ('<div class="scroll"><table class="figures"><thead><tr>'
            + "".join(f"<th>{cell}</th>" for cell in head)
            + f"</tr></thead><tbody>{lines}</tbody></table></div>")


def _bars(runs: list[tuple[str, dict[str, float]]], colours: dict[str, str]) -> str:
    """One bar for each run, on one scale, cut into its parts."""
    longest = max(sum(parts.values()) for _, parts in runs) or 1
    out = ""
    for name, parts in runs:
        pieces = "".join(f'<span style="width:{value / longest * 100:.2f}%;'
                         f'background:var({colours[part]})"></span>'
                         for part, value in parts.items())
        values = ", ".join(f"{part} {report.seconds(value)}" for part, value in parts.items())
        out += (f'<div class="split"><span class="name">{html.escape(name)}</span>'
                f'<div class="bar">{pieces}</div><span class="value">{values}</span></div>')
    keys = "".join(f'<span class="key" style="background:var({colour})"></span>{part} '
                   for part, colour in colours.items())
    return f'<figure class="panel">{out}<figcaption>{keys}</figcaption></figure>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _lines(curves: list[tuple[str, list[tuple[float, float]]]], x_name: str, y_name: str) -> str:
    """Lines in one chart, from 0; points are (x, y)."""
    width, height, left, bottom = 640, 240, 48, 38
    most_x = max(x for _, points in curves for x, _ in points) or 1
    most_y = max(y for _, points in curves for _, y in points) or 1

    def place(x: float, y: float) -> str:
        return (f"{left + x / most_x * (width - left - 8):.1f},"
                f"{8 + (1 - y / most_y) * (height - bottom - 8):.1f}")
    marks = ""
    for share in (0, 0.25, 0.5, 0.75, 1):
        level = 8 + (1 - share) * (height - bottom - 8)
        marks += (f'<line x1="{left}" x2="{width - 8}" y1="{level}" y2="{level}" '
                  'style="stroke:var(--line)"/>'
                  f'<text x="{left - 6}" y="{level + 4}" text-anchor="end">'
                  f'{_number(most_y * share)}</text>')
        marks += (f'<text x="{left + share * (width - left - 8)}" y="{height - 20}" '
                  f'text-anchor="{"end" if share == 1 else "middle"}">'
                  f'{_number(most_x * share)}</text>')
    drawn = "".join(f'<polyline fill="none" stroke-width="1.8" style="stroke:var({colour})" '
                    f'points="{" ".join(place(x, y) for x, y in points)}"/>'
                    for (_, points), colour in zip(curves, COLOURS))
    keys = "".join(f'<span class="key" style="background:var({colour})"></span>'
                   f'{html.escape(name)} ' for (name, _), colour in zip(curves, COLOURS))
    return (f'<figure class="panel"><svg viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{y_name}">{marks}{drawn}<text x="{width - 8}" y="{height - 4}" '
            f'text-anchor="end">{x_name}</text></svg>'
            f'<figcaption>{y_name}. {keys}</figcaption></figure>')


def _checks(result: dict[str, Any]) -> str:
    rows = "".join(f'<tr><td class="{"better" if check["passed"] else "worse"}">'
                   f'{"passed" if check["passed"] else "FAILED"}</td>'
                   f'<td>{html.escape(check["text"])}</td></tr>' for check in result["checks"])
    return f'<h2>Checks</h2><div class="scroll"><table><tbody>{rows}</tbody></table></div>'


def _repeat(result: dict[str, Any]) -> str:
    return (f'<h2>How to repeat this</h2><pre><code>{html.escape(result["command"])}</code></pre>'
            f'<p class="quiet">Measured on {html.escape(result["machine"])}; all ranks share them. '
            'Times vary from run to run; parameters and tokens do not.</p>')


def _fabric(result: dict[str, Any], rows: list[list[str]]) -> list[str]:
    if not result.get("prediction"):
        return []
    return [f'<h2>Here and on a fabric</h2><p class="lead">'
            f'{html.escape(scenario.sentence(result["prediction"]))}.</p>{_table(rows)}']


def _answer(result: dict[str, Any]) -> str:
    bad = sum(not check["passed"] for check in result["checks"])
    return f"{bad} checks FAILED. " if bad else "All checks passed. "


def train(result: dict[str, Any]) -> str:
    job, runs, s = result["job"], result["runs"], report.seconds
    how = "sharded" if job["sharded"] else "data parallel"
    rows = [["", "job", "step", "p99", "exposed communication", "moved per step"]]
    rows += [[run["name"], s(run["seconds"]), s(run["step"]), s(run["step_p99"]),
              s(run["parts"]["exposed"]),
              f"{run['megabytes_per_step']:.2f} MB"] for run in runs]
    curves = [("one process", list(enumerate(result["one"]["losses"], 1)))]
    curves += [(run["name"], list(enumerate(run["losses"], 1))) for run in runs]
    prediction = result.get("prediction") or {}
    fabric = [["", "ranks", "step", "computing", "waiting for the network"]]
    fabric += [[f"{run['name']}, measured", str(job["ranks"]), s(run["step"]),
                s(run["parts"]["forward"] + run["parts"]["backward"] + run["parts"]["optimizer"]),
                s(run["parts"]["exposed"])] for run in runs]
    if prediction:
        fabric.append(["fabric, simulated", str(prediction["ranks"]), s(prediction["step"]),
                       s(prediction["bound"]), s(prediction["step"] - prediction["bound"])])
    deaths = "".join(
        f'<p>{html.escape(run["name"])}: survivors reported '
        f'“{html.escape(run["death"]["text"])}”; '
        f'all ranks resumed from step {run["death"]["resumed"]}.</p>'
        for run in runs if run.get("death"))
    return _page(
        f"Training on {job['ranks']} ranks",
        f"A transformer of {result['parameters']:,} parameters, {how}, {job['steps']} steps, "
        f"seed {job['seed']}.",
        _answer(result) + "Every run ends with the parameters of one process, bit for bit."
        if all(check["passed"] for check in result["checks"]) else _answer(result),
        [f"<h2>Transports</h2>{_table(rows)}{deaths}",
         "<h2>Where the time of a step went</h2>"
         + _bars([(run["name"], run["parts"]) for run in runs], PARTS)
         + '<p class="quiet">Exposed: communication that computation does not hide, and '
         'waiting for slower ranks.</p>',
         "<h2>Loss</h2>" + _lines(curves, "step", "Loss; equal curves lie on each other"),
         *_fabric(result, fabric), _checks(result), _repeat(result)])


def _distribution(values: list[float]) -> list[tuple[float, float]]:
    ordered = sorted(values)
    return [(value * 1e3, (place + 1) / len(ordered) * 100) for place, value in enumerate(ordered)]


def infer(result: dict[str, Any]) -> str:
    job, runs, s = result["job"], result["runs"], report.seconds
    rows = [["", "job", "tokens/s", "TTFT", "p99", "token gap", "p99", "wait for KV", "p99",
             "KV moved", "evicted", "cache hits"]]
    rows += [[run["name"], s(run["seconds"]), f"{run['tokens_per_second']:.0f}", s(run["ttft"]),
              s(run["ttft_p99"]), s(run["gap"]), s(run["gap_p99"]), s(run["kv_wait"]),
              s(run["kv_wait_p99"]), f"{run['kv_bytes'] / 1e6:.1f} MB", str(run["evictions"]),
              "-" if run["hit_share"] is None else f"{run['hit_share'] * 100:.0f} %"]
             for run in runs]
    prediction = result.get("prediction") or {}
    fabric = [["", "KV cache of a request", "mean", "p99"]]
    size = f"{result['kv_bytes_per_request'] / 1e6:.2f} MB"
    fabric += [[f"{run['name']}, measured: wait after prefill", size, s(run["kv_wait"]),
                s(run["kv_wait_p99"])] for run in runs if run["mode"] != "recompute"]
    if prediction:
        fabric.append([f"fabric, {prediction['ranks']} ranks, simulated: whole transfer", size,
                       s(prediction["flow_mean"]), s(prediction["flow_p99"])])
    moved = "".join(f"<p>{html.escape(run['name'])}: {run['moved']} requests started "
                    "again.</p>" for run in runs if run["killed"])
    busy = [(run["name"], {"prefill": run["prefill_busy"], "decode": run["decode_busy"]})
            for run in runs]
    return _page(
        f"Serving {job['requests']} requests",
        f"{job['prefill']} prefill and {job['decode']} decode workers; KV blocks travel by RDMA "
        f"{job['mode'].upper()}, layer by layer, during prefill. A model of "
        f"{result['parameters']:,} parameters, seed {job['seed']}.", _answer(result),
        [f"<h2>Transports</h2>{_table(rows)}{moved}",
         "<h2>Time to first token</h2>"
         + _lines([(run["name"], _distribution(run["ttfts"])) for run in runs], "ms",
                  "Share of requests in percent"),
         "<h2>Time between tokens</h2>"
         + _lines([(run["name"], _distribution(run["gaps"])) for run in runs], "ms",
                  "Share of tokens in percent"),
         "<h2>What the workers did</h2>" + _bars(busy, {"prefill": "--c1", "decode": "--c3"})
         + '<p class="quiet">Seconds in which workers computed, summed. Workers of “recompute” '
         'do both.</p>', *_fabric(result, fabric), _checks(result), _repeat(result)])
