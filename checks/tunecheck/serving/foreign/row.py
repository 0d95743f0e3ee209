"""One figure of a file, and what the file itself proves for its count, or against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..measured import USAGE, Run, Usage

__all__ = ["BEHIND", "RETOKENISED", "USAGE_OR", "Row", "nothing", "weighed"]

#: A rate is tokens over seconds as its own file states both; files round.
_AGREE = 0.02
#: Characters a token of real vocabularies.
_CHARS = (1.0, 9.0)
RETOKENISED = 0.1
USAGE_OR = "the client takes usage where the server sends it, and otherwise its own tokenizer's count of the text"
BEHIND = "tokens behind an end that it asked to ignore had no text"


@dataclass(frozen=True)
class Row:
    """One figure of a file. ``way``: how its client counts: usage, asked (the length that it asked for), tokenizer,
    engine, unknown; ``how``: the same as a sentence. ``counts``: tokens of each request; ``texts``: what each answered;
    ``again``: the client's own second count. ``hidden``: why there may be tokens whose text the client never sees;
    ``spoilt``: why it is no figure at all."""

    tokens: float
    seconds: float
    rate: float
    way: str
    how: str
    streams: int = 1
    failed: float = 0
    counts: Sequence[float] = ()
    texts: Sequence[str] = ()
    again: float = 0
    hidden: str = ""
    spoilt: str = ""


def nothing(name: str) -> Run:
    return Run("published", counted_by="unknown", error=f"a file of {name} without a figure of generated tokens")


def weighed(row: Row) -> Run:
    """Return the row as a run, with what the file itself proves for its count, or against it."""
    way, why = row.way, row.how
    texts = sum(map(len, row.texts))
    summed = sum(row.counts)
    if row.failed:
        way, why = "unknown", f"{row.failed:.0f} of its requests failed; {row.how}"
    elif row.spoilt:
        way, why = "unknown", f"{row.spoilt}; {row.how}"
    elif not row.tokens or not row.seconds:
        way, why = "unknown", f"it has no tokens or no time; {row.how}"
    elif not row.rate:
        way, why = "unknown", f"it states no rate of tokens, so nothing to hold its count against; {row.how}"
    elif abs(row.rate - row.tokens / row.seconds) > _AGREE * row.rate:
        way, why = "contradiction", (f"{row.tokens:.0f} tokens / {row.seconds:.3f} s = "
                                     f"{row.tokens / row.seconds:.2f}, the file says {row.rate:.2f}")
    elif row.counts and abs(summed - row.tokens) > _AGREE * row.tokens:
        way, why = "contradiction", f"its requests have {summed:.0f} tokens together, the total says {row.tokens:.0f}"
    elif row.hidden and row.again and row.again < (1 - RETOKENISED) * row.tokens:
        way, why = "unknown", (f"it counted {row.tokens:.0f} tokens, and its own tokenizer makes {row.again:.0f} of "
                               f"the text: usage is too high, or {row.hidden}; the file cannot say which")
    elif row.again and abs(row.again - row.tokens) > RETOKENISED * row.tokens:
        way, why = "contradiction", (f"it counted {row.tokens:.0f} tokens, and its own tokenizer makes "
                                     f"{row.again:.0f} of the text")
    elif row.hidden and row.texts and texts < _CHARS[0] * row.tokens:
        way, why = "unknown", (f"{row.tokens:.0f} tokens for {texts} characters of text, {texts / row.tokens:.2f} a "
                               f"token: usage is too high, or {row.hidden}; the file cannot say which")
    elif texts and not _CHARS[0] <= texts / row.tokens <= _CHARS[1]:
        way, why = "contradiction", (f"{row.tokens:.0f} tokens for {texts} characters of text, "
                                     f"{texts / row.tokens:.2f} a token")
    elif row.way == USAGE and not (row.again or texts):
        way, why = "claimed", f"{row.how}; the file keeps neither texts nor a second count"
    elif row.way == "asked" and not (row.again or texts):
        way, why = "unknown", f"{row.how}; the file keeps nothing of what was delivered"
    elif row.again:
        why = f"{row.how}; {row.tokens:.0f} tokens, and its own tokenizer makes {row.again:.0f} of the text"
    elif texts:
        why = f"{row.how}; {texts / row.tokens:.2f} characters a token"
    # The text is weighed here; a run's own limits are of single streams.
    usage = Usage(0, int(row.tokens)) if way == USAGE else None
    return Run("timed" if row.streams == 1 else "published", int(row.tokens), usage, last_s=row.seconds or None,
               error=why, group=row.streams, finish="length" if way == USAGE else None, counted_by=way)
