"""The answer of NCCL RAS to "verbose status": who does not answer, and which rank is behind in which collective.

Written from NCCL's sources, 2.24 to 2.29 (src/ras/client_support.cc), and from answers of 2.28.9. Until 2.25 missing
ranks are listed without their process, and the collective has no name. The text comes from the engine, which may be
anybody's: what is not understood is left out, and everything has a bound."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["MOST", "Behind", "Failed", "Peer", "Rank", "Ras", "parse"]

#: Characters that are read. 8 ranks in 20 communicators make 20 KB.
MOST = 1 << 20
_MOST_LINES, _MOST_FOUND = 20_000, 256

_VERSION = regex(r"NCCL version ([0-9][0-9A-Za-z.+-]{0,30})")
_HEAD = regex(r"#[0-9]{1,6}-[0-9]{1,6} \(([0-9a-f]{1,16})\) (INCOMPLETE|ERROR|MISMATCH)")
_AT = (r"GPU (?P<gpu>[0-9]{1,4})(?: \(NVML (?P<nvml>[0-9]{1,4})\))? managed by process (?P<pid>[0-9]{1,10})"
       r"(?: .{0,200})?")
_PEER = regex(r"  Process (?P<pid>[0-9]{1,10}) on node .{0,100}? managing GPUs? (?P<gpus>[0-9,]{1,200})"
              r"(?: \(NVML (?P<nvml>[0-9,]{1,200})\))?")
_RANK = regex(r"  Rank (?P<rank>[0-9]{1,7})(?P<said> [^-]{1,80})? -- (?:" + _AT +
              r"|\[process information not found\])")
_OLD_MISSING = regex(r"  The missing ranks?: ([0-9,]{1,2000})")
_COUNTS = regex(r"  Communicator ranks have different (\w{1,30}) operation counts")
_GROUP = regex(r"  [0-9]{1,7} ranks have (?:launched up to operation ([0-9]{1,19})|not launched any operations)")
_ONE = regex(r" has (?:launched up to operation ([0-9]{1,19})|not launched any operations)")
_ERRORS = regex(r"  [0-9]{1,7} ranks reported (.{1,80})")
_ERROR = regex(r" reported (.{1,80})")
_ROW = regex(r" *[0-9]{1,6} +[0-9]{1,7} +([0-9]{1,7}) +[0-9-]{1,15} +[0-9]{1,7} +[0-9]{1,7} +[A-Z]{2,10} +"
             r"([A-Z,]{2,40})")
_NODE = regex(r" on node (\S{1,100})")


@dataclass(frozen=True)
class Peer:
    """A process. ``pid`` is its id in its own namespace, as it says of itself; ``gpus`` are NVML's indices there."""

    pid: int
    gpus: Tuple[int, ...] = ()


@dataclass(frozen=True)
class Rank:
    """One rank. ``communicator`` is the hash of its communicator. ``pid`` and ``gpu`` (NVML's index, as the process
    sees it) are None where nobody says them."""

    communicator: str
    number: int
    pid: Optional[int] = None
    gpu: Optional[int] = None


@dataclass(frozen=True)
class Behind:
    """A rank that is behind: it has launched ``launched`` operations of the collective, and others ``others``, which is
    more. ``collective`` is "AllReduce" or the like; "" where this NCCL does not tell them apart."""

    rank: Rank
    collective: str
    launched: int
    others: int


@dataclass(frozen=True)
class Failed:
    """An error that NCCL itself reports of a rank."""

    rank: Rank
    error: str


@dataclass(frozen=True)
class Ras:
    """One answer of RAS. ``text`` is the answer itself. ``silent``: processes that gave no answer; ``dead``: those that
    NCCL has given up; ``missing``: ranks of which nothing is known. ``unequal`` counts the collectives, over all
    communicators, whose ranks have launched different numbers of operations, whether or not ``behind`` can name one.
    ``communicators``: rows of its table, None where it has none. ``whole``: the answer ended as it should. ``nodes``:
    machines of the job, as far as the answer names them: with more than one a process id may be another machine's."""

    text: str = ""
    version: str = ""
    silent: Tuple[Peer, ...] = ()
    dead: Tuple[Peer, ...] = ()
    missing: Tuple[Rank, ...] = ()
    behind: Tuple[Behind, ...] = ()
    failed: Tuple[Failed, ...] = ()
    unequal: int = 0
    communicators: Optional[int] = None
    whole: bool = False
    nodes: int = 1

    @property
    def understood(self) -> bool:
        """Whether the text is an answer of RAS: its table of communicators was found."""
        return self.communicators is not None


def parse(text: str, ended: bool = True) -> Ras:
    """Parse one answer. Never fails: a text of something else is not ``understood``. ``ended``: its sender said that
    this is all. A line without its end is not believed: a number in it may be longer."""
    reader = _Reader()
    *lines, last = text[:MOST].split("\n", _MOST_LINES)
    for line in lines:
        reader.line(line.rstrip("\r"))
    return reader.ended(text, ended and not last and len(text) <= MOST)


class _Reader:
    """Reads an answer line by line. ``_place`` is the heading under which the line stands; ``_counts`` is what each
    named rank has launched of one collective."""

    def __init__(self) -> None:
        self._place, self._communicator = "", ""
        self._version, self._rows, self._unequal = "", None, 0  # type: str, Optional[int], int
        self._warnings = False
        self._peers: Dict[str, List[Peer]] = {"INCOMPLETE": [], "DEAD": []}
        self._missing: List[Rank] = []
        self._behind: List[Behind] = []
        self._failed: List[Failed] = []
        self._collective: Optional[str] = None
        self._group: Optional[int] = None
        self._error = ""
        self._counts: List[Rank] = []               # who has launched least, as far as they are named
        self._seen: Optional[Tuple[int, int]] = None    # the least and the most that anybody has
        self._nodes = 1
        self._names: Dict[str, None] = {}

    def line(self, line: str) -> None:
        if not line.strip():
            self._end_of_counts()
            return
        if not line.startswith(" "):
            self._heading(line)
            return
        row = _ROW.fullmatch(line.rstrip()) if self._rows is not None and not self._place else None
        if row is not None:
            self._rows, self._nodes = (self._rows or 0) + 1, max(self._nodes, int(row[1]))
            return
        node = _NODE.search(line)
        if node and len(self._names) < _MOST_FOUND:
            self._names[node[1]] = None
        peer = _PEER.fullmatch(line.rstrip()) if self._place in self._peers and not self._communicator else None
        if peer is not None and len(self._peers[self._place]) < _MOST_FOUND:
            self._peers[self._place].append(Peer(int(peer["pid"]), _numbers(peer["nvml"] or peer["gpus"])))
        elif self._communicator:
            self._of_communicator(line.rstrip())

    def ended(self, text: str, said: bool) -> Ras:
        # Of a list that was cut the last one may be missing, who is the one behind.
        if said:
            self._end_of_counts()
        whole = self._warnings and said
        return Ras(text[:MOST], self._version, tuple(self._peers["INCOMPLETE"]), tuple(self._peers["DEAD"]),
                   tuple(self._missing), tuple(self._behind), tuple(self._failed), self._unequal, self._rows, whole,
                   max(self._nodes, len(self._names)))

    def _heading(self, line: str) -> None:
        self._end_of_counts()
        version, head = _VERSION.match(line), _HEAD.fullmatch(line)
        if version and not self._version:
            self._version = version[1]
        elif head:
            self._communicator, self._place = head[1], head[2]
        elif line in ("INCOMPLETE", "DEAD", "TIMEOUT", "Errors", "Warnings"):
            self._place, self._communicator = line, ""
            self._warnings = self._warnings or line == "Warnings"
        elif line.startswith(("Group ", "No communicator data")):
            self._rows, self._place, self._communicator = 0, "", ""
        self._error = ""

    def _of_communicator(self, line: str) -> None:
        counts, group, errors = _COUNTS.fullmatch(line), _GROUP.fullmatch(line), _ERRORS.fullmatch(line)
        old = _OLD_MISSING.fullmatch(line)
        if counts:
            self._end_of_counts()
            self._collective = "" if counts[1] == "collective" else counts[1]
        elif group and self._collective is not None:
            self._group = int(group[1] or 0)
            self._saw(self._group)
        elif errors and self._place == "ERROR":
            self._error = _plain(errors[1])
        elif old and self._place == "INCOMPLETE":
            self._missing += [Rank(self._communicator, each) for each in _numbers(old[1])][:self._room(self._missing)]
        else:
            self._rank(line)

    def _rank(self, line: str) -> None:
        found = _RANK.fullmatch(line)
        if found is None:
            return
        gpu = found["nvml"] or found["gpu"]
        rank = Rank(self._communicator, int(found["rank"]), int(found["pid"]) if found["pid"] else None,
                    int(gpu) if gpu else None)
        said = found["said"] or ""
        if self._place == "INCOMPLETE" and self._room(self._missing):
            self._missing.append(rank)
        elif self._place == "ERROR":
            one = _ERROR.fullmatch(said)
            if (one or self._error) and self._room(self._failed):
                self._failed.append(Failed(rank, _plain(one[1]) if one else self._error))
        elif self._collective is not None:
            single = _ONE.fullmatch(said)
            count = int(single[1] or 0) if single else self._group if not said else None
            if count is not None:
                self._saw(count)
                if self._seen and count == self._seen[0] and self._room(self._counts):
                    self._counts.append(rank)

    def _saw(self, count: int) -> None:
        least, most = self._seen or (count, count)
        if count < least:
            self._counts = []
        self._seen = min(count, least), max(count, most)

    def _end_of_counts(self) -> None:
        """Take the counts of one collective to an end. The ranks that launched least hold up the others, which wait for
        their part."""
        if self._collective is not None and self._seen is not None and self._seen[0] < self._seen[1]:
            self._unequal += 1
            self._behind += [Behind(rank, self._collective, *self._seen) for rank in self._counts][
                :self._room(self._behind)]
        self._collective, self._group, self._counts, self._seen = None, None, [], None

    @staticmethod
    def _room(found: List) -> int:  # type: ignore[type-arg]
        return max(0, _MOST_FOUND - len(found))


def _numbers(text: str) -> Tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each and len(each) < 8)[:_MOST_FOUND]


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
