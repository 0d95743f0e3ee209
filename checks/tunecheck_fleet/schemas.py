"""JSON Schemas of all documents. `python -m tunecheck_fleet.schemas DIRECTORY` writes them (docs/schema)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tunecheck.app.schemas import SCHEMAS as OF_ONE_HOST

from .outputs.schema import SCHEMAS as OF_THE_FLEET

__all__ = ["SCHEMAS", "write"]

#: File name -> schema.
SCHEMAS = {**OF_ONE_HOST, **OF_THE_FLEET}


def write(directory: Path) -> None:
    """Write every schema file into ``directory``."""
    for name, schema in SCHEMAS.items():
        (directory / name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
