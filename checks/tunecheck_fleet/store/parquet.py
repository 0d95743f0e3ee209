"""The history as Parquet files, for analysts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.interrupt import held
from tunecheck.util.left_behind import wrote
from tunecheck.util.whole_file import PRIVATE

from .audit_queries import SNAP_END
from .schema import audit, fact, host, snap, span, value

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["export"]

ROWS = 50_000


def _tables() -> dict[str, Select[Any]]:
    return {
        "audits": select(*(column for column in audit.c if column.name != "asked_id")).order_by(audit.c.id),
        "hosts": select(host.c.id, host.c.key, host.c.name, host.c.grp.label("group"), host.c.hardware,
                        host.c.first_audit, host.c.last_audit, host.c.answered_audit,
                        host.c.retired_audit).order_by(host.c.id),
        "facts": select(fact).order_by(fact.c.id),
        "values": select(value.c.id, value.c.json).order_by(value.c.id),
        "snaps": select(snap.c.host_id, snap.c.from_audit, SNAP_END.label("to_audit"), snap.c.status,
                        snap.c.about_id).join(host, host.c.id == snap.c.host_id)
        .order_by(snap.c.host_id, snap.c.from_audit),
        "spans": select(span).order_by(span.c.host_id, span.c.fact_id, span.c.from_audit),
    }


def export(store: OpenHistory, folder: Path) -> list[Path]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise UsageError("Parquet files need the Python package pyarrow, which is not installed; "
                         "run: pip install pyarrow", Misuse.NO_PACKAGE) from None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return [_write(store, pyarrow, folder / f"{name}.parquet", wanted) for name, wanted in _tables().items()]
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror or error}); choose another folder",
                         Misuse.UNWRITABLE) from None


def _write(store: OpenHistory, pyarrow: Any, target: Path, wanted: Select[Any]) -> Path:
    """A table at a time and a batch at a time: a large history needs no large memory. Whole or untouched."""
    schema = pyarrow.schema([(column.name, _type(pyarrow, column.type.python_type))
                             for column in wanted.selected_columns])
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(descriptor)
    try:
        with (pyarrow.parquet.ParquetWriter(name, schema, compression="zstd") as writer,
              store.db.read() as connection):
            rows = connection.execution_options(yield_per=ROWS).execute(wanted)
            for batch in rows.partitions():
                columns = list(zip(*batch, strict=True))
                writer.write_batch(pyarrow.record_batch(
                    [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
                    schema=schema))
        Path(name).chmod(PRIVATE)
        with held():
            Path(name).replace(target)
            wrote(str(target))
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def _type(pyarrow: Any, kind: type) -> Any:
    return {int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}.get(kind, pyarrow.string())
