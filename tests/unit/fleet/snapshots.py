"""A real snapshot for every stand-in box: the recorded H200 machine's, with the box's own name."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.recording import load_recording

RECORDING = Path(__file__).resolve().parents[2] / "fixtures/h200-2gpu-vm.tar.zst"


@cache
def _document() -> str:
    host = load_recording(str(RECORDING))
    return packed(Stored(gather(host, None, True), None), 1790000000.0).decode()


def snapshot_of(name: str) -> bytes:
    """tunecheck/snapshot/1 of a box called ``name``."""
    document: dict[str, Any] = json.loads(_document())
    document["snapshot"]["hostname"]["value"] = name
    return json.dumps(document).encode()
