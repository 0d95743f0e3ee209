"""Load beside guidellm and aiperf: the same server, the same streams or rates, one after the other in one run.

    python3 -m venv /tmp/guide && /tmp/guide/bin/pip install guidellm==0.8.1       # 6 GB
    python3 -m venv /tmp/aiperf && /tmp/aiperf/bin/pip install aiperf==0.13.0      # 1 GB
    .venv/bin/python -m lab.bench.load --guidellm /tmp/guide/bin/guidellm --aiperf /tmp/aiperf/bin/aiperf \\
        [--engine] [--seconds 30]

Without --engine the server is lab/paced_server.py, with it llama.cpp and our own small model behind a proxy that keeps
a pace and notes when it sent what: alone the model answers within 4 ms, and 3 % of that is this machine's noise.
Prompts are alike. Each client is also held against what was sent to it. Two lines a figure: ours
against what guidellm computed, and against guidellm's own requests put through our percentiles. guidellm takes the
nearest rank, we interpolate as numpy does (so do vLLM's and aiperf's clients): of few requests the tails differ by
that alone. aiperf counts tokens with a tokenizer of its own: here one that knows words, a second witness beside usage.
Tokens a second of all streams are shown, not judged: aiperf's figure is over all its time, ours over the step's, and
both hold how soon a client asks again. Exit code 1 where a median or p90 differs by more than 3 % (from guidellm's
requests by our percentile, from aiperf's figure), or, beside aiperf's requests by our formulas, tokens a request,
tokens a second of one stream or the mean ITL by more than 1 %."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engine import models
from tests.engine.pace_proxy import Manner, Proxy
from tests.unit.serving.engines import engine

from lab import aiperf
from lab.bench.lines import Line, shown, within
from lab.paced_server import TOKENS
from tunecheck.serving.client import Client
from tunecheck.serving.load import LoadPlan, Step, drive
from tunecheck.serving.prompts import TIMED, prompt
from tunecheck.serving.rates import figures, percentiles

GOAL, COUNTS = 0.03, 0.01
_JUDGED = ("p50", "p90")
_AT = ("p50", "p90", "p95", "p99")


@contextmanager
def paced() -> Iterator[str]:
    child = subprocess.Popen([sys.executable, "-m", "lab.paced_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
    assert child.stdin and child.stdout
    try:
        yield child.stdout.readline().strip()
    finally:
        child.stdin.close()
        child.wait(10)
        child.stdout.close()


@contextmanager
def real() -> Iterator[Proxy]:
    with engine(models.GOOD, slots="16", context="8192") as found:
        # The engine has the whole answer of sixteen streams before the first is sent.
        proxy = Proxy(found.base, Manner(rate=50.0, first=2.5))
        try:
            yield proxy
        finally:
            proxy.close()


def ours(base: str, mode: str, level: float, seconds: float) -> tuple[dict[str, Any], Step]:
    client = Client(base, "")
    client.model = client.models()[0]["id"]
    client.get("/again")
    plan = LoadPlan(seconds, streams=(int(level),), tokens=TOKENS) if mode == "closed" else LoadPlan(
        seconds, rates=(level,), tokens=TOKENS)
    try:
        step = drive(client, plan)[0]
        return figures(step, {}), step
    finally:
        client.close()


def theirs(program: str, base: str, model: str, mode: str, level: float, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        (folder / "p.jsonl").write_text("".join(json.dumps(
            {"prompt": prompt(TIMED), "output_tokens_count": TOKENS}) + "\n" for _ in range(2000)))
        asked = Client(base)
        asked.get("/again")
        asked.close()
        profile = f"kind=concurrent,streams={level:g}" if mode == "closed" else f"kind=constant,rate={level:g}"
        subprocess.run([program, "run", "--backend", f"kind=openai_http,target={base},model={model}", "--profile",
                        profile, "--constraint", f"kind=max_duration,seconds={seconds:g}", "--data",
                        f"kind=json_file,path={folder}/p.jsonl", "--output", f"kind=json,path={folder}/r.json",
                        "--disable-progress"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "HF_HUB_OFFLINE": "1"})
        found: dict[str, Any] = json.loads((folder / "r.json").read_text())["benchmarks"][0]
        return found


def compared(label: str, own: dict[str, Any], other: dict[str, Any]) -> list[Line]:
    done = other["requests"]["successful"]
    lines = []
    for name, part, key in (("TTFT", "ttft_s", "time_to_first_token_ms"), ("ITL", "itl_s", "inter_token_latency_ms")):
        stated = other["metrics"][key]["successful"]["percentiles"]
        same = percentiles([each[key] for each in done if each[key] is not None])
        assert same
        for at in _AT:
            value = 1000 * own[part][at]
            note = f"{own['requests']} and {len(done)} requests"
            lines.append(within("guidellm's figure", f"{label} {name} {at}", value, stated[at], "ms", None, note))
            lines.append(within("its requests, our percentile", f"{label} {name} {at}", value, same[at], "ms",
                                GOAL if at in _JUDGED else None))
    return lines


def beside_aiperf(program: str, base: str, label: str, own: dict[str, Any], step: Step) -> list[Line]:
    """Ours against aiperf's requests by our formulas, and against its own figures."""
    asked = Client(base)
    asked.get("/again")
    asked.close()
    export, other = aiperf.run(program, base, "m", step, TOKENS)
    same = figures(other, {})
    part, note = "aiperf's requests, our formula", f"{own['requests']} and {same['requests']} requests"
    lines = [within(part, f"{label} tokens a request", _each(step), _each(other), "", COUNTS, note),
             within(part, f"{label} tokens a second of a stream", _stream(step), _stream(other), "tok/s", COUNTS),
             within(part, f"{label} mean ITL", 1000 * own["itl_s"]["mean"], 1000 * same["itl_s"]["mean"], "ms", COUNTS),
             # How soon a client asks again is its own: aiperf's workers get a credit for each request, 5 to 20 ms.
             within(part, f"{label} tokens a second", own["tok_s"], same["tok_s"], "tok/s", None,
                    "with the client's pauses between requests" if step.mode == "closed" else "")]
    stated = export["output_token_throughput"]["avg"]
    lines.append(within("aiperf's figure", f"{label} tokens a second", own["tok_s"], stated, "tok/s", None,
                        "over all its time, the last requests' too"))
    for name, part, key in (("TTFT", "ttft_s", "time_to_first_token"), ("ITL", "itl_s", "inter_token_latency")):
        for at in _AT:
            lines.append(within("aiperf's figure", f"{label} {name} {at}", 1000 * own[part][at], export[key][at], "ms",
                                GOAL if at in _JUDGED else None))
    return lines


def _stream(step: Step) -> float:
    """Tokens a second from a request to its last text."""
    spans = [each.last - each.sent for each in step.answers if each.last is not None]
    return sum(each.tokens for each in step.answers) / sum(spans)


def _each(step: Step) -> float:
    return sum(each.tokens for each in step.answers) / len(step.answers)


def sent(who: str, label: str, found: dict[str, float | Any], proxy: Proxy) -> list[Line]:
    """What a client measured against what was sent to it; the proxy forgets it."""
    whole = [each for each in proxy.sent if each[0] == TOKENS]
    proxy.sent.clear()
    lines = []
    for name, values in (("TTFT", [wall - span for _, wall, span in whole]),
                         ("ITL", [span / (tokens - 1) for tokens, _, span in whole])):
        truth = percentiles(values)
        assert truth
        lines += [within(f"{who} and the server", f"{label} {name} {at}", 1000 * found[name][at], 1000 * truth[at],
                         "ms", GOAL if who == "ours" and at in _JUDGED else None, f"{len(whole)} answers were sent")
                  for at in _AT]
    return lines


def of_requests(other: dict[str, Any]) -> dict[str, Any]:
    """guidellm's own requests by our percentiles, in seconds."""
    done = other["requests"]["successful"]
    return {name: percentiles([each[key] / 1000 for each in done if each[key] is not None])
            for name, key in (("TTFT", "time_to_first_token_ms"), ("ITL", "inter_token_latency_ms"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guidellm", metavar="PROGRAM")
    parser.add_argument("--aiperf", metavar="PROGRAM", help="on the paced server alone")
    parser.add_argument("--engine", action="store_true", help="llama.cpp, instead of a known pace")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--streams", default="1,4,16")
    parser.add_argument("--rates", default="1,4,12")
    args = parser.parse_args()
    if not (args.guidellm or args.aiperf) or (args.engine and args.aiperf):
        parser.error("name --guidellm or --aiperf; aiperf only without --engine")
    steps = [("closed", float(each)) for each in args.streams.split(",") if each]
    steps += [("open", float(each)) for each in args.rates.split(",") if each]
    lines: list[Line] = []
    with real() if args.engine else paced() as server:
        proxy = server if isinstance(server, Proxy) else None
        base, model = (proxy.base, "tiny") if proxy else (str(server), "m")
        for mode, level in steps:
            label = f"{mode} {level:g}"
            step: list[Line] = []
            other = theirs(args.guidellm, base, model, mode, level, args.seconds) if args.guidellm else None
            if proxy and other:
                step += sent("guidellm", label, of_requests(other), proxy)
            own, drove = ours(base, mode, level, args.seconds)
            if proxy:
                step += sent("ours", label, {"TTFT": own["ttft_s"], "ITL": own["itl_s"]}, proxy)
            if other:
                step += compared(label, own, other)
            if args.aiperf:
                step += beside_aiperf(args.aiperf, base, label, own, drove)
            print("\n".join(map(shown, step)), flush=True)
            lines += step
    return int(any(line.good is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
