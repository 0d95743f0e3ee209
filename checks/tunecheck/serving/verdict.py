"""Is the served model accepted? Pure: measured runs and what a recipe expects in, findings out.

Counting and garbage refuse whatever the speed; a figure refuses only when our own counter made it on a reference box
(a golden recipe); a published one warns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.acceptance_codes import CODES, OK
from ..model.finding import Finding
from ..recipes.frozen import Expected, Recipe
from .figures import concurrency, finding, speed, ttft
from .figures_load import load
from .garbage import alike, logprob_reasons, mean, nonsense, reasons, repeated, told
from .measured import UNFINISHED, USAGE, Measured, Run
from .witness import model_name, needles, prompt_size, repeatable, tokens_witness

__all__ = ["IDS", "Want", "answered", "judge"]

IDS = tuple(CODES)
_BOOT_FLOOR = 0.6
#: Characters per token of real vocabularies: Chinese about 1.5, English 4 to 5, code 3.
_CHARS = (1.0, 9.0)
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
    parts = (_answers(seen), _counting(seen), tokens_witness(seen), _server(seen), prompt_size(seen), _cache(seen),
             needles(seen), _canaries(seen), _output(seen), repeatable(seen), _logprobs(seen), model_name(seen),
             _delivery(seen), _figures(seen, want), load(seen))
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


def _counting(seen: Measured) -> Iterator[Finding]:
    """Yield findings about the count. Tokens are what the engine's usage says, and text and limit have to agree with
    it."""
    guessed = [run for run in seen.runs if run.counted_by != USAGE]
    if guessed:
        yield from _guessed(guessed, len(seen.runs))
        return
    whole = [run for run in seen.runs if not run.broken]
    without = [run for run in whole if run.usage is None]
    if without:
        yield finding(
            "usage", "no-usage", "stream", "fail",
            f"{len(without)} of {len(whole)} streams carried no usage: the tokens cannot be counted, and neither "
            "characters nor chunks are tokens", "no usage", "usage in the stream "
            "(stream_options.include_usage)", "serve with an engine that sends it; llama-cpp-python does not")
        return
    fell = [run for run in whole if run.usage and run.usage.fell]
    if fell:
        yield finding("usage", "usage-falls", "stream", "fail",
                      "usage within one stream grew smaller: it is not cumulative",
                      expected="a cumulative count", fix="report it to the engine's maintainers")
    elif whole:
        why = "; ".join(dict.fromkeys(run.error for run in whole if run.error))
        yield finding("usage", OK, "stream", "pass",
                      f"{sum(run.tokens for run in whole)} tokens, counted by the engine's own usage, the last of each "
                      f"stream{f' ({why})' if why else ''}")
    # Published rows carry no text, and several streams' limits are not one request's.
    yield from _text([run for run in whole if seen.profile != "published" or run.characters])
    yield from _asked([run for run in whole if seen.profile != "published" or run.group <= 1])


#: Each way of counting that is not ours: code, outcome and words. It fails only where the count is wrong. It is unknown
#: where nobody knows, and a warning where it is a count of another kind.
_WAYS = {
    "characters": ("characters-counted", "fail",
                   "characters were counted: round(characters / 4) is what it calls tokens"),
    "gauge": ("gauge", "fail", "the figure is a gauge of the server's at one moment, not a count over the wall time"),
    "unknown": ("counting-unknown", "unknown", "how its tokens were counted cannot be told"),
    "claimed": ("claimed", "unknown", "tokens are the server's usage, and nothing in the file witnesses it"),
    "disputed": ("server-disagrees", "unknown",
                 "the server's own counter says another rate than its usage; it may count other clients too"),
    "tokenizer": ("client-tokenizer", "warn", "tokens are what the client's own tokenizer makes of the text"),
    "asked": ("asked-not-delivered", "warn",
              "tokens may be those that were asked for, not those that were delivered"),
    "engine": ("counted-in-engine", "warn", "tokens are counted inside the engine, not at a client"),
    "contradiction": ("contradiction", "fail", "the file contradicts itself"),
}


def _guessed(runs: Sequence[Run], every: int) -> Iterator[Finding]:
    """Yield findings about runs that were not counted by usage. ``every``: how many runs there are, these among
    them."""
    for way in sorted({run.counted_by for run in runs}):
        several = [run for run in runs if run.counted_by == way]
        why = "; ".join(dict.fromkeys(run.error for run in several if run.error))
        code, outcome, words = _WAYS[way]
        yield finding("usage", code, several[0].kind, outcome,
                      f"{words} ({len(several)} of {every} runs{': ' + why if why else ''})", way,
                      "tokens counted by the engine's usage",
                      "measure again with tunecheck accept, or a client that waits for the stream's last event")


def _text(whole: Sequence[Run]) -> Iterator[Finding]:
    empty = [run for run in whole if run.tokens > 1 and not run.text]
    if empty:
        yield finding(
            "tokens-text", "no-text", empty[0].kind, "fail",
            f"usage claims {empty[0].tokens} tokens, and 0 characters were delivered: this is what NaN in the "
            "weights or kernels looks like", "no text",
            "text for every token", "check weights and kernels; see the engine's log")
    long = [run for run in whole if run.text and run.tokens >= 64]
    odd = [run for run in long if not _CHARS[0] <= run.characters / run.tokens <= _CHARS[1]]
    for run in odd[:1]:
        ratio = run.characters / run.tokens
        yield finding("tokens-text", "implausible-length", run.kind, "fail",
                      f"usage claims {run.tokens} tokens for {run.characters} characters, {ratio:.2f} a token",
                      f"{ratio:.2f}", f"{_CHARS[0]:g} to {_CHARS[1]:g} characters a token",
                      "the engine counts something else, or the text is not what it generated")
    if long and not odd and not empty:
        ratio = sum(run.characters for run in long) / sum(run.tokens for run in long)
        yield finding("tokens-text", OK, "text", "pass", f"{ratio:.2f} characters a token", f"{ratio:.2f}")


def _asked(whole: Sequence[Run]) -> Iterator[Finding]:
    over = [run for run in whole if run.tokens > run.asked]
    short = [run for run in whole if run.finish == "length" and run.tokens < 0.9 * run.asked]
    for run in (over + short)[:1]:
        yield finding("tokens-asked", "more-than-asked" if over else "fewer-than-limit", run.kind, "fail",
                      f"usage claims {run.tokens} tokens where {run.asked} were asked for and the answer ended by "
                      f"{run.finish}", str(run.tokens), f"{run.asked}",
                      "the count is not of delivered tokens (proposals of a drafter are none)")
    early = [run for run in whole if run.kind == "timed" and run.finish == "stop" and run.tokens < 0.9 * run.asked]
    if early:
        yield finding(
            "tokens-asked", "ended-early", "timed", "unknown",
            f"the model ended by itself after {early[0].tokens} of {early[0].asked} tokens: too few to judge a "
            "speed by", str(early[0].tokens), str(early[0].asked), "serve with an engine that takes ignore_eos")
    if whole and not over and not short and not early:
        yield finding("tokens-asked", OK, "limits", "pass", "no answer has more tokens than were asked for, none fewer")


def _server(seen: Measured) -> Iterator[Finding]:
    """Compare the count of usage with the server's own counter, the second witness. Draft tokens are never counted."""
    if not any(run.usage for run in seen.runs):
        return
    if seen.generated is None:
        yield finding("tokens-server", "no-counter", "counter", "skip",
                      f"no counter of the server's to compare with: {seen.no_counter or 'none was read'}")
        return
    drafts = seen.other.get("spec_decode_num_draft_tokens_total", 0)
    taken = seen.other.get("spec_decode_num_accepted_tokens_total", 0)
    aside = f"; {drafts:.0f} were proposed and {taken:.0f} of those accepted, which counts nothing" if drafts else ""
    if abs(seen.generated - seen.counted) <= 0.02 * seen.counted + 4:
        yield finding("tokens-server", OK, "counter", "pass",
                      f"the server's counter grew by {seen.generated:.0f} over {seen.counted} tokens of usage{aside}")
        return
    if seen.stopped:
        yield finding(
            "tokens-server", "ended-early", "counter", "skip",
            f"it ended early; the server's counter grew by {seen.generated:.0f} over {seen.counted} tokens of "
            "usage")
        return
    more = seen.generated > seen.counted
    yield finding("tokens-server", "counter-higher" if more else "counter-lower", "counter", "fail",
                  f"the server's counter grew by {seen.generated:.0f}, usage says {seen.counted}{aside}",
                  f"{seen.generated:.0f}", f"{seen.counted}",
                  "let nobody else use the server meanwhile" if more else "usage claims more than was generated")


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
