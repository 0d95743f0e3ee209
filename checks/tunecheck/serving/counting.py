"""Is the count of tokens one? Pure: what usage says, held against text, limit and the server's own counter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model.acceptance_codes import OK
from ..model.finding import Finding
from .figures import finding
from .measured import USAGE, Measured, Run

__all__ = ["counting", "server_counter"]

#: Characters per token of real vocabularies: Chinese about 1.5, English 4 to 5, code 3.
_CHARS = (1.0, 9.0)


def counting(seen: Measured) -> Iterator[Finding]:
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


def server_counter(seen: Measured) -> Iterator[Finding]:
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
