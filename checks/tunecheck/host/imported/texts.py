"""The answers that the texts of an import give, as they are collected. Texts of one kind that differ are all kept;
what they come to, contradictions/ and the readers say."""

from __future__ import annotations

import re
from dataclasses import field

from ...model.absence import Reason
from ...parsers.nvidia.topo_matrix import Matrix, kind_of, parse_matrix
from ...util.at_first_use import dataclass, regex
from .posts import Post

__all__ = ["Texts"]

#: `nvidia-smi topo -p2p r`, `smi_topo_p2p-rw.txt`
_P2P = regex(r"p2p[ _-]{0,3}([rwnap]{1,2})(?![a-z0-9])", re.IGNORECASE)
_TITLE = 400
_VALUE = regex(r"^(/(?:sys|proc/sys)/(?:[\w.-]+/)+[\w.-]+):(.*)$", re.MULTILINE)


@dataclass
class Texts:
    """The answers so far. ``reads``, ``lists``, ``realpaths`` and ``errors`` are as in RecordedHost; ``runs`` maps
    commands to their output. The first text of a kind counts, of kernel logs the most complete one. ``cut_at`` is the
    device in which an lspci text ends, "" for a complete one; ``unread_header_at`` the one beside a device whose first
    line cannot be read. ``past``: the lines of earlier boots, each with where they are from; ``taken``: when a bug
    report or nvidia-smi was made; ``only_list``: lspci came without details, and such a list does not show its end;
    ``guest``: the hypervisor that a text names; ``missing``: why a device must be there that no text shows; ``doubts``:
    as in base.doubt; ``answers``: every text of the kinds of which a machine has one, ``files``: what a text shows as
    the content of a path; ``torn``: what two texts say of a path that can have only one value; ``named`` and
    ``logged``: as in hosts.two; ``set_aside``: what was recognised and is not judged, or tells too little, and why;
    ``mixed``: which logs are of several machines, and what shows it."""

    reads: dict[str, bytes] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    realpaths: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Reason] = field(default_factory=dict)
    runs: dict[tuple[str, ...], str] = field(default_factory=dict)
    lspci: list[str] = field(default_factory=list)
    smi: list[str] = field(default_factory=list)
    posts: dict[str, list[Post]] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    torn: dict[str, str] = field(default_factory=dict)
    tables: list[Matrix] = field(default_factory=list)
    cmdlines: list[str] = field(default_factory=list)
    past: list[tuple[str, str]] = field(default_factory=list)
    reported: bool = False
    taken: str = ""
    doubts: dict[str, str] = field(default_factory=dict)
    cut_at: str = ""
    unread_header_at: str = ""
    missing: str = ""
    only_list: bool = False
    guest: str = ""
    lscpu: list[str] = field(default_factory=list)
    named: dict[str, set[str]] = field(default_factory=dict)
    logged: dict[str, set[str]] = field(default_factory=dict)
    set_aside: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)

    def file(self, path: str, content: str) -> None:
        self.reads.setdefault(path, content.encode())
        if path == "/proc/cmdline":
            self.cmdlines.append(content)

    def answer(self, kind: str, text: str) -> None:
        """Keep one more text of a kind of which a machine has one."""
        self.answers.setdefault(kind, []).append(text)

    def given(self, path: str, content: str) -> None:
        """Keep what one text says of a path. Another value than that of the text before is none that counts."""
        known = self.reads.get(path)
        if known is not None and path != "/proc/cmdline" and known.split() != content.encode().split():
            one, other = known.decode().strip()[:40], content.strip()[:40]
            self.torn.setdefault(path, f"two texts differ: {one!r} and {other!r}")
        self.shown(path, content)

    def shown(self, path: str, content: str) -> None:
        """Keep what a text shows as the content of this path itself; file() also keeps what follows from others."""
        self.files.setdefault(path, content)
        self.file(path, content)

    def longer(self, path: str, content: str) -> None:
        """Keep a list at ``path``, if it is longer than the one that is there: another text may hold only the beginning
        of it."""
        if len(content) > len(self.reads.get(path, b"")) or path not in self.reads:
            self.reads[path] = content.encode()

    def topo(self, text: str, command: tuple[str, ...], name: str) -> str:
        """Keep a table of GPUs and return its kind for people. Which status a table of `topo -p2p` shows, it does not
        say itself: the command above it does, or else ``name``, the file's (topo-p2p-r.txt). One that nobody names is
        kept under the letter "?"."""
        try:
            matrix = parse_matrix(text)
        except ValueError as error:
            kind = kind_of(text)
            self.set_aside.append(f"nvidia-smi {kind} cannot be used: {error}")
            for each in self._commands(text, command, name) if kind == "topo -p2p" else [command]:
                self.runs.setdefault(each, text)     # the fact says what is wrong with it
            return f"nvidia-smi {kind}"
        if matrix.kind == "topo -m":
            if not self.tables:
                self.runs[command] = text
            self.tables.append(matrix)
            return f"nvidia-smi {matrix.kind}"
        asked = self._commands(text, command, name)
        for each in asked:
            kind = f"nvidia-smi topo -p2p {each[-1]}" if each[-1] != "?" else \
                "nvidia-smi topo -p2p (which letter is not told: put the command above each)"
            if kind not in self.answers:        # one that cannot be used may be there
                self.runs[each] = text
            self.answer(kind, text)
        if asked[0][-1] == "?":
            return "nvidia-smi topo -p2p (the text does not say with which letter: put the command above it)"
        return f"nvidia-smi {matrix.kind}"

    @staticmethod
    def _commands(text: str, command: tuple[str, ...], name: str) -> list[tuple[str, ...]]:
        """Return the commands that a table of `topo -p2p` is an answer to."""
        named = _P2P.search(text[:_TITLE]) or _P2P.search(name[-_TITLE:])
        return [(*command[:2], "-p2p", letter) for letter in (named.group(1).lower() if named else "?")]

    def values(self, text: str) -> None:
        """Keep each path and value in the output of `grep . FILES`."""
        for path, value in _VALUE.findall(text):
            self.given(path, value)
            policy = re.match(r"(/sys/devices/system/cpu/cpufreq)/(policy\d+)/", path)
            if policy:
                names = self.lists.setdefault(policy.group(1), [])
                if policy.group(2) not in names:
                    names.append(policy.group(2))
            module = re.match(r"/sys/module/\w+(?=/parameters/)", path)
            if module:
                self.lists.setdefault(module.group(), [])
