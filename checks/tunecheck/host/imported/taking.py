"""What of one text of an import is kept, and of which kind the text is."""

from __future__ import annotations

from ...parsers.nvidia import bug_report
from ...parsers.nvidia.topo_matrix import TABLE
from ...util.text import some
from . import hosts, kinds, posts
from .files import Piece
from .texts import Texts

__all__ = ["kept", "strays", "take"]

_TOPO = ("nvidia-smi", "topo", "-m")
#: Kinds of which a machine has one answer.
_ONE = ("lscpu", "numactl -H", "systemctl show", "spec", "/proc/driver/nvidia/version", "/proc/driver/nvidia/params",
        "/proc/swaps")


def _tables(texts: Texts, piece: Piece) -> str:
    """Keep every table of one text, each with what stands above it. Return their kinds in one text."""
    starts = [found.start() for found in TABLE.finditer(piece.text)]
    reports = dict[str, None]()
    for begin, end in zip([0, *starts[1:]], [*starts[1:], len(piece.text)], strict=True):
        above = piece.text[max(0, begin - 300):begin].rsplit("\n\n", 1)[-1] if begin else ""
        reports.setdefault(texts.topo(piece.text[begin:end], _TOPO, f"{piece.title or piece.origin} {above}"))
    return ", ".join(reports)


def kept(texts: Texts, piece: Piece) -> list[str]:
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


def strays(texts: Texts, piece: Piece) -> bool:
    """Keep the lines with an Xid that stand in a text of another kind. Return whether there are any."""
    if piece.path is not None or texts.reported or "NVRM: Xid (" not in piece.text:
        return False
    from .logs.log import strays as lines_with_xid  # start-up time

    found = lines_with_xid(piece.text)
    if found:
        _log(texts, found, piece.title or piece.origin)
    return bool(found)


def _log(texts: Texts, text: str, title: str) -> None:
    """Keep a kernel log: its last boot as this one's, the others as history."""
    from .logs.log import add  # start-up time: it takes many patterns

    add(texts, text, title)


def take(texts: Texts, piece: Piece) -> str | None:
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
