"""What a finding rests on, for a reader who pasted texts: the output that was read, in place of the file of a machine
that nobody looked at."""

from __future__ import annotations

from collections.abc import Iterable

from ..host.imported.outputs import output_for

__all__ = ["of_texts"]

_PCI = "/sys/bus/pci/devices"
#: Files of a machine whose values a text stands in for. /proc/cmdline is what its output is called, too.
_FILES = ("/sys/", "NVML", "/proc/driver/", "/proc/sys/")


def of_texts(evidence: Iterable[str]) -> list[str]:
    """Return the lines of evidence, each once: ``lspci, 0000:75:00.0`` for a file of a PCI device, and for any other
    file the output that shows its value. What names no file, such as a line of a log, stays as it is."""
    return list(dict.fromkeys(map(_shown, evidence)))


def _shown(line: str) -> str:
    if not line.startswith(_FILES):
        return line
    path, mark, said = line.partition(": ")
    if path.startswith(_PCI):
        device = path.removeprefix(_PCI).strip("/").partition("/")[0]
        path = f"lspci, {device}" if device else "lspci"
    elif output := output_for(path):
        path = output.removeprefix("sudo ")
    return f"{path}{mark}{said}"
