"""The collector as one file for a box that has none, and the snapshot made of what it sent back.

It goes over the connection of the second question as that command's input and is imported from memory: on the box
nothing is written, so nothing is left behind, also where the connection breaks. 260 KB."""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from functools import cache
from pathlib import Path

from tunecheck_fleet.model import Answer

from .protocol import NO_INPUT, one_line

__all__ = ["LOADER", "MOST_SHIPPED", "collector", "with_snapshot"]

#: A recording is larger than the snapshot in it: it holds whole logs. In bytes.
MOST_SHIPPED = 32 << 20
#: The folder that holds both packages.
_SOURCES = Path(__file__).parents[2]
_PARTS = ("tunecheck/__init__.py", "tunecheck/errors.py", "tunecheck/facts/*.py", "tunecheck/facts/kernel/*.py",
          "tunecheck/facts/nvidia/*.py", "tunecheck/facts/pci/*.py", "tunecheck/facts/runtime/*.py",
          "tunecheck/host/*.py", "tunecheck/model/__init__.py", "tunecheck/model/absence.py", "tunecheck/model/fact.py",
          "tunecheck/parsers/**/*.py", "tunecheck/spec/__init__.py", "tunecheck/spec/boards.py",
          "tunecheck/spec/frozen.py", "tunecheck/util/*.py", "tunecheck_fleet/__init__.py",
          "tunecheck_fleet/collect/shipped.py")
#: Plans what the role nvidia_driver installs; no fact needs it.
_PLANNER = "tunecheck/parsers/packages/driver_*.py"
#: Runs on the box as `python3 -I -c`. One line, without a single quote: it stands between two in the command.
LOADER = (
    "import importlib.abc,importlib.util,io,sys,zipfile;"
    "d=sys.stdin.buffer.read();"
    f"d or sys.exit({NO_INPUT});"
    "z=zipfile.ZipFile(io.BytesIO(d));n=set(z.namelist());"
    "exec(z.read(\"loader.py\"))"
)
_FINDER = '''
class Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def _name(self, name):
        path = name.replace(".", "/")
        return next((p for p in (path + "/__init__.py", path + ".py") if p in n), None)
    def find_spec(self, name, path=None, target=None):
        p = self._name(name)
        return p and importlib.util.spec_from_loader(name, self, is_package=p.endswith("__init__.py"))
    def is_package(self, name):
        return self._name(name).endswith("__init__.py")
    def get_source(self, name):
        return z.read(self._name(name)).decode()
sys.meta_path.insert(0, Finder())
from tunecheck_fleet.collect.shipped import main
main()
'''


@cache
def collector() -> bytes:
    """A zip of the modules that read a host, with NVIDIA's NVML binding of this environment."""
    packed, planner = io.BytesIO(), set(_SOURCES.glob(_PLANNER))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("loader.py", _FINDER)
        archive.writestr("tunecheck_fleet/collect/__init__.py", "")     # its own needs Ansible
        for pattern in _PARTS:
            for path in sorted(set(_SOURCES.glob(pattern)) - planner):
                archive.writestr(str(path.relative_to(_SOURCES)), path.read_bytes())
        nvml = importlib.util.find_spec("pynvml")
        if nvml is not None and nvml.origin is not None and nvml.origin.endswith("pynvml.py"):
            archive.writestr("pynvml.py", Path(nvml.origin).read_bytes())
    return packed.getvalue()


def with_snapshot(answer: Answer) -> Answer:
    """The answer of a box that ran the collector, its recording turned into a snapshot. Never raises."""
    if answer.status != "ok":
        return answer
    from tunecheck.facts.snapshot import gather
    from tunecheck.facts.snapshot_file import Stored, packed
    from tunecheck.facts.spec_file import read_spec
    from tunecheck.host.bundle_1 import unpack_plain

    try:
        host = unpack_plain(json.loads(answer.content)).host()
        frozen = read_spec(host, None, required=False)
        found = packed(Stored(gather(host, frozen.spec if frozen else None, True), frozen))
    except Exception as error:      # whatever a stranger's recording does to the facts, it is this box's own row
        return Answer(answer.host, answer.group, "garbled", reason="what its collector sent cannot be used: "
                      f"{one_line(str(error)) or type(error).__name__}", seconds=answer.seconds)
    return Answer(answer.host, answer.group, "ok", found, "", answer.seconds)
