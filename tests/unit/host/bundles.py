"""Bundles made by hand, also such as no recording is."""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import zstandard

MANIFEST = {"schema": "tunecheck/record/2", "tunecheck": "0.1.0", "created": "2026-01-01T00:00:00Z", "redacted": False,
            "root": True}


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def tar(*members: tuple[str | tarfile.TarInfo, bytes], layout: int = tarfile.USTAR_FORMAT) -> bytes:
    """A tar as Python's own writer makes it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=layout) as archive:
        for name, data in members:
            info = member(name) if isinstance(name, str) else name
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def bundle(*more: tuple[str | tarfile.TarInfo, bytes], manifest: Any = None, answers: Any = None,
           layout: int = tarfile.USTAR_FORMAT) -> bytes:
    """A bundle with these members behind the usual two."""
    parts: list[tuple[str | tarfile.TarInfo, bytes]] = []
    for name, document, usual in (("manifest.json", manifest, MANIFEST), ("answers.json", answers, {})):
        content = document if isinstance(document, bytes) else json.dumps(document or usual).encode()
        parts.append((name, content))
    return zstandard.compress(tar(*parts, *more, layout=layout))
