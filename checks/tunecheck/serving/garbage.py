"""Is this what a healthy model writes? The functions return reasons why not. Pure.

Needed beside the speed: an engine with one NaN in its weights answered HTTP 200, finish_reason length, as fast as a
healthy one or faster (measured with llama.cpp). Only for greedy output: at temperature 1 noise passes every one of
these. Thresholds: no false alarm on 4 models x 3 settings; tables and code would need others."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

__all__ = ["Ill", "Sign", "alike", "logprob_reasons", "mean", "nonsense", "reasons", "repeated", "told"]


class Ill(StrEnum):
    """What no healthy model writes."""

    NO_TEXT = "no-text"
    REPLACED = "replaced"
    CONTROL = "control"
    ONE_CHARACTER = "one-character"
    COMPRESSES = "compresses"
    SAME_CHARACTERS = "same-characters"
    SAME_WORDS = "same-words"
    BLANK = "blank"
    UNCOMMON_WORDS = "uncommon-words"
    ARTICLES = "articles"
    NULL_LOGPROBS = "null-logprobs"
    SAME_LOGPROBS = "same-logprobs"
    ABOVE_ZERO = "above-zero"
    UNLIKELY = "unlikely"


@dataclass(frozen=True)
class Sign:
    """One thing that is wrong with an answer. ``text``: a short sentence with its figures."""

    code: Ill
    text: str


def told(signs: Iterable[Sign]) -> str:
    """Return these signs as one text."""
    return "; ".join(each.text for each in signs)


#: Shorter texts are only looked at for their characters: a short answer repeats nothing and compresses badly.
_LONG = 120
_NGRAM = 8
#: zlib's ratio grows with the length; the limit below was tried on texts of this size.
_WINDOW = 8192
#: The most likely token of a flat choice among seven. Greedy prose of healthy models lies above -1.
_UNLIKELY = -2.0


def reasons(text: str) -> list[Sign]:
    """Return what is wrong with a greedy text, [] for nothing."""
    if not text:
        return [Sign(Ill.NO_TEXT, "no text at all")]
    size = len(text)
    found = []
    lost = text.count("\ufffd") / size
    if lost > 0.02:
        found.append(Sign(Ill.REPLACED, f"{lost:.0%} of the characters are U+FFFD"))
    control = sum(ord(each) < 32 and each not in "\n\t\r" for each in text) / size
    if control > 0.01:
        found.append(Sign(Ill.CONTROL, f"{control:.0%} of the characters are control characters"))
    longest = max(len(run.group()) for run in re.finditer(r"(.)\1*", text, re.DOTALL))
    if longest >= 40 and longest > 0.1 * size:
        found.append(Sign(Ill.ONE_CHARACTER, f"one character {longest} times in a row"))
    return found + _repeated(text) if size >= _LONG else found


def alike(answers: Sequence[tuple[str, str]]) -> int:
    """Return how many questions all got one and the same answer; 0 where answers differ. ``answers``: what is expected,
    "" for the timed question, whose greedy answers may well be equal, and the text."""
    questions = {question for question, _ in answers}
    return len(questions) if len(questions) > 1 and len({text.strip() for _, text in answers}) == 1 else 0


def _repeated(text: str) -> list[Sign]:
    found = []
    ratio = max(len(part) / len(zlib.compress(part, 9)) for part in _parts(text.encode("utf-8", "replace")))
    if ratio > 6:
        found.append(Sign(Ill.COMPRESSES, f"it compresses {ratio:.0f} to 1 (prose: 2 to 4)"))
    grams = len(text) - _NGRAM + 1
    [(_, top)] = Counter(text[at:at + _NGRAM] for at in range(grams)).most_common(1)
    if top > 0.1 * grams:
        found.append(Sign(Ill.SAME_CHARACTERS, f"the same {_NGRAM} characters make up {top / grams:.0%} of it"))
    words = re.findall(r"\w+", text)
    if len(words) >= 40:
        fours = [tuple(words[at:at + 4]) for at in range(len(words) - 3)]
        share = len(set(fours)) / len(fours)
        if share < 0.35:
            found.append(Sign(Ill.SAME_WORDS, f"only {share:.0%} of its four-word sequences are distinct"))
    blank = sum(each.isspace() for each in text) / len(text)
    # Chinese and Japanese do without blanks.
    if blank > 0.5 or (blank < 0.02 and text.isascii()):
        found.append(Sign(Ill.BLANK, f"{blank:.0%} of it is white space"))
    return found


#: The commonest words of the languages that a model may answer an English question in.
_COMMON = frozenset((
    "a", "al", "an", "and", "are", "as", "at", "au", "auf", "be", "by", "can", "ce", "che", "com", "como", "con",
    "da", "dans", "das", "dat", "de", "del", "della", "dem", "den", "der", "des", "di", "die", "do", "du", "e",
    "een", "ein", "eine", "el", "em", "en", "es", "est", "et", "for", "from", "gli", "have", "het", "i", "if", "il",
    "im", "in", "is", "ist", "it", "its", "la", "las", "le", "les", "lo", "los", "mit", "na", "nao", "nicht", "no",
    "non", "not", "o", "of", "on", "op", "or", "os", "par", "para", "pas", "per", "por", "pour", "que", "qui", "se",
    "sich", "sie", "sono", "sur", "te", "that", "the", "this", "to", "um", "uma", "un", "una", "und", "une", "van",
    "von", "werden", "which", "will", "wird", "with", "y", "you", "your", "zu",
))  # fmt: skip
_ARTICLES = frozenset(("the", "a", "an"))
#: What no English sentence has behind an article.
_NEVER = frozenset(("the", "a", "an", "of", "and", "is", "are", "to", "in", "for", "that", "was", "or", "with", "be",
                    "by", "from", "which", "it", "this", "can", "will", "if", "not", "have"))
_SHINGLE = 12


def nonsense(text: str) -> list[Sign]:
    """Return why a long answer to the timed question is no language at all; [] where it is. Only for texts in Latin
    letters: letters at random and words at random pass every test of repetition."""
    words = re.findall(r"[a-z]+", text.lower())
    latin = sum(len(each) for each in words) / max(1, sum(each.isalpha() for each in text))
    if len(words) < 60 or latin < 0.8:
        return []
    found = []
    common = sum(each in _COMMON for each in words) / len(words)
    if common < 0.06:
        found.append(Sign(Ill.UNCOMMON_WORDS, f"only {common:.0%} of its words are the common ones of a language "
                          "(prose: 20 % to 50 %)"))
    behind = [later for earlier, later in pairwise(words) if earlier in _ARTICLES]
    wrong = sum(each in _NEVER for each in behind)
    if len(behind) >= 15 and wrong > 0.12 * len(behind):
        found.append(Sign(Ill.ARTICLES, f"behind {wrong} of {len(behind)} articles stands a word that no sentence has "
                          "there"))
    return found


def repeated(text: str) -> float:
    """Return how much of a text repeats what stood in it before: the share (0 to 1) of twelve-word sequences that are
    not the first of their kind, over the whole text. 0 for short ones."""
    words = re.findall(r"\w+", text)
    if len(words) < 8 * _SHINGLE:
        return 0.0
    found = [hash(tuple(words[at:at + _SHINGLE])) for at in range(len(words) - _SHINGLE + 1)]
    return 1 - len(set(found)) / len(found)


def _parts(content: bytes) -> list[bytes]:
    whole = [content[at:at + _WINDOW] for at in range(0, len(content), _WINDOW)]
    return [part for part in whole if len(part) >= _LONG] or [content]


def logprob_reasons(logprobs: Sequence[float | None]) -> list[Sign]:
    """Return what is wrong with the tokens' logprobs: null or not finite, or the same few for every token (seen on
    SM120 as one token with one logprob at every position, vLLM issue 52938)."""
    finite = [round(each, 6) for each in logprobs if each is not None and math.isfinite(each)]
    found = []
    if len(finite) < len(logprobs):
        found.append(Sign(Ill.NULL_LOGPROBS, f"{len(logprobs) - len(finite)} of {len(logprobs)} logprobs are null or "
                          "not finite"))
    if len(finite) >= 32 and len(set(finite)) <= 2:
        found.append(Sign(Ill.SAME_LOGPROBS, f"{len(finite)} tokens have only {len(set(finite))} different logprobs"))
    if any(each > 0.001 for each in finite):
        found.append(Sign(Ill.ABOVE_ZERO, "a logprob is above 0, which none can be"))
    if len(finite) >= 32 and mean(finite) < _UNLIKELY:
        found.append(Sign(Ill.UNLIKELY, f"its tokens have a mean logprob of {mean(finite):.2f}: a greedy answer of a "
                          "healthy model is likely, -0.2 to -0.6"))
    return found


def mean(logprobs: Sequence[float | None]) -> float:
    """Return the mean of those logprobs that are finite; 0 for none."""
    finite = [each for each in logprobs if each is not None and math.isfinite(each)]
    return sum(finite) / len(finite) if finite else 0.0
