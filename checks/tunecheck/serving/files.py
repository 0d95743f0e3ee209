"""Read the files of --judge: a published raw file, or an acceptance document of our own."""

from __future__ import annotations

import json
import sys
import zlib

from ..errors import Flaw, Misuse, UsageError
from ..util import safe_files
from .document import SCHEMA, measured_of
from .foreign import measured_of_foreign, measured_of_table, measured_of_text, recognised
from .measured import Measured
from .published import is_published, measured_of_published

__all__ = ["read"]

_MOST = 64 << 20


def read(path: str) -> Measured:
    """Return what was measured according to this file, "-" for standard input. UsageError where it cannot be read or is
    of no known kind."""
    try:
        content = safe_files.read(path, _MOST) if path != "-" else sys.stdin.buffer.read(_MOST + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", Flaw.UNREAD) from None
    path = "standard input" if path == "-" else path
    if len(content) > _MOST:
        raise UsageError(f"{path}: more than {_MOST >> 20} MiB; expected one result file", Flaw.TOO_LARGE)
    content = _unpacked(content, path)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = _lines(content)
    if isinstance(data, dict) and data.get("schema") == SCHEMA:
        return measured_of(data, path)
    if isinstance(data, dict) and is_published(data):
        return measured_of_published(data, path)
    if data is not None and recognised(data):
        return measured_of_foreign(data)
    if data is None:
        text = content.decode("utf-8", "replace")
        if found := measured_of_table(text) or measured_of_text(text, path):
            return found
    raise UsageError(f"{path}: neither an acceptance document nor a benchmark that is known; expected JSON with schema "
                     f"{SCHEMA}, with metadata and results, or of vLLM bench serve (--save-result), SGLang "
                     "bench_serving (--output-file), guidellm, aiperf, genai-perf, llama-bench, llm-inference-bench or "
                     "evalscope; or the text that the first two print, or llama-bench's Markdown",
                     Flaw.OTHER_KIND)


def _unpacked(content: bytes, path: str) -> bytes:
    """Return the content, unpacked where it is gzip: lil-bench keeps its results so. UsageError where it cannot be
    unpacked."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    packer = zlib.decompressobj(31)
    try:
        found = packer.decompress(content, _MOST)
    except zlib.error as error:
        raise UsageError(f"{path}: gzip that cannot be unpacked ({error})", Misuse.UNREADABLE) from None
    if not packer.eof:
        raise UsageError(f"{path}: gzip of more than {_MOST >> 20} MiB, or cut short; expected one whole result file",
                         Misuse.TOO_LARGE)
    return found


def _lines(content: bytes) -> object:
    """Return the documents of a file with one JSON document a line, to which clients append: all of them, and None for
    one that is cut short. Of our own documents, and of published files with rows, return the last."""
    found: list[object] = []
    for line in content.splitlines():
        if line.lstrip().startswith(b"{"):
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                found.append(None)
    last = found[-1] if found else None
    if isinstance(last, dict) and (last.get("schema") == SCHEMA or is_published(last)):
        return last
    return found if recognised(found) else None
