"""What ``NCCL_DEBUG=INFO`` prints while a communicator is set up: by which transport each rank reaches its peers, the
order of the rings, and what NCCL itself warns of. Written against the logs of NCCL 2.8 to 2.28; every line may have a
program's own prefix, and the ranks' lines are mixed."""

from __future__ import annotations

import re
from dataclasses import field
from itertools import islice
from typing import Dict, List, Set, Tuple

from ...util.at_first_use import dataclass, regex
from .nccl_failures import kind_of, of_torch

__all__ = ["LINE", "Link", "NcclHost", "NcclLog", "hosts_of", "parse_nccl"]

LINE = regex(r"(?:(?<=\s)|^|(?<=\)))(\S{1,200}?):(\d{1,8}):(\d{1,8}) \[(\d{1,4})\] "
             r"(?:\S{1,80}:\d{1,6} )?NCCL (INFO|WARN) ([^\n]*)", re.MULTILINE)
_LINK = regex(r"Channel (\d{1,3})(?:/\d{1,3})? : (\d{1,6})\[[0-9a-f]{1,10}\] -> (\d{1,6})\[[0-9a-f]{1,10}\] "
              r"(?:\[(?:send|receive)\] )?via ([A-Z0-9]{2,12})(/[\w/().-]{0,60})?")
_RING = regex(r"Channel (\d{1,3})/\d{1,3} : +((?:\d{1,6} +)+\d{1,6})\s*$")
_COMM = regex(r"\brank (\d{1,6}) n[rR]anks (\d{1,6})(?: nNodes (\d{1,5}))?")
_ID = regex(r"\bcommId (0x[0-9a-f]{1,16})\b")
#: The host's name at the end of what stands before the process: other tools put theirs in front without a blank.
_HOST = regex(r"[A-Za-z0-9][\w.-]{0,252}\Z")
_COLL = regex(r"(\d{1,3}) coll channels")
_SET = regex(r"(NCCL_[A-Z0-9_]{2,40}) set by environment to (\S{1,60}?)\.?(?:\s|$)")
_APART = regex(r"P2P is disabled between (?:NVLINK )?connected GPUs (\d{1,6}) and (\d{1,6})")
_VERSION = regex(r"NCCL version (\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)(?:\+cuda(\d{1,2}\.\d{1,2}))?")
_MOST = 400_000
_WARNINGS = 40
_HOSTS = 4096


@dataclass(frozen=True)
class Link:
    """One direction between two ranks. ``way`` is P2P, SHM, NET, ..., ``how`` the rest ("/CUMEM")."""

    a: int
    b: int
    way: str
    how: str


@dataclass
class NcclLog:
    """What one log tells. ``links`` maps a direction by its transport to the channels that use it. ``whole``: every
    rank of the communicator has a line for each of its channels."""

    version: str = ""
    cuda: str = ""
    ranks: int = 0
    nodes: int = 0
    coll_channels: int = 0
    links: Dict[Link, Set[int]] = field(default_factory=dict)
    rings: Dict[int, Tuple[int, ...]] = field(default_factory=dict)
    hosts: Dict[int, str] = field(default_factory=dict)
    variables: Dict[str, str] = field(default_factory=dict)
    apart: Set[Tuple[int, int]] = field(default_factory=set)
    warnings: List[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        if not self.ranks or not self.links:
            return False
        seen: Dict[int, Set[int]] = {}
        for link, channels in self.links.items():
            seen.setdefault(link.a, set()).update(channels)
        wanted = set(range(self.coll_channels)) if self.coll_channels else {0}
        return self.ranks < 4097 and all(wanted <= seen.get(rank, set()) for rank in range(self.ranks))

    def one_host(self, link: Link) -> bool:
        """Return whether both ends of the link run on one machine, as far as the log tells."""
        if link.way in ("P2P", "SHM"):
            return True
        a, b = self.hosts.get(link.a), self.hosts.get(link.b)
        return self.nodes == 1 or (a is not None and a == b)


@dataclass
class NcclHost:
    """What a log tells of one machine's part. ``nodes``: of how many machines its largest job is, 0 where that is not
    told; ``ids`` of communicators; ``size`` and ``ranks``: of its largest one, and those that ran here."""

    lines: int = 0
    nodes: int = 0
    ids: Set[str] = field(default_factory=set)
    size: int = 0
    ranks: Set[int] = field(default_factory=set)

    @property
    def machines(self) -> int:
        """``nodes``; 1 where every rank ran here."""
        return self.nodes or int(0 < self.size <= len(self.ranks))


def hosts_of(text: str, known: Dict[str, NcclHost]) -> List[str]:
    """Add what the log tells of each machine to ``known``. Return the machines that it names. Never fails."""
    named: Dict[str, None] = {}
    for line in islice(LINE.finditer(text), _MOST):
        name = _HOST.search(line.group(1))
        if name is None or (name[0] not in known and len(known) >= _HOSTS):
            continue
        host = known.setdefault(name[0], NcclHost())
        named.setdefault(name[0])
        host.lines += 1
        said = line.group(6)[:4000]
        comm = _COMM.search(said)
        if comm:
            rank, size = int(comm.group(1)), int(comm.group(2))
            if size > host.size:
                host.size, host.ranks = size, set()
            if size == host.size and len(host.ranks) < _HOSTS:
                host.ranks.add(rank)
            host.nodes = max(host.nodes, int(comm.group(3) or 0))
        ids = _ID.search(said)
        if ids and len(host.ids) < _HOSTS:
            host.ids.add(ids.group(1))
    return list(named)


def parse_nccl(text: str) -> NcclLog:
    """Return everything that the log tells. Of several communicators the largest counts. Never fails."""
    result = NcclLog()
    version = _VERSION.search(text)
    if version:
        result.version, result.cuda = version.group(1), version.group(2) or ""
    count = 0
    for line in LINE.finditer(text):
        count += 1
        if count > _MOST:
            break
        said = line.group(6)[:4000]
        if line.group(5) == "WARN":
            _warned(result, said.strip()[:200])
            found = _APART.search(said)
            if found:
                _parted(result, found)
            continue
        _info(result, said, line.group(1))
    for told in of_torch(text):
        _warned(result, told[:200])
    result.warnings.sort(key=lambda line: not kind_of(line))
    return result


def _warned(result: NcclLog, line: str) -> None:
    """Keep a warning once. One that says that something broke is kept however many others there are."""
    if line and line not in result.warnings and (len(result.warnings) < _WARNINGS or (
            len(result.warnings) < 2 * _WARNINGS and kind_of(line))):
        result.warnings.append(line)


def _info(result: NcclLog, said: str, host: str) -> None:
    link = _LINK.search(said)
    if link:
        key = Link(int(link.group(2)), int(link.group(3)), link.group(4), link.group(5) or "")
        if key in result.links or len(result.links) < 20_000:
            result.links.setdefault(key, set()).add(int(link.group(1)))
        return
    ring = _RING.search(said)
    if ring:
        result.rings.setdefault(int(ring.group(1)), tuple(int(rank) for rank in ring.group(2).split()[:4096]))
        return
    comm = _COMM.search(said)
    if comm and int(comm.group(2)) >= result.ranks:
        if int(comm.group(2)) > result.ranks:
            result.ranks, result.nodes = int(comm.group(2)), 0
        result.nodes = max(result.nodes, int(comm.group(3) or 0))
        if len(result.hosts) < 8192:
            result.hosts.setdefault(int(comm.group(1)), host)
    coll = _COLL.search(said)
    if coll:
        result.coll_channels = max(result.coll_channels, int(coll.group(1)))
    for variable in _SET.finditer(said):
        if len(result.variables) < 200:
            result.variables[variable.group(1)] = variable.group(2)
    found = _APART.search(said)
    if found:
        _parted(result, found)


def _parted(result: NcclLog, found: "re.Match[str]") -> None:
    if len(result.apart) < 4096:
        a, b = sorted((int(found.group(1)), int(found.group(2))))
        result.apart.add((a, b))
