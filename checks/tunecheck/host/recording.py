"""Keep everything a run reads (RecordingHost), write it down, read it back, play it back (RecordedHost).

The file is gzip'd JSON: schema, reads {path: base64}, errors {path: reason}, lists, realpaths, runs. A recording
may come from a stranger: it is size-capped and every part checked before use.
"""

from __future__ import annotations

import binascii
import json
import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import UsageError
from .base import Completed, Host, Unreadable

__all__ = ["RecordedHost", "RecordingHost", "load_recording"]

SCHEMA = "tunecheck/record/1"
MAX_PACKED = 64 * 1024 * 1024
MAX_UNPACKED = 256 * 1024 * 1024

_T = TypeVar("_T")


class RecordingHost:
    """Pass everything on to ``inner`` and keep every answer, also the refused ones."""

    def __init__(self, inner: Host) -> None:
        self._inner = inner
        self._reads: dict[str, bytes] = {}
        self._lists: dict[str, list[str]] = {}
        self._realpaths: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self._runs: dict[tuple[str, ...], dict[str, object]] = {}
        self._nvml: dict[str, Any] | None = None

    def read_bytes(self, path: str) -> bytes:
        return self._keep(self._reads, "read", path, self._inner.read_bytes)

    def list(self, path: str) -> list[str]:
        return self._keep(self._lists, "list", path, self._inner.list)

    def realpath(self, path: str) -> str:
        return self._keep(self._realpaths, "realpath", path, self._inner.realpath)

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        try:
            done = self._inner.run(argv, deadline)
        except Unreadable as error:
            self._runs[tuple(argv)] = {"argv": list(argv), "error": error.reason}
            raise
        self._runs[tuple(argv)] = {"argv": list(argv), "returncode": done.returncode,
                                   "stdout": done.stdout, "stderr": done.stderr}
        return done

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        try:
            self._nvml = self._inner.nvml(deadline)
        except Unreadable as error:
            self._errors["nvml"] = error.reason
            raise
        return self._nvml

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        self._inner.ahead(*argvs, nvml=nvml)

    def close(self) -> None:
        self._inner.close()

    def _keep(self, answers: dict[str, _T], kind: str, path: str, ask: Callable[[str], _T]) -> _T:
        try:
            answers[path] = ask(path)
        except Unreadable as error:
            self._errors[f"{kind} {path}"] = error.reason
            raise
        return answers[path]

    def packed(self) -> bytes:
        """The recording as file content."""
        document = {
            "schema": SCHEMA,
            "reads": {path: binascii.b2a_base64(data, newline=False).decode() for path, data in self._reads.items()},
            "lists": self._lists, "realpaths": self._realpaths, "errors": self._errors,
            "runs": list(self._runs.values()), "nvml": self._nvml,
        }
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)     # 31: with a gzip header
        return packer.compress(json.dumps(document, sort_keys=True).encode()) + packer.flush()


class RecordedHost:
    """Answer from a recording. What was never asked then is "not recorded" now."""

    def __init__(self, reads: dict[str, bytes], lists: dict[str, list[str]] | None = None,
                 realpaths: dict[str, str] | None = None, errors: dict[str, str] | None = None,
                 runs: dict[tuple[str, ...], Completed | str] | None = None,
                 nvml: dict[str, Any] | None = None) -> None:
        self._nvml = nvml
        self._reads = reads
        self._lists = lists or {}
        self._realpaths = realpaths or {}
        self._errors = errors or {}
        self._runs = runs or {}

    def read_bytes(self, path: str) -> bytes:
        return self._answer(self._reads, "read", path)

    def list(self, path: str) -> list[str]:
        return self._answer(self._lists, "list", path).copy()

    def realpath(self, path: str) -> str:
        return self._answer(self._realpaths, "realpath", path)

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        found = self._runs.get(tuple(argv), "not recorded")
        if isinstance(found, str):
            raise Unreadable(argv[0], found)
        return found

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        if self._nvml is None:
            raise Unreadable("NVML", self._errors.get("nvml", "not recorded"))
        return self._nvml

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _answer(self, answers: Mapping[str, _T], kind: str, path: str) -> _T:
        try:
            return answers[path]
        except KeyError:
            raise Unreadable(path, self._errors.get(f"{kind} {path}", "not recorded")) from None


def load_recording(path: str) -> RecordedHost:
    """Read a recording. UsageError says what is wrong with it."""
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):        # a FIFO would make us wait for ever
            raise UsageError(f"{path}: not a file; expected a recording made with --record")
        if status.st_size > MAX_PACKED:
            raise UsageError(f"{path}: larger than {MAX_PACKED >> 20} MiB; no recording of tunecheck is")
        with open(path, "rb") as stream:
            packed = stream.read()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return _validated(_unpack(packed))
    except ValueError as error:
        raise UsageError(f"{path}: not a usable recording: {error}; expected a file made with --record") from None


def _unpack(packed: bytes) -> Any:
    unpacker = zlib.decompressobj(31)
    try:
        text = unpacker.decompress(packed, MAX_UNPACKED)
    except zlib.error:
        raise ValueError("not gzip, or damaged") from None
    if unpacker.unconsumed_tail:
        raise ValueError(f"larger than {MAX_UNPACKED >> 20} MiB unpacked")
    if not unpacker.eof:
        raise ValueError("cut short")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("its content is not JSON") from None


def _validated(document: Any) -> RecordedHost:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        raise ValueError(f"its schema is {str(found)[:60]!r}, not {SCHEMA!r}")
    extra = set(document) - {"schema", "reads", "lists", "realpaths", "errors", "runs", "nvml"}
    if extra:
        raise ValueError(f"unknown part {min(extra)[:60]!r}")
    return RecordedHost({path: _bytes(path, text) for path, text in _texts(document, "reads").items()},
                        _lists(document), _texts(document, "realpaths"), _texts(document, "errors"), _runs(document),
                        _document(document))


def _document(document: dict[str, Any]) -> dict[str, Any] | None:
    value = document.get("nvml")
    if value is not None and not isinstance(value, dict):
        raise ValueError("nvml is not a table")
    return value


def _texts(document: dict[str, Any], part: str) -> dict[str, str]:
    value = document.get(part, {})
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ValueError(f"{part} is not a table of texts")
    return value


def _bytes(path: str, text: str) -> bytes:
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except ValueError:
        raise ValueError(f"the content of {path[:200]!r} is not base64") from None


def _lists(document: dict[str, Any]) -> dict[str, list[str]]:
    value = document.get("lists", {})
    if not isinstance(value, dict) or not all(_is_texts(names) for names in value.values()):
        raise ValueError("lists is not a table of lists of names")
    return value


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _runs(document: dict[str, Any]) -> dict[tuple[str, ...], Completed | str]:
    value = document.get("runs", [])
    result: dict[tuple[str, ...], Completed | str] = {}
    if not isinstance(value, list):
        raise ValueError("runs is not a list")
    for number, run in enumerate(value):
        if not isinstance(run, dict) or not _is_texts(run.get("argv")) or not run["argv"]:
            raise ValueError(f"runs[{number}] names no command")
        argv = tuple(run["argv"])
        code, error = run.get("returncode"), run.get("error")
        texts = [run.get("stdout"), run.get("stderr")]
        if isinstance(error, str):
            result[argv] = error
        elif type(code) is int and _is_texts(texts):
            result[argv] = Completed(argv, code, run["stdout"], run["stderr"])
        else:
            raise ValueError(f"runs[{number}] has neither a result nor an error")
    return result
