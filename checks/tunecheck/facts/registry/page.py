"""docs/facts.md, made of the registry: `python -m tunecheck.facts.registry.page docs/facts.md`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .catalogue import CATALOGUE, ENTRIES, SUBJECTS

if TYPE_CHECKING:
    from .definition import Entry

__all__ = ["page"]

_HEAD = """\
# Drift facts

What an audit keeps of every box: {count} entries, catalogue version {catalogue}. Made of the registry in
`checks/tunecheck/facts/registry/` by `python -m tunecheck.facts.registry.page docs/facts.md`; do not edit it.

A name that ends in a dot is a family: `kernel.cmdline.iommu`, `package.podman`. null: there is no such thing there,
which is an answer. What could not be read is unknown, with its reason, and changes nothing in the history. Values of
several GPUs, ports or policies are counted, `{{"16": 7, "8": 1}}`, so that their numbers and addresses make no
difference; sets are sorted; units are those of the table. The kernel command line is split into words; what names the
box or its disks (`root=`, `BOOT_IMAGE=`, `resume=`, `rd.luks.uuid=`, `ip=`, ...) is left out, `console=` and huge
pages keep their order, `pci=` adds up, otherwise the last one wins.

| class | what becomes of it |
|---|---|
| config | compared with the previous audit and with the group; kept as history |
| identity | kept as history; no two boxes may share it |
| figure | kept as history and compared with the box's own past; no majority votes on it |
| gauge, counter, time | only the newest value is kept |
| secret | only an HMAC with the fleet's key is kept; without a key it is unknown |

fix: what it takes to put a value back. none, reload (service, module, setting, GPU reset), reboot, firmware, hands-on.
`*`: one of the pins that `tunecheck pins` prints.
"""
_TABLE = "| name | class | fix | severity | unit | what |\n|---|---|---|---|---|---|\n"


def page() -> str:
    """Return the text of docs/facts.md."""
    parts = [_HEAD.format(count=len(ENTRIES), catalogue=CATALOGUE)]
    for subject, entries in SUBJECTS.items():
        rows = "".join(_row(entry) for entry in entries)
        parts.append(f"\n## {subject}\n\n{_TABLE}{rows}")
    return "".join(parts)


def _row(entry: Entry) -> str:
    star = " `*`" if entry.pin else ""
    return (f"| `{entry.name}`{star} | {entry.kind} | {entry.fix} | {entry.severity} | {entry.unit} | "
            f"{entry.summary.replace('|', chr(92) + '|')} |\n")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
