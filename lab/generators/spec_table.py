"""Write the table of box_spec's keys in roles/box_spec/README.md: python -m lab.generators.spec_table

Keys, defaults, allowed values and meanings are those of tunecheck.spec.models. tests/unit/spec/test_docs_spec.py
compares the page with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tunecheck.spec import profile_files
from tunecheck.spec.models import schema
from tunecheck.util.safe_files import replace

__all__ = ["PAGE", "page", "rows"]

PAGE = Path(__file__).resolve().parents[2] / "roles" / "box_spec" / "README.md"
_BEGIN, _END = "<!-- keys of box_spec: begin -->\n", "<!-- keys of box_spec: end -->\n"


def page(text: str) -> str:
    """The page with its table made anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = "".join(f"| `{key}` | {default} | {allowed} | {meaning} |\n" for key, default, allowed, meaning in rows())
    return (f"{before}{_BEGIN}| key of `box_spec` | neutral default | allowed | meaning |\n|---|---|---|---|\n"
            f"{table}{_END}{after}")


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Key as a dotted path, default, allowed values, meaning: of each leaf, in the order of the model."""
    whole = schema(profile_files.names())
    parts = whole["$defs"]
    yield from _rows(parts["Spec"], "", parts)


def _rows(part: dict[str, Any], above: str, parts: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for name, field in part["properties"].items():
        key = above + name
        if "$ref" in field:
            yield from _rows(parts[field["$ref"].rpartition("/")[2]], key + ".", parts)
        elif "patternProperties" in field:
            yield f"{key}.<module>.<parameter>", "none", "a whole number or text; never true or false", _meaning(field)
        else:
            default = f"`{_written(field['default'])}`" if "default" in field else "required"
            yield key, default, _allowed(field), _meaning(field)


def _meaning(field: dict[str, Any]) -> str:
    return str(field.get("description", ""))


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _allowed(field: dict[str, Any]) -> str:
    """In words; null is told by the meaning."""
    if "anyOf" in field:
        return next(_allowed(each) for each in field["anyOf"] if each.get("type") != "null")
    if "enum" in field:
        # YAML 1.1 reads a bare on or off as true or false.
        return ", ".join(f'`"{each}"`' if each in ("on", "off") else f"`{_written(each)}`" for each in field["enum"])
    if field["type"] == "boolean":
        return "`true`, `false`"
    if field["type"] == "array":
        return f"{_count(field)}{_allowed(field['items'])}"
    if "minimum" in field:
        return f"{field['minimum']:g} to {field['maximum']:g}" if field["maximum"] < 1e6 else "a number"
    return str(field["title"]) if "pattern" in field else "text"


def _count(field: dict[str, Any]) -> str:
    return f"list of {field['minItems']}: " if "minItems" in field else "list: "


def main() -> int:
    replace(str(PAGE), page(PAGE.read_text(encoding="utf-8")).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
