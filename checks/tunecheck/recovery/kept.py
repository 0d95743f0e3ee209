"""The evidence of an incident, read again for its page. It may be gone, torn or altered: then it says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..util import safe_files
from .evidence import FOLDER
from .page.incident import Evidence

__all__ = ["read"]

_MOST = 16 << 20


def read(incident: str, folder: str = FOLDER) -> Evidence:
    """``incident``: its id, of the journal."""
    place = Path(folder) / incident
    try:
        if not incident.replace("-", "").isalnum() or place.is_symlink():
            raise OSError("is no folder of an incident")
        files = tuple(sorted((each.name, each.lstat().st_size) for each in place.iterdir()))
    except OSError as error:
        return Evidence({}, why_not=f"{place}: {error.strerror or error}; the newest ten are kept, and none where "
                                    "the disk was full.")
    told, why = _document(place / "stall.json")
    threads, also = _document(place / "processes.json")
    watch = told.get("watch") if isinstance(told, dict) else None
    timeline = told.get("timeline") if isinstance(told, dict) else None
    return Evidence(watch if isinstance(watch, dict) else {}, _rows(timeline), _rows(threads), files,
                    " ".join(each for each in (why, also) if each))


def _rows(told: Any) -> tuple[dict[str, Any], ...]:
    return tuple(each for each in told if isinstance(each, dict)) if isinstance(told, list) else ()


def _document(path: Path) -> tuple[Any, str]:
    try:
        return json.loads(safe_files.read(str(path), _MOST, follow=False, ours=True)), ""
    except OSError as error:
        return None, f"{path.name}: {error.strerror or error}."
    except (ValueError, RecursionError):
        return None, f"{path.name}: is not whole."
