"""A machine known only from what somebody posted: answers the questions of a Host from loose texts.

What is not there is Unreadable with a reason that says what to add. Nothing is concluded from silence, except where the
same text would have said it.
"""

from __future__ import annotations

from typing import Any

from ...errors import UsageError
from ...model.absence import Absence, Reason
from ...parsers.nvidia import bug_report
from ...parsers.nvidia.topo_matrix import TABLE
from ...parsers.text.damage import Damage
from ...util.text import some
from ..base import Completed, Unreadable
from ..own_files import how_to_give, own_document
from . import files as imported_files
from . import hosts, kinds, posts
from .nothing import nothing_of_use
from .outputs import ON_THE_BOX, output_for
from .sysfs import synthesise
from .texts import Texts

__all__ = ["ImportedHost", "load_import"]

_TOPO = ("nvidia-smi", "topo", "-m")
#: Kinds of which a machine has one answer.
_ONE = ("lscpu", "numactl -H", "systemctl show", "spec", "/proc/driver/nvidia/version", "/proc/driver/nvidia/params",
        "/proc/swaps")


class ImportedHost:
    """Answers from the texts of an import. ``origins`` maps what was recognised to the files it was in; ``unused``
    lists files in which nothing was, and how many lines of others are in no text of use; ``holes`` says what is wrong
    with files that were used."""

    def __init__(self, texts: Texts, origins: dict[str, list[str]], unused: list[str],
                 holes: tuple[str, ...] = ()) -> None:
        self._texts = texts
        self.origins = origins
        self.unused = unused
        self.holes = holes
        cut = f"lspci is cut short at {texts.cut_at}: what follows is missing" if texts.cut_at else ""
        if cut and texts.only_list:
            cut = "this lspci is a list without details, which may be a part of one"
        if texts.unread_header_at and not cut:
            cut = (f"the first line of a device beside {texts.unread_header_at} in lspci cannot be read: that device "
                   "is missing")
        from .logs.log import doubt  # start-up time

        self.doubts = {**texts.doubts, "/sys/bus/pci/devices": cut or texts.missing, "dmesg": doubt(texts)}
        self.posts = texts.posts
        self.guest = texts.guest

    def read_bytes(self, path: str) -> bytes:
        if path in self._texts.reads:
            return self._texts.reads[path]
        raise self._missing("read", path)

    def list(self, path: str) -> list[str]:
        if path in self._texts.lists:
            return self._texts.lists[path].copy()
        raise self._missing("list", path)

    def realpath(self, path: str) -> str:
        if path in self._texts.realpaths:
            return self._texts.realpaths[path]
        raise self._missing("realpath", path)

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        output = self._texts.runs.get(tuple(argv))
        if output is None:
            raise Unreadable(argv[0], self._texts.errors.get(f"run {argv[0]}") or _reason(" ".join(argv)))
        return Completed(tuple(argv), 0, output, "")

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        """Return the document as far as the texts of `nvidia-smi -q` and nvidia-smi's plain tables tell it. Unreadable
        where none is there."""
        document = None
        if self._texts.smi or "nvidia-smi" in self.posts:
            from .nvidia_smi import document_of  # start-up time

            document = document_of(self._texts)
        if document is None:
            raise Unreadable("NVML", _reason("nvidia-smi -q"))
        return document

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        """Do nothing: an import has no commands to start."""

    def close(self) -> None:
        """Do nothing: an import has no children to end."""

    def _missing(self, kind: str, path: str) -> Unreadable:
        return Unreadable(path, self._texts.errors.get(f"{kind} {path}") or _reason(path))

    def summary(self) -> str:
        """Return one line for people about what was found where."""
        parts = [f"{kind} ({', '.join(dict.fromkeys(files))})" for kind, files in sorted(self.origins.items())]
        holes = "".join(f"; {text}" for text in dict.fromkeys(self.holes))
        unused = f"; not used: {', '.join(self.unused)}" if self.unused else ""
        cut = self.doubts["/sys/bus/pci/devices"]
        text = f"import: {', '.join(parts)}{unused}{cut and f'; {cut}'}{holes}"
        return "".join(char if char.isprintable() else "?" for char in text)


def _reason(question: str) -> Reason:
    # The spec is the operator's to give: for the reader of it this is as a recording without one.
    if question == "/etc/tunecheck/spec.json":
        return Reason(Absence.NOT_RECORDED)
    if "/aer_dev_" in question:
        return Absence.NOT_IN_IMPORT.because("not in the import (no text shows these counters); make a recording: "
                                             "tunecheck preflight --record FILE")
    if question.startswith(ON_THE_BOX):
        return Reason(Absence.ONLY_ON_HOST)
    add = output_for(question)
    return Reason(Absence.NOT_IN_IMPORT, f"not in the import; add: {add}" if add else "")


def load_import(path: str) -> ImportedHost:
    """Read a folder, bug report or text. UsageError where there is nothing to judge in it."""
    texts = Texts()
    origins: dict[str, list[str]] = {}
    seen: list[str] = []
    advice: dict[tuple[str, str], None] = {}
    holes: dict[str, None] = {}
    left: dict[str, int] = {}
    blank = True
    for piece in imported_files.pieces(path):
        blank = blank and not piece.text.strip()
        if piece.origin not in seen:
            seen.append(piece.origin)
        if piece.doubt:
            holes.setdefault(piece.doubt)
        if document := own_document(piece.text):
            advice.setdefault((piece.origin, how_to_give(path, piece.origin, document)))
            continue
        if kinds.is_result(piece.text):
            advice.setdefault((piece.origin, kinds.advice(piece.text) or ""))
            continue
        kind = _take(texts, piece)
        taken = [*([kind] if kind is not None else []), *_kept(texts, piece)]
        if taken and kind not in ("kernel log", "spec", "bug report") and _strays(texts, piece):
            taken.append("kernel log")
        for each in taken:
            origins.setdefault(each, []).append(piece.origin)
        if taken:
            texts.named.setdefault(piece.machine, set()).add(piece.origin)
            texts.logged.setdefault(piece.prompt, set()).add(piece.origin)
            # Bug reports hold everything; what is not judged of one is no news.
            beside = [] if texts.reported else kinds.not_judged(piece.text)
            advice.update(dict.fromkeys((piece.origin, each) for each in beside))
            continue
        if better := kinds.advice(piece.text):
            advice.setdefault((piece.origin, better))
        elif piece.path is None and piece.absent is None and not texts.reported:
            left[piece.origin] = left.get(piece.origin, 0) + len([*filter(str.strip, piece.text.splitlines())])
    if not origins:
        raise nothing_of_use(path, len(seen), blank, [*advice], [*holes])
    if any(_flat(text) for text in texts.smi):
        holes.setdefault("nvidia-smi -q lost the blanks in front of its lines, so most of its values cannot be told "
                         "apart; give it as a file: nvidia-smi -q > q.txt")
    holes.update(dict.fromkeys(_cut_reports(texts)))
    if texts.mixed:
        raise UsageError(f"{path}: these lines are of more than one machine or boot: {texts.mixed[0]}; keep those of "
                         "one", Damage.CONTRADICTS)
    problem = hosts.two(texts.named, texts.logged) or hosts.of_nccl(texts.posts.get("NCCL log", ()))
    if not problem and (problem := synthesise(texts)):
        problem += hosts.by_file(origins)
    if problem:
        raise UsageError(f"{path}: holds texts of two machines, boots or moments: {problem}; keep the newest of one "
                         "machine", Damage.CONTRADICTS)
    holes.update(dict.fromkeys(texts.set_aside))
    holes.update(dict.fromkeys(f"{origin} also holds {better}" for origin, better in [*advice][:5]))
    used = {origin for files in origins.values() for origin in files}
    lines = [f"{number} line{'s' * (number > 1)} of {name}" for name, number in left.items() if number and name in used]
    return ImportedHost(texts, origins, [*(name for name in seen if name not in used), *lines], tuple(holes))


def _cut_reports(texts: Texts) -> list[str]:
    """Return a sentence for each GPU in which a report of nvidia-smi -q ends. A bug report may hold a part on
    purpose."""
    if not texts.smi or texts.reported:
        return []
    from ...parsers.nvidia.smi_query import cut_in  # start-up time

    places = [place for text in texts.smi if not _flat(text) and (place := cut_in(text))]
    return [f"nvidia-smi -q is cut short in GPU{number} {bdf}: what follows is missing" for number, bdf in places]


def _flat(text: str) -> bool:
    from ...parsers.nvidia.smi_tree import is_flat  # start-up time

    return is_flat(text)


def _tables(texts: Texts, piece: imported_files.Piece) -> str:
    """Keep every table of one text, each with what stands above it. Return their kinds in one text."""
    starts = [found.start() for found in TABLE.finditer(piece.text)]
    reports = dict[str, None]()
    for begin, end in zip([0, *starts[1:]], [*starts[1:], len(piece.text)], strict=True):
        above = piece.text[max(0, begin - 300):begin].rsplit("\n\n", 1)[-1] if begin else ""
        reports.setdefault(texts.topo(piece.text[begin:end], _TOPO, f"{piece.title or piece.origin} {above}"))
    return ", ".join(reports)


def _kept(texts: Texts, piece: imported_files.Piece) -> list[str]:
    """Keep the outputs of tools in one text. Return their kinds."""
    if piece.absent is not None or piece.path is not None:
        return []
    found = list(posts.kinds(piece.text))
    for kind in found:
        texts.posts.setdefault(kind, []).append(posts.Post(piece.origin, piece.text))
    if "nvidia-smi -L" in found:
        from ...parsers.nvidia.small_outputs import link_errors, symbols  # start-up time: few texts hold counters

        counted = link_errors(piece.text)
        if counted is not None:
            apart = some(symbols(counted), 3)
            found.append("nvidia-smi nvlink -e" + (f", of which this is not judged: {apart}" if apart else ""))
    # lspci's own kind says it already.
    return [kind for kind in found if kind != "lspci -v"]


def _strays(texts: Texts, piece: imported_files.Piece) -> bool:
    """Keep the lines with an Xid that stand in a text of another kind. Return whether there are any."""
    if piece.path is not None or texts.reported or "NVRM: Xid (" not in piece.text:
        return False
    from .logs.log import strays  # start-up time

    found = strays(piece.text)
    if found:
        _log(texts, found, piece.title or piece.origin)
    return bool(found)


def _log(texts: Texts, text: str, title: str) -> None:
    """Keep a kernel log: its last boot as this one's, the others as history."""
    from .logs.log import add  # start-up time: it takes many patterns

    add(texts, text, title)


def _take(texts: Texts, piece: imported_files.Piece) -> str | None:
    """Keep what one text says. Return its kind, None where it is of no use."""
    if piece.absent is not None and piece.path is not None:
        texts.errors.setdefault(f"read {piece.path}", piece.absent)
        return None
    if bug_report.START in piece.title + piece.text[:2048]:
        texts.reported = True
        texts.taken = texts.taken or bug_report.date(piece.text)
        name, release = bug_report.identity(piece.text)
        for leaf, value in (("hostname", name), ("osrelease", release)):
            if value:
                texts.shown(f"/proc/sys/kernel/{leaf}", value)
        return "bug report"
    if piece.path is not None:
        # A file that the report names is that file, whatever it holds; logs of /var/log may be of other boots.
        texts.shown(piece.path, piece.text)
        if piece.path.startswith("/var/log/") and kinds.recognise(piece.text) == "kernel log":
            _log(texts, piece.text, piece.path)
        return piece.path if piece.path.startswith("/proc/") else None
    shown = kinds.shown(piece.title, piece.text)
    if shown is not None:
        path, content, reason = shown
        if reason:
            texts.errors.setdefault(f"read {path}", reason)
        else:
            texts.given(path, content)
        return path
    kind = kinds.recognise(piece.text)
    if kind in _ONE:
        texts.answer(kind, piece.text)
    if kind == "topo":
        return _tables(texts, piece)
    if kind == "kernel log":
        for name in () if texts.reported else hosts.in_log(piece.text):
            texts.logged.setdefault(name, set()).add(piece.origin)
        _log(texts, piece.text, piece.title or piece.origin)
        return kind
    if kind == "lspci":
        texts.only_list = kinds.is_list(piece.text) and (texts.only_list or not texts.lspci)
        texts.lspci.append(piece.text)
    elif kind == "lspci -m":
        from ...parsers.pci.lspci_machine import listing  # start-up time: few texts are one

        texts.only_list = texts.only_list or not texts.lspci
        texts.lspci.append(listing(piece.text))
    elif kind == "nvidia-smi -q":
        texts.smi.append(piece.text)
    elif kind in ("numactl -H", "lscpu"):
        from . import cpu  # start-up time: few folders hold one

        texts.lscpu += [piece.text] if kind == "lscpu" else []
        read = cpu.from_lscpu if kind == "lscpu" else cpu.from_numactl
        read(piece.text, texts.file, texts.longer)
    elif kind == "systemctl show":
        texts.runs.setdefault(("systemctl", "show", "--property=DefaultLimitMEMLOCK"), piece.text)
    elif kind == "spec":
        texts.file("/etc/tunecheck/spec.json", piece.text)
    elif kind == "sysfs values":
        texts.values(piece.text)
    elif kind is not None:
        texts.file(kind, piece.text)
    return kind
