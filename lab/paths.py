"""Where the lab keeps its state: `.lab/` of the checkout, or $TUNECHECK_LAB."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from lab.errors import LabError

REPO = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


def root() -> Path:
    """Return the state folder (not necessarily there yet)."""
    return Path(os.environ.get("TUNECHECK_LAB") or REPO / ".lab").resolve()


def images() -> Path:
    """Return the folder of built images, one sub-folder per recipe digest."""
    return root() / "images"


def machine(name: str) -> Path:
    """Return the folder of the machine `name`."""
    if not _NAME.fullmatch(name) or name == "images":
        raise LabError(
            f"`{name}` cannot name a lab machine: expected lower-case letters, digits and dashes, "
            "starting with a letter, at most 31 characters, and not `images`"
        )
    return root() / name


def machines() -> list[str]:
    """Return the names of the machines that have a state file."""
    return sorted(p.parent.name for p in root().glob("*/machine.json"))


def typed(*argv: str) -> str:
    """Return the command line that runs `python3 -m lab` with these arguments from any folder, on the same machines: a
    person pastes it as it is printed. The box's name alone is nothing that ssh knows; its ssh_config lies beside its
    disk."""
    state = os.environ.get("TUNECHECK_LAB")
    words = ["env", f"TUNECHECK_LAB={root()}", "python3"] if state else ["python3"]
    line = shlex.join([*words, "-m", "lab", *argv])
    return line if Path.cwd() == REPO else f"cd {shlex.quote(str(REPO))} && {line}"
