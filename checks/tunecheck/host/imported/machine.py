"""A machine known only from what somebody posted: answers the questions of a Host from loose texts.

What is not there is Unreadable with a reason that says what to add. Nothing is concluded from silence, except where the
same text would have said it.
"""

from __future__ import annotations

from typing import Any

from ...errors import UsageError
from ...model.absence import Absence, Reason
from ...parsers.text.damage import Damage
from ..base import Completed, Unreadable
from ..own_files import how_to_give, own_document
from . import files as imported_files
from . import hosts, kinds
from .nothing import nothing_of_use
from .outputs import ON_THE_BOX, output_for
from .sysfs import synthesise
from .taking import kept, strays, take
from .texts import Texts

__all__ = ["ImportedHost", "load_import"]


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
        kind = take(texts, piece)
        taken = [*([kind] if kind is not None else []), *kept(texts, piece)]
        if taken and kind not in ("kernel log", "spec", "bug report") and strays(texts, piece):
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
