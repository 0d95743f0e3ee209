"""gpu-start: the driver brought every GPU up: no failed adapter, firmware (GSP) or probe since boot."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.nvidia.driver_failures import KINDS, Failure
from ...parsers.nvidia.driver_refusals import Unsupported
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log, gpu_trouble

CHECK = Check(
    "gpu-start", "the driver brought every GPU up: adapter, firmware (GSP), probe",
    Heading.KERNEL, 20, Family.ERRORS,
)
CODES = {
    "adapter-failed": "The driver could not bring a GPU up (RmInitAdapter failed).",
    "gsp-failed": "A GPU's own processor (GSP) or its firmware did not start.",
    "wpr2-in-use": "The protected memory region WPR2 of a GPU was already in use.",
    "probe-failed": "The driver's probe of a GPU failed.",
    "release-unsupported": "The loaded driver release does not know a GPU.",
    "no-address": "A GPU did not start because its memory has no address; `bar-assignment` says more.",
    "other-flavour": "A GPU did not start because of the kernel modules' flavour; `module-flavour` says more.",
}
_ID = CHECK.id
_CODES = {"adapter": "adapter-failed", "gsp": "gsp-failed", "wpr2": "wpr2-in-use", "probe": "probe-failed"}
_RELEASE = Remedy("install a driver release that knows the board: a younger one for a new board, its legacy branch for "
                  "an old one; then reboot", (), True)


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    flavour = {each.gpu for each in from_log.not_driven(case, by_flavour=True)}
    release = from_log.not_driven(case, by_flavour=False)
    homeless = from_log.no_address(case)
    known = flavour | homeless | {each.gpu for each in release}
    failures = [each for each in log.failures if each.kind in _CODES
                and not _follows(each, log.loads, known)]
    named = {each.load for each in failures if each.kind == "probe" and each.gpu}
    # What the driver says of all boards together says nothing beside a board's own line.
    failures = [each for each in failures if each.kind != "probe" or each.gpu or each.load not in named]
    for board in release:
        yield _unknown_board(case, board)
    for each in failures:
        yield _judge(case, each, each.load == log.loads, gpu_trouble.remedy(log, each))
    if failures or release:
        return
    if flavour:
        boards = ", ".join(sorted(from_log.name(case, gpu) for gpu in flavour if gpu)) or "a GPU"
        yield Finding(_ID, "other-flavour", boards, "skip", "behaviour",
                      f"{boards}: the loaded kernel modules do not drive it (module-flavour)",
                      evidence=(case.host.kernel.log.source,))
    if homeless:
        boards = ", ".join(sorted(from_log.name(case, gpu) for gpu in homeless if gpu)) or "a GPU"
        yield Finding(_ID, "no-address", boards, "skip", "behaviour",
                      f"{boards}: its memory has no address (bar-assignment)",
                      evidence=(case.host.kernel.log.source,))
    if not flavour and not homeless:
        yield from_log.nothing_logged(case, _ID, "failed start of a GPU")


def _follows(failure: Failure, load: int, known: set[str]) -> bool:
    """Whether a failure does nothing but follow from a board that the loaded modules do not drive."""
    return bool(known) and failure.load == load and failure.kind in ("adapter", "probe") and (
        failure.gpu in known or not failure.gpu)


def _unknown_board(case: Case, board: Unsupported) -> Finding:
    subject = from_log.name(case, board.gpu) or "a GPU"
    return Finding(_ID, "release-unsupported", subject, "fail", "behaviour",
                   f"{subject}: the loaded driver release does not know this board{from_log.at(board.when)}"
                   f"{from_log.not_listed(case, board.gpu)}",
                   board.text, "every GPU brought up by the driver",
                   (f"{case.host.kernel.log.source}: {board.text}",), _RELEASE)


def _judge(case: Case, failure: Failure, current: bool, remedy: Remedy) -> Finding:
    subject = from_log.name(case, failure.gpu) or "driver"
    times = f", {failure.count} times, last" if failure.count > 1 else ""
    text = (f"{subject}: {KINDS[failure.kind]}{times}{from_log.at(failure.last)}"
            + ("" if current else ", before the driver was loaded again") + from_log.not_listed(case, failure.gpu))
    return Finding(_ID, _CODES[failure.kind], f"{subject} {failure.kind}", "fail" if current else "warn", "behaviour",
                   text, failure.text, "every GPU brought up by the driver",
                   (f"{case.host.kernel.log.source}: {failure.text}",), remedy)
