"""What happened before this boot, as the journal or the texts of an import tell it: history, never this boot's."""

from __future__ import annotations

import re
from dataclasses import replace

from ..host import Host, Unreadable
from ..host.base import doubt
from ..host.prefetch import PAST
from ..model.fact import Absence, Fact, absent, known
from ..util.at_first_use import dataclass

__all__ = ["NOT_ASKED", "Past", "PastBoot", "PastEvent", "past"]

#: Of a report without --history.
NOT_ASKED: Fact[Past] = absent("journal", Absence.NOT_ASKED.because(
    "not asked for: --history reads the journal of earlier boots"))
_MOST_BOOTS = 1000
_MOST_EVENTS = 5000
_SECONDS = 20.0


@dataclass(frozen=True)
class PastEvent:
    """One kind of event in one earlier boot. ``kind``: "xid", "sxid", "fallen" (off the bus), or one of
    driver_failures.KINDS ("adapter", "gsp", "panic"
    and others). ``device`` is "0000:03:00", "GPU0" or "";
    ``code`` of an Xid or SXid, else 0; ``count`` in this boot; ``first`` and ``last`` as printed in the log."""

    kind: str
    device: str
    code: int
    count: int
    first: str
    last: str
    text: str


@dataclass(frozen=True)
class PastBoot:
    """One earlier boot. ``name``: the boot's id, or which text the lines are from. ``first`` and ``last``: from when to
    when its lines go, a date where the log has dates. ``lines``: how many there are of it."""

    name: str
    first: str
    last: str
    lines: int
    events: tuple[PastEvent, ...]


@dataclass(frozen=True)
class Past:
    """Earlier boots, oldest first. ``cut``: some of them, or of their events, are not here."""

    boots: tuple[PastBoot, ...]
    cut: bool = False

    @property
    def events(self) -> tuple[PastEvent, ...]:
        """Return the events of all boots."""
        return tuple(event for boot in self.boots for event in boot.events)


def past(host: Host, boot_id: str) -> Fact[Past]:
    """Ask the journal for every boot before this one, whose id is ``boot_id``."""
    # An import says what its texts hold.
    source = "texts of earlier boots" if doubt(host, "dmesg") else "journalctl"
    try:
        done = host.run(PAST, _SECONDS)
        if "matching support" in done.stderr:       # built without PCRE
            done = host.run((*(word for word in PAST if not word.startswith("--grep")), "--lines=200000"), _SECONDS)
    except Unreadable as error:
        return absent(source, error.reason)
    if re.search(r"not seeing messages|[Pp]ermission", done.stderr):
        return absent(source, Absence.NO_PERMISSION)
    if done.returncode != 0 and done.stderr.strip():
        return absent(source, Absence.FAILED.because(done.stderr.strip().splitlines()[0][:200]))
    return known(_read(done.stdout.removeprefix("-- No entries --"), boot_id.replace("-", "").lower()), source)


def _read(text: str, current: str) -> Past:
    # `tunecheck topo` and most reports do without.
    from ..parsers.kernel.log_boots import boots
    from ..parsers.kernel.log_forms import plain
    from ..parsers.text.log_lines import LEFT_OUT, without_middle

    log = without_middle(plain(text))
    found: list[PastBoot] = []
    left, seen = _MOST_EVENTS, set()
    for boot in boots(log):
        if current and boot.name.replace("-", "").lower() == current:
            continue
        events = tuple(each for each in _events(boot.text) if _key(each) not in seen)[:left]
        seen |= {_key(event) for event in events}
        left -= len(events)
        found.append(replace(_boot(boot.name, boot.text), events=events))
    return Past(tuple(found[-_MOST_BOOTS:]), LEFT_OUT in log or len(found) > _MOST_BOOTS or left == 0)


def _key(event: PastEvent) -> tuple[str, str, int, str, str]:
    """Return what two equal events have in common: two texts of an import may hold the same lines. An event without a
    time equals no other one."""
    return event.kind, event.device, event.code, event.last or str(id(event)), event.text


def _boot(name: str, text: str) -> PastBoot:
    from ..parsers.kernel.log_boots import dated

    number = sum(1 for line in text.splitlines() if line.strip())
    return PastBoot(name or "unknown boot", *dated(text.strip("\n")), number, ())


def _events(text: str) -> list[PastEvent]:
    from ..parsers.kernel.kernel_log import parse

    log = parse(text)
    lost = {xid.gpu for xid in log.xids if xid.code == 79}
    return [
        *(PastEvent("xid", xid.gpu, xid.code, xid.count, xid.first, xid.last, xid.text) for xid in log.xids),
        *(PastEvent("fallen", gpu.gpu, 0, 1, gpu.when, gpu.when, "did not answer when the driver looked for it"
                    if gpu.at_probe else "fell off the bus") for gpu in log.fallen if gpu.gpu not in lost),
        *(PastEvent("sxid", each.switch, each.code, each.count, each.last, each.last, each.text) for each in log.sxids),
        *(PastEvent(each.kind, each.gpu, 0, each.count, each.first, each.last, each.text) for each in log.failures),
    ]
