"""What the kernel's log says of the ACS options of the running command line, where a port redirects all the same: that
the kernel could not read them, that they acted on the port, or nothing of it. Each has its own next step."""

from __future__ import annotations

from ...model.command import Command, typed
from ...model.finding import Remedy
from ...parsers.kernel.boot_log import BootLog
from ...parsers.pci.acs import REDIRECT_MASK
from ...util.text import some
from ..context import Case
from .acs_line import EVERY_PORT
from .loader_edit import place

__all__ = ["heard"]

_SET = "Configured ACS to "
_CLEARED = "disabled ACS redirect"
_LATER = ("Another boot with it changes nothing: look for what wrote the register after that, a script or a unit with "
          "setpci, or the firmware at a port's reset")


def heard(case: Case, words: list[str]) -> Remedy | None:
    """Return what to do by what the log says of these options. None where it says nothing of them, or is not there."""
    log = case.host.kernel.log.value if case.snapshot.host else None
    if log is None:
        return None
    if log.boot.acs_unread:
        return _unread(case, " ".join(words), log.boot.acs_unread)
    return _acted(case, " ".join(words), log.boot)


def _unread(case: Case, words: str, line: str) -> Remedy:
    said = f'the kernel could not read {words}: its log says "{line}". '
    if words == EVERY_PORT:
        return _step(said, *typed(
            "See in `cat /proc/cmdline` what it was given: another ACS option in the same pci=, or a character too "
            "many at the word. Correct that in {where}, so that {word} stands there alone, and reboot",
            where=place(case), word=EVERY_PORT), reboot=True)
    return _step(said, *typed("Put {word} in its place (it names every port, Linux 4.19 and later) in {where}, and "
                                  "reboot", word=EVERY_PORT, where=place(case)), reboot=True)


def _acted(case: Case, words: str, boot: BootLog) -> Remedy | None:
    topology, said = case.snapshot.topology, dict(boot.acs)
    ports = [port for port in topology.path_ports()
             if (acs := topology.bridges[port].acs.value) is not None and acs.redirects]
    told = [port for port in ports if port in said]
    if not told:
        return None
    shown = some([f"{port}: {said[port]}" for port in told], 3)
    # Options that ask for redirect are not among these words: where the value has it all the same, the port keeps it.
    cannot = [port for port in told if said[port] != _CLEARED and (
        not said[port].startswith(_SET) or _redirects(said[port]))]
    if cannot:
        return _step(*typed(
            'the kernel could not do at a port what {words} asks for: its log says "{line}". No word of the command '
            "line helps there: clear it after each boot, as the role pcie_acs does", words=words,
            line=f"{cannot[0]}: {said[cannot[0]]}"))
    silent = [port for port in ports if port not in said]
    rest = f"; of {some(silent, 3)} it has no such line, so there the word may not have acted" if silent else ""
    return _step(*typed('{words} acted at boot: the kernel\'s log says "{shown}"{rest}. {later}', words=words,
                        shown=shown, rest=rest, later=_LATER))


def _step(*parts: str | Command, reboot: bool = False) -> Remedy:
    return Remedy.of(*parts, ansible_tags=("acs",), needs_reboot=reboot)


def _redirects(line: str) -> bool:
    return bool(int(line[len(_SET):], 16) & REDIRECT_MASK)
