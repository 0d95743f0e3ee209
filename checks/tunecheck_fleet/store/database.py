"""The way to the database: which one, with what settings, brought up to today's schema, and its errors as sentences."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, RootTransaction, create_engine, event, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from tunecheck.errors import CONTROL_NODE, Flaw, Misuse, UsageError
from tunecheck.util.interrupt import held
from tunecheck.util.left_behind import wrote

from ..own_command import own_command
from .schema import make
from .schema import version as schema_version
from .sql.compiled_statements import Hot
from .sql.db_errors import Trouble, refusal

__all__ = ["HEAD", "Database", "default_file", "is_there"]

#: The newest migration; a test holds it against the files.
HEAD = "0008"
#: Pages that SQLite keeps of its own, in KiB. A report reads each a few times, far apart: of 10,000 hosts 32 MiB took
#: as long as these. A writer goes from host to host, beside an Ansible that needs the memory (1,000 hosts: 5 MiB in
#: place of 14, in the same time).
_READER_KIB, _WRITER_KIB = 8192, 4096
#: How long a writer waits for another process's writes: each takes a few milliseconds.
BUSY_S = 30
#: Any number: writers of one PostgreSQL database queue up behind it, as SQLite's do by themselves.
ADVISORY = 7_483_201_066


def default_file() -> Path:
    """Root keeps the history where services do, others in their own state folder. Not in /var/lib/tunecheck: a
    rollback takes that away, also from a control node that is a box itself."""
    if os.geteuid() == 0 and not os.environ.get("XDG_STATE_HOME"):
        return Path("/var/lib/tunecheck-fleet/fleet.db")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "tunecheck/fleet.db"


def is_there(url: str | None) -> bool:
    """Whether it was made already; of a server it is not asked."""
    parsed = _url(url)
    return parsed.drivername != "sqlite" or Path(parsed.database or "").exists()


#: What SQLAlchemy's pool logs is raised as well. Without a handler Python would print it, with a traceback: of an
#: interrupt, too.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())


class Database:
    """``read`` and ``write`` give a connection in a transaction; errors come out as UsageError."""

    _writer: Connection | None = None

    def __init__(self, url: str | None, create: bool = True) -> None:
        parsed = _url(url)
        self.sqlite = parsed.drivername == "sqlite"
        self.where = parsed.database or "" if self.sqlite else parsed.render_as_string(hide_password=True)
        if self.sqlite:
            _place(Path(self.where), create)
        try:
            self.engine = _engine(parsed)
        except ModuleNotFoundError as error:
            raise UsageError(f"{self.where}: needs the Python package {error.name}, which is not installed; "
                             f"{CONTROL_NODE}", Misuse.NO_PACKAGE) from None
        try:
            with self.saying():
                self._migrate(create)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._let_go()
        self.engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self.saying(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Waits for its turn among the writers. Commits at the end, or undoes everything."""
        with self.saying():
            try:
                connection, transaction = self._begin()
                with transaction:
                    yield connection
                    # An interrupt waits, so that it is known whether it was kept.
                    with held():
                        transaction.commit()
                        wrote(self.where)
            except BaseException:
                self._let_go(broken=True)
                raise

    def _begin(self) -> tuple[Connection, RootTransaction]:
        """The writer's connection is kept: a new one for each host, and the question whether the server is still there,
        cost as much as the host. Writers of this process take turns (``Store.turn``)."""
        if self._writer is not None and not self.sqlite:
            try:
                return self._take(self._writer)
            except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error):
                self._let_go(broken=True)       # the server was restarted, or ended it
        if self._writer is None:
            self._writer = self.engine.connect().execution_options(writes=True)
            if self.sqlite:
                self._writer.connection.cursor().execute(f"PRAGMA cache_size=-{_WRITER_KIB}")
        return self._take(self._writer)

    def _take(self, connection: Connection) -> tuple[Connection, RootTransaction]:
        transaction = connection.begin()
        if not self.sqlite:
            _QUEUE(connection, {"number": ADVISORY})
        return connection, transaction

    def _let_go(self, broken: bool = False) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            if broken:
                writer.invalidate()
            writer.close()

    @contextmanager
    def saying(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise refusal(self.where, error.orig or error) from None
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:     # the driver's own: see hot
            raise refusal(self.where, error) from None

    def _migrate(self, create: bool) -> None:
        with self.engine.connect() as connection:
            if self._version(connection, create) == HEAD:
                return
        with self.write() as connection:        # asked again in our turn: another process may have done it meanwhile
            version = self._version(connection, create)
            if version is None:
                make(connection, HEAD)
            elif version != HEAD:
                migrate(connection, HEAD)

    def _version(self, connection: Connection, create: bool) -> str | None:
        tables = set(inspect(connection).get_table_names())
        if "tunecheck_version" not in tables:
            if (tables if self.sqlite else tables & {"audit", "host", "span"}):
                raise UsageError(f"{self.where}: is the database of something else (it has the table "
                                 f"{min(tables)!r}); name a file or database for tunecheck alone", Flaw.OTHER_KIND)
            if not create:
                raise UsageError(f"{self.where}: holds no history yet; run: {own_command('audit -i INVENTORY')}",
                                 Misuse.NOT_THERE)
            return None
        version = str(connection.execute(select(schema_version.c.version_num)).scalar())
        if version > HEAD:
            raise UsageError(f"{self.where}: was written by a newer tunecheck (schema {version}, this one knows "
                             f"{HEAD}); use that version, or another history", Flaw.OTHER_SCHEMA)
        return version


def migrate(connection: Connection, to: str) -> None:
    """Bring an open database to the schema ``to`` inside the caller's transaction."""
    from alembic import command  # 100 ms and 10 MiB, so only where there is something to bring up to date
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, to)


_QUEUE = Hot(text("SELECT pg_advisory_xact_lock(:number)"))


def _url(url: str | None) -> URL:
    if url is None:
        return URL.create("sqlite", database=str(default_file()))
    if "://" not in url:
        return URL.create("sqlite", database=str(Path(url).expanduser().absolute()))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise UsageError("the history's URL cannot be read; expected a file's path or "
                         "postgresql://user@host/database", Misuse.MALFORMED) from None
    kind = parsed.drivername
    if kind == "sqlite" and parsed.database and parsed.database != ":memory:":
        return URL.create("sqlite", database=str(Path(parsed.database).absolute()))
    if kind in ("postgresql", "postgres", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    raise UsageError(f"a history cannot be kept in {kind}://; expected a file's path or "
                     "postgresql://user@host/database", Misuse.NO_SUCH)


#: A write-ahead log needs memory shared between processes, which these do not give; files break there.
_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "fuse.glusterfs", "lustre", "beegfs")


def _place(file: Path, create: bool) -> None:
    """Make the folder (0700) and the file (0600), so that neither was ever open to others."""
    try:
        there = next(each for each in (file, *file.parents) if each.exists())
        if (file.is_file() or create) and (kind := _filesystem(there)) in _REMOTE:
            raise UsageError(f"{file}: is on a network filesystem ({kind}), where SQLite loses data; name a file on a "
                             "local disk, or a postgresql:// URL", Trouble.NETWORK)
        if not file.exists():
            if not create:
                raise UsageError(f"{file}: there is no history yet; run: {own_command('audit -i INVENTORY')}",
                                 Misuse.NOT_THERE)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with held():
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
                wrote(str(file))
        elif not file.is_file():
            raise UsageError(f"{file}: is no file; expected the path of the history's file", Trouble.NOT_A_FILE)
        if not os.access(file, os.W_OK) or not os.access(file.parent, os.W_OK):
            raise UsageError(f"{file}: cannot be written by this user, nor its folder, which the database needs even "
                             "to read; run as the user who audits, or name another file", Misuse.UNWRITABLE)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be opened ({getattr(error, 'strerror', None) or error}); "
                         "name another file", Misuse.UNWRITABLE) from None


def _filesystem(file: Path) -> str:
    """The type of the filesystem below ``file``; empty where it cannot be told."""
    try:
        device = file.stat().st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
            before, _, after = line.partition(" - ")
            if before.split()[2] == wanted:
                return after.split()[0]
    except (OSError, IndexError):
        pass
    return ""


def _engine(url: URL) -> Engine:
    if url.drivername != "sqlite":
        engine = create_engine(url, pool_pre_ping=True, pool_size=4, connect_args={"connect_timeout": 10})
        event.listen(engine, "connect", _postgresql)
        return engine
    engine = create_engine(url, connect_args={"timeout": BUSY_S})
    event.listen(engine, "connect", _sqlite)
    event.listen(engine, "begin", _begin)
    return engine


def _sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None       # transactions begin where we say (see _begin), also around DDL
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "temp_store=MEMORY",
                   f"cache_size=-{_READER_KIB}"):
        connection.execute(f"PRAGMA {pragma}")


def _postgresql(connection: Any, _: Any) -> None:
    # As SQLite's synchronous=NORMAL: a power cut may lose the last half second, never the order or a half answer.
    connection.execute("SET synchronous_commit TO off")
    connection.commit()


def _begin(connection: Connection) -> None:
    # A writer that begins as a reader cannot wait for its turn (SQLITE_BUSY at once), so it says so at the beginning.
    connection.connection.cursor().execute(
        "BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
