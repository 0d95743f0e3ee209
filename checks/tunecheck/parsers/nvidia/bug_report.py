"""``nvidia-bug-report.log``: many commands and files in one text, a line of underscores before each.

Below that line and an empty one stands what follows: ``*** /proc/cmdline`` and a ``*** ls: ...`` line before a file,
``*** /path does not exist`` or ``is not readable`` in place of one, else the command as it was run. Checked against
nvidia-bug-report.sh of several releases; it packs section by section, so that the file has hundreds of gzip members.
"""

from __future__ import annotations

import posixpath
import re
from typing import Iterator, Optional

from ...model.absence import Absence, Reason
from ...util.at_first_use import dataclass, regex

__all__ = ["START", "Section", "date", "identity", "sections"]

START = "Start of NVIDIA bug report log file"
_RULE = regex(r"^_{30,}[ \t\r]*\n", re.MULTILINE)
_FILE = regex(r"^\*\*\* (/\S+?)(?: (does not exist|is not readable))?[ \t\r]*$", re.MULTILINE)
_DATE = regex(r"^Date: ([\w :+-]{10,60})$", re.MULTILINE)
_UNAME = regex(r"^uname: Linux (\S+) (\S+) ", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """One section of the report. ``path`` is set for a file, ``absent`` ("not present", "no permission") where it could
    not be read; otherwise ``title`` is the first line."""

    title: str
    text: str
    path: Optional[str] = None
    absent: Optional[Reason] = None


def sections(text: str) -> Iterator[Section]:
    """Yield every section in order. Files that stand inside a command's section are sections of their own."""
    starts = [match.end() for match in _RULE.finditer(text)]
    yield Section("", text[:starts[0] if starts else len(text)])
    for begin, end in zip(starts, [*starts[1:], len(text)]):  # noqa: B905
        body = _RULE.sub("", text[begin:end]).lstrip("\r\n")
        files = [match.start() for match in _FILE.finditer(body)]
        if not files or files[0] > 0:
            yield _command(body[:files[0]] if files else body)
        for first, last in zip(files, [*files[1:], len(body)]):  # noqa: B905
            yield _file(body[first:last])


def _command(body: str) -> Section:
    title, _, rest = body.partition("\n")
    # Where no empty line follows, the first line is output already.
    return Section(title.strip()[:200], rest if not rest.split("\n", 1)[0].strip() else body)


def _file(body: str) -> Section:
    title, _, rest = body.partition("\n")
    named = _FILE.match(title)
    assert named
    path = posixpath.normpath(named.group(1))
    if named.group(2):
        return Section(title, "", path, Reason(
            Absence.NOT_PRESENT if "exist" in named.group(2) else Absence.NO_PERMISSION))
    if rest.startswith("*** ls:"):
        rest = rest.partition("\n")[2]
    # The script ends every section with an empty line of its own.
    return Section(title, rest[:-1] if rest.endswith("\n\n") else rest, path)


def identity(text: str) -> "tuple[Optional[str], Optional[str]]":
    """Return host name and kernel release from the head of the report. Both are None where it does not say them."""
    found = _UNAME.search(text[:8192])
    return (found.group(1), found.group(2)) if found else (None, None)


def date(text: str) -> str:
    """Return when the report was made, as printed in its head, or "" where it does not say so."""
    found = _DATE.search(text[:8192])
    return found.group(1).strip() if found else ""
