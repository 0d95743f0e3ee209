"""The pages about the checks: docs/checks/<id>.md in a checkout, tunecheck/docs in an installed package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import Misuse, UsageError
from ..model.acceptance_codes import CODES as ACCEPTANCE
from ..parsers.containers.variable_words import VARIABLES, variable_of
from ..rules.codes import COMMON
from ..rules.index import BY_ID, CHECKS
from ..util.suggestions import did_you_mean, nearest
from .fact_pages import fact_page
from .sentences import check_of_sentence
from .words.command_line import LINK, by_loader
from .words.document_words import told
from .words.fleet_words import EVENT_WORDS
from .words.terms import LISTED, NAMES, numbered, respelled, term

__all__ = ["WORDS", "asked_for", "page", "summary"]

#: Every word that has a page and is no check, no fact (docs/facts.md) and no code (docs/codes.md).
WORDS = sorted((*LISTED, *VARIABLES), key=str.casefold)

_HERE = Path(__file__).resolve().parents[1]
#: No question by name is longer; a pasted line of a log is.
_LONGEST = 1000
_BETWEEN = re.compile(r"[\s,;/&]+")
#: What a report or a sentence puts around a word.
_AROUND = " \"'`()[]:.?!,;"
#: As the fleet's reports name a finding.
_FINDING = re.compile(r"[0-9a-f]{8}")
_XID_NAME = re.compile(r"(s?xid)\b", re.IGNORECASE)
_ONE_XID = re.compile(r"s?xid(?:[\s:#-]*\d{1,6})?", re.IGNORECASE)
_FOLDERS = (_HERE / "docs", _HERE.parents[1] / "docs" / "checks")


def _near(check: str, ids: list[str]) -> list[str]:
    """Return the ids that may be meant: the one that differs only in case, else those that begin with the word, or have
    a word that does, else those that look like it."""
    if check in ids:
        return [check]
    begin = check.removesuffix("s") if len(check) > 4 else check      # links
    holding = sorted((name for name in ids if f"-{begin}" in f"-{name}"), key=lambda name: not name.startswith(check))
    return holding[:3] if len(check) > 2 and holding else nearest(check, ids, 3, 0.75)


def _alike(name: str) -> list[str]:
    """Return the words that look like ``name``, whatever its case."""
    spelled = {word.upper(): word for word in (*VARIABLES, *NAMES)}
    return [spelled[word] for word in nearest(name.upper(), spelled, 3, 0.65)]


def _in_words(name: str) -> str:
    """Return the id of the check whose id in words this is, in any case: link width, ACS redirect; "" for none."""
    id_ = "-".join(name.lower().split())
    return id_ if id_ in BY_ID else ""


def _naming(word: str) -> list[str]:
    """Return the checks whose pages contain this word."""
    folder = next((each for each in _FOLDERS if each.is_dir()), None)
    if folder is None or len(word) < 3:
        return []
    sought = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
    return [path.stem for path in sorted(folder.glob("*.md")) if path.stem in BY_ID
            and sought.search(path.read_text(encoding="utf-8"))]


def asked_for(words: Sequence[str]) -> list[str]:
    """Return what is asked for, one by one. Words in a row may be one term (PF FLR) or several names, also with commas
    between them: the longest name that begins at a word counts. ``Xid 79, 154`` asks for both Xids, and a pasted line
    of a log for its own."""
    whole = " ".join(" ".join(words).split())
    if len(whole) > _LONGEST or told(whole) or whole.upper() in EVENT_WORDS:
        return [whole]      # "one way", "ghost latch", "GPU lost"
    bare = whole.strip(_AROUND)
    if bare != whole and not _is_name(whole) and (_is_name(bare) or bare.upper() in EVENT_WORDS):
        return [bare]       # as a report and a sentence print it: PIX:, (PIX), "PIX"
    found: list[str] = []
    left = [each for each in _BETWEEN.split(whole) if each]
    while left:
        numbers = _XID_NAME.match(found[-1]) if found else None
        if found and left[0].lower() in ("and", "or"):
            left = left[1:]
        elif numbers and left[0].isdigit():
            found.append(f"{numbers[1]} {left[0]}")
            left = left[1:]
        elif size := next((size for size in range(len(left), 0, -1) if _is_name(" ".join(left[:size]))), 0):
            found.append(" ".join(left[:size]))
            left = left[size:]
        else:
            break
    if left and (not found or (len(found) < 2 and (term(whole) or check_of_sentence(whole)))):
        return [whole]
    if not left and len(found) > 1 and " ".join(found) == whole and check_of_sentence(whole):
        return [whole]      # RmInitAdapter failed: a message of two words that have pages, too
    return list(dict.fromkeys([*found, " ".join(left)] if left else found))


def _is_name(name: str) -> bool:
    """Return whether it is one name that has a page, and nothing else stands behind it."""
    # A name of an event is one by itself: "kernel panic" is not about "kernel".
    known = name.upper() not in EVENT_WORDS and term(name) and ("xid" not in name.lower() or _ONE_XID.fullmatch(name))
    # A plain word (box, full) that documents take as a value may stand in any sentence.
    value = "-" in name and told(name)
    return bool(_in_words(name) or known or fact_page(name) or _code(name) or variable_of(name) or value
                or respelled(name))


def summary(check: str) -> str:
    """Return what is so when the check passes; "" for what is no check."""
    found = BY_ID.get(check) or (None if term(check) else BY_ID.get(_in_words(check) or check_of_sentence(check)))
    return found.summary if found else ""


def page(check: str) -> str:
    """Return the text of the page about a check, a fact, a technical term, a finding's code, or of the check that reads
    this message of the kernel. UsageError for what is none of these, with the nearest checks."""
    ids = [check.id for check in CHECKS]
    if check not in ids:
        if text := term(check) or fact_page(check) or _code(check) or _variable(check):
            # What a report says in a word comes first, also where a code has the same name.
            code = check.strip().lower()
            also = _meanings(code) if term(check) else ""
            text = f"{text}\nA code that a check gives its findings, too:\n\n{also}" if also else text
            return f"{text}\nA value in JSON documents, too:\n\n{values}" if (values := told(check)) else text
        if values := told(check):
            judge = f"\nThe check: `tunecheck explain {_in_words(check)}`\n" if _in_words(check) else ""
            return f"# {check.strip()}\n\nA value in JSON documents.\n\n{values}{judge}"
        if judge := _in_words(check):
            return page(judge)
        if meant := respelled(check):
            return meant
        if judge := check_of_sentence(check):
            return page(judge)
        if _FINDING.fullmatch(check) and not numbered(check):
            raise UsageError(f"{check} is the id of a finding of the fleet, and no check or word; on the control node "
                             "`tunecheck fleet -v` shows it, with what it means", Misuse.NO_SUCH)
        # "noacs": the value of a kernel parameter alone.
        if len(words := [each for each in NAMES if each.upper().partition("=")[2] == check.upper()]) == 1:
            return page(words[0])
        near = [f'"{word}"' for word in numbered(check)] or _near(check.lower().replace("_", "-"), ids) or \
            [word for word in NAMES if len(check) > 2 and word.upper().startswith(check.upper())][:3] or \
            _alike(check)
        naming = _naming(" ".join(check.split())) if not near else []
        hint = did_you_mean(near) if near else \
            f"these pages say it: {', '.join(naming[:5])}" if naming else \
            "`tunecheck checks` lists the checks, and `tunecheck explain --list` the words"
        raise UsageError(f"no check or word is called {check!r}; {hint}", Misuse.NO_SUCH)
    for folder in _FOLDERS:
        if (folder / f"{check}.md").is_file():
            text = (folder / f"{check}.md").read_text(encoding="utf-8")
            return text + (f"\n{by_loader()}" if LINK in text else "") + _codes(check)
    raise UsageError(f"the page of {check} is missing from this installation; install tunecheck again",
                     Misuse.NOT_THERE)


def _variable(name: str) -> str:
    """Return what an environment variable does, and which checks' pages name it; "" where it is none that is known."""
    known = variable_of(name)
    if not known:
        return ""
    what, more = VARIABLES[known]
    pages = ", ".join(f"`tunecheck explain {check}`" for check in _naming(known))
    return (f"# {known}: an environment variable: {what}\n\n{more}".rstrip()
            + (f"\n\nThese pages name it: {pages}" if pages else "") + "\n")


def _codes(check: str) -> str:
    """Return the end of a check's page: its own codes, as its file declares them, and where those of several checks
    are."""
    own = {code: meaning for code, meaning in BY_ID[check].codes.items() if code not in COMMON}
    items = "".join(f"- `{code}`: {meaning}\n" for code, meaning in own.items())
    shared = ", ".join(f"`{code}`" for code in COMMON)
    apart = "\n" if items else ""     # ends the list, so that what follows is a paragraph
    return (f"\n## Codes\n{items}{apart}Codes of several checks are not explained here: {shared}. What one means: "
            "`tunecheck explain CODE`; all of them: docs/codes.md\n")


def _code(name: str) -> str:
    """Return what a finding's code means, for every check that gives it; "" where no check does."""
    code = re.sub(r"^(s?xid)-\d+$", r"\1-N", name.strip().lower())
    if code in COMMON:
        return f"# {code}\n\nA code of several checks: {COMMON[code]}\n"
    items = _meanings(code)
    return f"# {code}\n\nA code that a check gives its findings. To read on: `tunecheck explain CHECK`.\n\n{items}" \
        if items else ""


def _meanings(code: str) -> str:
    if code in COMMON:
        return f"- of several checks: {COMMON[code]}\n"
    meanings = {check.id: check.codes[code] for check in CHECKS if code in check.codes}
    meanings |= {f"accept: {name}": codes[code] for name, codes in ACCEPTANCE.items() if code in codes}
    return "".join(f"- `{check}`: {meaning}\n" for check, meaning in meanings.items())
