"""What a box without tunecheck runs, from memory: read everything once, print what was read as tunecheck/record/1.

Any Python from 3.9 on, the standard library alone. The box only reads; the control node makes the facts of it, with the
same code as from any recording. Nothing in here may be newer than 3.9."""

from __future__ import annotations

import json
import os
import sys
from binascii import b2a_base64

__all__ = ["main"]


def main() -> None:
    """Print the recording."""
    _catch_up()
    from tunecheck.errors import SpecError
    from tunecheck.facts.snapshot import gather
    from tunecheck.facts.spec_file import read_spec
    from tunecheck.host.live import LiveHost
    from tunecheck.host.recording import RecordingHost
    from tunecheck.host.redact import without_secrets
    from tunecheck.model.absence import Reason
    from tunecheck.parsers.kernel.log_lines import without_middle

    door = RecordingHost(LiveHost())
    try:
        try:
            frozen = read_spec(door, None, required=False)
        except SpecError:
            frozen = None       # the control node says it again
        gather(door, frozen.spec if frozen else None, True)
    finally:
        door.close()
    kept = without_secrets(door.answers)
    runs = [{"argv": list(argv), "error": done, "absence": done.absence.value} if isinstance(done, Reason) else {
        "argv": list(argv), "returncode": done.returncode, "stdout": without_middle(done.stdout),
        "stderr": without_middle(done.stderr)} for argv, done in sorted(kept.runs.items())]
    json.dump({
        "schema": "tunecheck/record/1", "lists": kept.lists, "realpaths": kept.realpaths, "errors": kept.errors,
        "absences": {what: why.absence.value for what, why in kept.errors.items()},
        "reads": {path: b2a_base64(data, newline=False).decode() for path, data in kept.reads.items()}, "runs": runs,
        **({} if kept.nvml is None else {"nvml": kept.nvml})}, sys.stdout)
    sys.stdout.flush()


def _catch_up() -> None:
    """Give an older Python the three things of later ones that the collector uses."""
    import builtins
    import typing

    if sys.version_info >= (3, 10):  # noqa: UP036 - the box's, not ours
        return
    plain_zip, plain_realpath = builtins.zip, os.path.realpath

    def zip_(*parts: typing.Any, strict: bool = False) -> typing.Any:
        if not strict:
            return plain_zip(*parts)
        whole = [list(part) for part in parts]
        if len({len(part) for part in whole}) > 1:
            raise ValueError("zip() arguments are of different lengths")
        return plain_zip(*whole)

    def realpath(path: typing.Any, *, strict: bool = False) -> typing.Any:
        if strict:
            os.stat(path)  # noqa: PTH116
        return plain_realpath(path)

    builtins.zip = zip_  # type: ignore[misc]
    os.path.realpath = realpath
    typing.TypeGuard = typing.Optional
