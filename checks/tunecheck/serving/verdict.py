"""Is the served model accepted? Pure: measured runs and what a recipe expects in, findings out.

Counting and garbage refuse whatever the speed; a figure refuses only when our own counter made it on a reference box
(a golden recipe); a published one warns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..model.acceptance_codes import CODES, OK
from ..model.finding import Finding
from ..recipes.frozen import Expected, Recipe
from .counting import counting, server_counter
from .figures import concurrency, finding, speed, ttft
from .figures_load import load
from .garbage import alike, logprob_reasons, mean, nonsense, reasons, repeated, told
from .measured import UNFINISHED, USAGE, Measured, Run
from .witness import model_name, needles, prompt_size, repeatable, tokens_witness

__all__ = ["IDS", "Want", "answered", "judge"]

IDS = tuple(CODES)
_BOOT_FLOOR = 0.6
#: Kinds whose text is prose of some length, and how much of it may have stood there before: a model that wrote its
#: answer twice has half.
_PROSE, _LOOP = ("timed", "warm-up", "concurrent", "repeat"), 0.45
#: A published ceiling is one run of somebody else's.
_TTFT_SLACK = 1.25


@dataclass(frozen=True)
class Want:
    """What a recipe expects. ``golden``: our own counter's figure, which may refuse."""

    expected: Expected | None = None
    golden: bool = False
    max_context: int | None = None

    @classmethod
    def of(cls, recipe: Recipe | None) -> Want:
        if recipe is None:
            return cls()
        golden = recipe.status == "golden" and recipe.expected.counted_by == "usage_wallclock"
        return cls(recipe.expected, golden, recipe.max_context)


def judge(seen: Measured, want: Want) -> list[Finding]:
    """Return all findings, in the order in which they decide."""
    parts = (_answers(seen), counting(seen), tokens_witness(seen), server_counter(seen), prompt_size(seen),
             _cache(seen), needles(seen), _canaries(seen), _output(seen), repeatable(seen), _logprobs(seen),
             model_name(seen), _delivery(seen), _figures(seen, want), load(seen))
    return [finding for part in parts for finding in part]


def _answers(seen: Measured) -> Iterator[Finding]:
    broken = [run for run in seen.runs if run.broken or (run.finish is None and run.counted_by == USAGE)]
    for run in broken[:1]:
        why = run.error or UNFINISHED
        yield finding(
            "answers", "not-answered", run.kind, "fail",
            f"a {run.kind} request was not answered to its end: {why}; {run.tokens or 'no'} tokens were counted "
            "until then", why, "every request answered; a server that says it is healthy proves nothing",
            "look at the engine's log: journalctl -u tunecheck-inference, and at tunecheck preflight")
    strange = sorted({str(run.finish) for run in seen.runs if run.finish} - {"length", "stop"})
    if strange:
        yield finding("answers", "other-finish-reason", "finish", "fail",
                      f"answers ended by finish_reason {', '.join(strange)}",
                      ", ".join(strange), "length or stop", "look at the engine's log")
    if not broken and not strange and any(run.counted_by == USAGE for run in seen.runs):
        yield finding("answers", OK, "server", "pass", f"{len(seen.runs)} figures, and none says that a request failed"
                      if seen.profile == "published" else f"all {len(seen.runs)} requests were answered to their end")


def _cache(seen: Measured) -> Iterator[Finding]:
    """Yield findings about prompts of which too much was cached: a prompt that was seen before costs no prefill. The
    chat template before the nonce is all that may be shared."""
    # One question is asked twice on purpose, and nothing is timed by it.
    reported = [run for run in seen.runs if run.usage and run.usage.cached is not None and run.kind != "repeat"]
    if seen.profile == "published":
        return
    if not reported:
        if any(run.usage for run in seen.runs):
            yield finding(
                "prompt-cache", "not-reported", "cache", "skip",
                "the server does not say how much of a prompt it had cached; every prompt began with a nonce of "
                "its own")
        return
    hits = [run for run in reported if run.usage and (run.usage.cached or 0) > seen.template]
    if not hits:
        yield finding("prompt-cache", OK, "cache", "pass", "no prompt came from the cache beyond the template's "
                      f"{seen.template} tokens")
        return
    worst = max(hits, key=lambda run: run.usage.cached or 0 if run.usage else 0)
    assert worst.usage
    yield finding("prompt-cache", "from-cache", worst.kind, "fail",
                  f"{worst.usage.cached} of {worst.usage.prompt} prompt tokens of a {worst.kind} request came from the "
                  "cache: its time to the first token means nothing",
                  str(worst.usage.cached), f"at most the template's {seen.template}",
                  "something between client and engine removes or moves the nonce at the prompt's beginning")


def _canaries(seen: Measured) -> Iterator[Finding]:
    asked = [run for run in seen.of("canary") if not run.broken]
    if asked and not any(run.text for run in seen.runs):
        yield finding("canary", "no-text", "canaries", "unknown",
                      "no request brought any text, so no answer could be judged",
                      expected="answers", fix="see answers, usage and tokens-text: what is wrong stands there")
        return
    wrong = [run for run in asked if not answered(run)]
    for run in {run.expect: run for run in reversed(wrong)}.values():
        where = f" after {run.usage.prompt} prompt tokens" if run.target and run.usage else ""
        when = " and ".join(("before", "after")[each] for each in sorted(
            {other.group for other in wrong if other.expect == run.expect}))
        yield finding("canary", "wrong-answer", run.expect, "fail",
                      f"asked for {run.expect!r}{where}, {when} the timed runs, it said "
                      f"{' '.join(run.text[:80].split())!r}", run.text[:200], run.expect,
                      "this model computes wrongly here: check kernels, quantization and weights")
    if asked and not wrong:
        longest = max((run.usage.prompt for run in asked if run.usage), default=0)
        short = seen.notes.get("canary", "")
        yield finding("canary", OK, "canaries", "pass",
                      f"{len(asked)} known answers were right, before and after, the longest prompt of {longest} "
                      f"tokens{'; ' + short if short else ''}")
    counted = not asked and not seen.stopped and any(run.counted_by == USAGE for run in seen.runs)
    if counted and seen.profile == "published":
        yield finding(
            "canary", "not-in-file", "canaries", "unknown",
            "a published file asks nothing with a known answer: its speed may be that of a model that computes "
            "wrongly", expected="canaries", fix="ask the server itself: tunecheck accept --base URL")
    elif counted:
        yield finding("canary", "none-asked", "canaries", "unknown", "no question with a known answer was asked",
                      expected="canaries", fix="give the recipe some")


def answered(run: Run) -> bool:
    """Whether the answer holds what is expected, as a word of its own: 42 is not in 4242424242."""
    return re.search(rf"(?<!\w){re.escape(run.expect)}(?!\w)", run.text, re.IGNORECASE) is not None


def _output(seen: Measured) -> Iterator[Finding]:
    texts = [run for run in seen.runs if not run.broken and run.text and run.kind not in ("calibration",)]
    for run in texts:
        if signs := reasons(run.text) + (nonsense(run.text) if run.kind in _PROSE else []):
            yield finding("output", "garbage", run.kind, "fail",
                          f"the text of a {run.kind} request is garbage, whatever its speed: "
                          f"{told(signs)}; it begins {' '.join(run.text[:40].split())!r}", told(signs),
                          "what a healthy model writes greedily", "check kernels, quantization and weights")
            break
    else:
        if same := alike([(run.expect, run.text) for run in texts]):
            yield finding("output", "one-answer-to-all", "text", "fail",
                          f"{same} different questions got the same answer, {' '.join(texts[0].text[:40].split())!r}",
                          texts[0].text[:200], "an answer to each question",
                          "this is no model, or it does not see its prompt: check the server behind --base")
        elif loops := [run for run in texts if run.kind in _PROSE and repeated(run.text) > _LOOP]:
            share = max(repeated(run.text) for run in loops)
            yield finding(
                "output", "loop", loops[0].kind, "unknown",
                f"{share:.0%} of the text of a {loops[0].kind} request stood in it before: a loop, or a model "
                "that was made to go on after its end", f"{share:.0%}",
                f"at most {_LOOP:.0%}", "ask with --api chat, and with a model that writes a thousand tokens")
        elif texts:
            yield finding("output", OK, "text", "pass", f"{len(texts)} texts look like a healthy model's")


def _logprobs(seen: Measured) -> Iterator[Finding]:
    answered = [run for run in seen.of("logprobs") if run.logprobs]
    for run in answered:
        signs = logprob_reasons(run.logprobs or ())
        code, outcome = ("implausible", "fail") if signs else (OK, "pass")
        yield finding(
            "logprobs", code, "logprobs", outcome, told(signs) if signs else
            f"{len(run.logprobs or ())} logprobs are finite and differ, {mean(run.logprobs or ()):.2f} on the "
            "mean", told(signs), "finite, different and likely tokens",
            "the engine computes wrongly: check kernels, quantization and weights" if signs else "")
    if not answered and seen.of("timed") and seen.profile != "published":
        yield finding(
            "logprobs", "no-logprobs", "logprobs", "skip", seen.notes.get("logprobs", "the server gives none"))


def _delivery(seen: Measured) -> Iterator[Finding]:
    timed = [run for run in seen.of("timed") if run.usage and run.text]
    if not timed:
        return
    if any(run.burst for run in timed):
        yield finding(
            "delivery", "burst", "stream", "warn",
            "the text came in a burst at the end: only the wall time counts, a decode rate and gaps between "
            "tokens do not exist", "burst", "text as it is generated", "look for a buffering proxy in between")
        return
    # By event, which is the server's doing: how many of them one read finds is the load of this machine, too.
    tokens, events, reads = (sum(each) for each in zip(*((run.tokens, run.pieces, run.reads) for run in timed),
                                                       strict=True))
    if not events:      # documents from before events were counted
        yield finding("delivery", "events-not-counted", "stream", "pass",
                      f"{tokens / max(1, reads):.1f} tokens an arrival")
        return
    yield finding(
        "delivery", OK, "stream", "pass", f"{tokens / events:.1f} tokens an event, {events / max(1, reads):.1f} "
        "events an arrival", f"{tokens / events:.1f}")


def _figures(seen: Measured, want: Want) -> Iterator[Finding]:
    yield from speed(seen, want.expected, want.golden, _BOOT_FLOOR)
    yield from ttft(seen, want.expected, want.golden, _TTFT_SLACK)
    yield from concurrency(seen, want.expected, want.golden)
