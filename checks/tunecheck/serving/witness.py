"""A second witness for every number that the server states: is usage what its own logprobs, its tokenizer or its events
say; is the prompt as long as was asked, and whole; does the same question get the same answer; whose name is in it.
Pure.

An engine's usage is a claim. Its logprobs have one entry for each token, which cannot be inflated without inventing
text: 21 entries where usage said 64 (measured)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..model.acceptance_codes import OK
from ..model.finding import Finding
from .figures import finding
from .measured import USAGE, Measured, Run

__all__ = ["model_name", "needles", "prompt_size", "repeatable", "tokens_witness"]

#: An end mark, or the marks around what is thought aloud, are tokens that some engines count and do not show.
_HIDDEN, _HIDDEN_SHARE = 2, 0.03
#: A tokenizer may cut a text in another way than it was generated.
_RECUT, _RECUT_SHARE = 8, 0.04
#: Prose of one model to one question: characters a token of a hundred tokens and of a thousand.
_DRIFT = 0.35
#: Words are no tokens: the size of a prompt is hit within 5 % (measured); a template and a question come on top.
_SHORT, _LONG, _BESIDE = 0.85, 1.2, 96
_SAME_START, _SAME_THREES = 40, 0.1


def tokens_witness(seen: Measured) -> Iterator[Finding]:
    """Compare usage with what the engine shows beside it. No witness at all is unknown: a claim alone proves
    nothing."""
    runs = [run for run in seen.runs if run.usage and not run.broken and run.counted_by == USAGE and run.text]
    if seen.profile == "published" or not runs:
        return
    good: list[str] = []
    bad: list[str] = []
    for words, fits in (*_logprobs(runs), *_tokenizer(runs)):
        (good if fits else bad).append(words)
    bad += _drift(runs)
    if not bad and not good:
        good += _events(runs)
    if bad:
        yield finding("tokens-witness", "witness-disagrees", "usage", "fail",
                      f"usage has a witness against it: {'; '.join(bad)}", bad[0], "as many tokens as usage claims",
                      "the count is not of delivered tokens: no figure of this server "
                      "means anything; report it to the engine's maintainers")
    elif good:
        yield finding("tokens-witness", OK, "usage", "pass", f"usage agrees with a second witness: {'; '.join(good)}")
    elif not seen.stopped:
        yield finding(
            "tokens-witness", "no-witness", "usage", "unknown", "nothing but its own usage says how many tokens "
            "it generated: it gives no logprobs, has no /tokenize, and its events hold several tokens each",
            "usage alone",
            "logprobs in the stream, /tokenize, or one event for each token",
            "serve with an engine that gives one of them, or ask the engine itself, not a proxy before it")


def _logprobs(runs: Sequence[Run]) -> Iterator[tuple[str, bool]]:
    for run in runs:
        if run.kind != "logprobs" or not run.logprobs:
            continue
        entries, most = len(run.logprobs), max(_HIDDEN, round(run.tokens * _HIDDEN_SHARE)) + 1
        if run.covered is not None and run.covered < 0.8 * run.characters:
            continue        # some engines give logprobs of the answer alone, not of what is thought aloud
        if run.covered is not None and run.covered > 1.2 * run.characters + 40:
            yield (f"the tokens of the logprobs are written with {run.covered} characters, {run.characters} were "
                   "delivered"), False
        elif run.blank_entries > 2 + entries // 10:
            yield f"{run.blank_entries} of {entries} logprobs are of tokens without text", False
        else:
            yield (f"{entries} logprobs for {run.tokens} tokens of usage", abs(entries - run.tokens) <= most)


def _tokenizer(runs: Sequence[Run]) -> Iterator[tuple[str, bool]]:
    counted = [run for run in runs if run.retokenised is not None]
    wrong = [run for run in counted if abs((run.retokenised or 0) - run.tokens) > _RECUT + _RECUT_SHARE * run.tokens]
    for run in (wrong or counted)[:1]:
        yield (f"its own tokenizer makes {run.retokenised} tokens of the text of a {run.kind} request, usage says "
               f"{run.tokens}"), not wrong


def _drift(runs: Sequence[Run]) -> list[str]:
    """Return what is wrong with timed runs beside the one for which logprobs vouch: the timed ones cannot be of another
    kind of token."""
    vouched = next((run for run in runs if run.kind == "logprobs" and run.logprobs and run.tokens >= 64), None)
    if vouched is None:
        return []
    wanted = vouched.characters / vouched.tokens
    for run in runs:
        if run.kind in ("timed", "concurrent") and run.tokens >= 64:
            ratio = run.characters / run.tokens
            apart = abs(ratio / wanted - 1) > _DRIFT
            # Both say so, by the same factor: fewer events, and fewer characters.
            both = vouched.pieces >= 0.95 * vouched.tokens and run.pieces < 0.9 * run.tokens and abs(
                run.pieces / run.tokens - ratio / wanted) < 0.1 and ratio < 0.85 * wanted
            if apart or both:
                return [f"{ratio:.2f} characters a token in a {run.kind} request, {wanted:.2f} where logprobs vouch "
                        "for the count"]
    return []


def _events(runs: Sequence[Run]) -> list[str]:
    timed = [run for run in runs if run.kind == "timed"]
    pieces, tokens = sum(run.pieces for run in timed), sum(run.tokens for run in timed)
    if timed and abs(pieces - tokens) <= 2 * len(timed) + _HIDDEN_SHARE * tokens:
        return [f"{pieces} events with text for {tokens} tokens"]
    return []


def prompt_size(seen: Measured) -> Iterator[Finding]:
    """Compare the prompt tokens of usage with the size that was asked for."""
    sized = [run for run in seen.runs if run.target and run.usage and not run.broken]
    if seen.profile == "published" or not sized:
        return
    if seen.filler and abs(seen.filler[0] - seen.filler[1]) > _RECUT + 0.1 * seen.filler[1]:
        yield finding("prompt-size", "tokenizer-differs", "calibration", "fail",
                      f"usage counts {seen.filler[0]} prompt tokens for a filler that the server's own tokenizer makes "
                      f"{seen.filler[1]} of", str(seen.filler[0]), str(seen.filler[1]),
                      "the time to the first token by size means nothing: report it to the engine's maintainers")
        return
    uncounted = [run for run in sized if run.usage and not run.usage.prompt]
    if uncounted:
        yield finding("prompt-size", "not-counted", "usage", "unknown",
                      "usage does not count prompt tokens, so nobody knows how long the long prompts were", "0",
                      "prompt_tokens in usage", "serve with an engine that sends it")
        return
    cut = [run for run in sized if run.usage and run.usage.prompt < _SHORT * run.target - _BESIDE]
    more = [run for run in sized if run.usage and run.usage.prompt > seen.template + _LONG * run.target + _BESIDE]
    for run in (cut or more)[:1]:
        assert run.usage
        code, what = ("prompt-cut", "it was cut") if cut else (
            "prompt-longer", "something was put into it, or the count is wrong")
        yield finding("prompt-size", code, run.kind, "fail", f"a prompt made for {run.target} tokens had "
                      f"{run.usage.prompt} by usage: {what}", str(run.usage.prompt), str(run.target),
                      "look for a limit of the context or of truncation in the engine's options, or a proxy in between")
    if not cut and not more:
        yield finding("prompt-size", OK, "usage", "pass", f"{len(sized)} prompts were as long as asked, the longest of "
                      f"{max(run.usage.prompt for run in sized if run.usage)} tokens")


def needles(seen: Measured) -> Iterator[Finding]:
    """Judge whether the model found two numbers, at the front and in the middle of a long prompt."""
    asked = [run for run in seen.of("needle") if not run.broken]
    if not asked or not any(run.text for run in seen.runs):
        return
    short = [run for run in asked if not run.target]
    long = [run for run in asked if run.target]
    if any(_not_found(run) for run in short):
        yield finding("needle", "short-not-found", "short", "skip",
                      "the model does not find two numbers in a short prompt either, so a long one proves nothing")
        return
    for run in long:
        if missing := _not_found(run):
            where = " and ".join(missing)
            yield finding(
                "needle", "not-found", str(run.target), "fail", f"the number at the {where} of a prompt made for "
                f"{run.target} tokens is not in the answer {' '.join(run.text[:80].split())!r}, although the "
                "model finds it in a short one", run.text[:200], run.expect,
                "the prompt was cut, or attention is wrong at this length: look at the engine's context "
                "options, at the kv cache's type, and at proxies in between")
            return
    if long:
        yield finding("needle", OK, "long", "pass", "numbers at the front and in the middle of prompts of "
                      f"{', '.join(str(run.target) for run in long)} tokens were found")


def _not_found(run: Run) -> list[str]:
    places = zip(("front", "middle"), run.expect.split(), strict=False)
    return [place for place, number in places if not re.search(rf"(?<!\d){re.escape(number)}(?!\d)", run.text)]


def repeatable(seen: Measured) -> Iterator[Finding]:
    """Judge whether one question, asked twice, got the same answer: greedy answers begin alike, and share their
    sentences where they part later."""
    texts = [run.text for run in seen.of("repeat") if not run.broken and len(run.text) >= 2 * _SAME_START]
    if len(texts) < 2:
        return
    first, second = texts[0], texts[-1]
    start = _alike(first, second)
    shared = _shared(first, second)
    if start >= _SAME_START or shared >= _SAME_THREES:
        yield finding("repeatable", OK, "greedy", "pass", f"the same question got the same answer for {start} of "
                      f"{max(len(first), len(second))} characters")
        return
    yield finding("repeatable", "answers-differ", "greedy", "fail",
                  "the same question, asked greedily, got two answers that have nothing in common: "
                  f"{' '.join(first[:40].split())!r} and {' '.join(second[:40].split())!r}", f"{start} characters",
                  f"at least {_SAME_START} characters, or a tenth of the word sequences",
                  "the engine ignores temperature 0, or its kernels give something else each time")


def _alike(first: str, second: str) -> int:
    """Return how many characters both texts begin with."""
    return next((at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
                min(len(first), len(second)))


def _shared(first: str, second: str) -> float:
    """Return the share of three-word sequences that both texts have."""
    one, other = (set(zip(words, words[1:], words[2:], strict=False))
                  for words in (re.findall(r"\w+", text.lower()) for text in (first, second)))
    return len(one & other) / max(1, min(len(one), len(other)))


def model_name(seen: Measured) -> Iterator[Finding]:
    """Compare the model's name in the events with the one that was asked for."""
    names = sorted({name for run in seen.runs for name in run.names if name})
    if not names or not seen.model:
        return
    known = {seen.model, *seen.listed}
    strange = [name for name in names if not any(_same(name, each) for each in known)]
    if strange:
        yield finding("model-name", "other-model", "reply", "fail",
                      f"asked for {seen.model}, the answers are by {', '.join(strange[:3])}", ", ".join(strange[:3]),
                      seen.model, "something sends the requests to another model: ask for the "
                      "one that is wanted with --model, or look at the router in between")
    else:
        yield finding("model-name", OK, "reply", "pass", f"the answers are by {', '.join(names)}")


def _same(name: str, asked: str) -> bool:
    """Whether two names are the same but for case, a folder before them, or a date behind them."""
    one, other = (re.sub(r"-(\d{4}[\d-]*|latest)$", "", each.lower().rstrip("/").rpartition("/")[2])
                  for each in (name, asked))
    return one == other
