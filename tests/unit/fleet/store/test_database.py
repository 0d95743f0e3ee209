"""Files and servers that cannot be used are named in a sentence; older ones are brought up to date."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from tests.unit.refusing import refused

from tunecheck.errors import Flaw, Misuse
from tunecheck_fleet.model import Problem
from tunecheck_fleet.store import canonical, database, open_store, schema
from tunecheck_fleet.store.sql.compiled_statements import Hot
from tunecheck_fleet.store.sql.db_errors import Trouble

from .stores import Makes, PostgresMakes, SqliteMakes, one, seen


def _bare(makes: Makes) -> database.Database:
    """A database without any table."""
    place = makes.bare()
    bare = database.Database.__new__(database.Database)
    if isinstance(makes, SqliteMakes):
        database._place(Path(place), True)
    bare.sqlite, bare.where = isinstance(makes, SqliteMakes), place
    bare.engine = database._engine(database._url(place))
    return bare


def _definitions(made: database.Database) -> list[tuple[str, ...]]:
    """Everything that the database itself says of its tables and indexes, conditions and storage included."""
    asked = (("SELECT type, name, sql FROM sqlite_master",) if made.sqlite else (
        "SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, is_nullable, "
        "column_default FROM information_schema.columns WHERE table_schema = 'public'",
        "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"))
    with made.read() as connection:
        return sorted(tuple("".join(str(part).split()) for part in row)
                      for question in asked for row in connection.execute(text(question)))


def test_a_new_history_is_what_the_migrations_make(makes: Makes) -> None:
    made, migrated = _bare(makes), _bare(makes)
    with made.write() as connection:
        schema.make(connection, database.HEAD)
    with migrated.write() as connection:
        database.migrate(connection, database.HEAD)
    assert _definitions(made) == _definitions(migrated)
    with made.read() as one_way, migrated.read() as other_way:
        asked = text("SELECT version_num FROM tunecheck_version")
        assert one_way.execute(asked).all() == other_way.execute(asked).all() == [(database.HEAD,)]
    made.close()
    migrated.close()


def test_the_migrations_make_the_tables_of_the_schema(makes: Makes) -> None:
    bare = _bare(makes)
    with bare.write() as connection:
        database.migrate(connection, database.HEAD)
    bare.close()
    store = makes.open(bare.where)
    with store.db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={
            "version_table": "tunecheck_version", "compare_type": True, "target_metadata": schema.metadata})
        assert compare_metadata(context, schema.metadata) == []
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_current_head() == database.HEAD


def test_an_older_history_is_brought_up_to_date_and_keeps_what_it_holds(makes: Makes) -> None:
    old = _bare(makes)
    place = old.where
    about = canonical({"checks": [], "group": "g", "hardware": "hw", "reason": "", "spec": None, "tunecheck": "1",
                       "unknown": {}})
    with old.write() as connection:
        database.migrate(connection, "0001")
        for statement in (
                "INSERT INTO value (id, hash, json) VALUES (1, '\\x01', '[[\"a\",\"g\"]]'), (3, '\\x03', '7')",
                f"INSERT INTO value (id, hash, json) VALUES (2, '\\x02', '{about}')",
                "INSERT INTO audit VALUES (1, 5, 6, 'all', 1, 1, '0.1', 1, 'pull', '', FALSE, FALSE)",
                "INSERT INTO host VALUES (1, 'key-a', NULL, 'a', 'g', 'hw', 1, 1, 1, 1, 'ok', 2, '\\x05', NULL)",
                "INSERT INTO fact VALUES (1, 'x')",
                "INSERT INTO snap VALUES (1, 1, NULL, 'ok', 2)",
                "INSERT INTO span VALUES (1, 1, 1, NULL, 3, NULL, NULL, TRUE)",
                "INSERT INTO newest VALUES (1, 1, NULL, '{}', '[]', '{}', '')"):
            connection.exec_driver_sql(statement)
        if not old.sqlite:
            for table in ("value", "audit", "host", "fact"):
                connection.execute(text(f"SELECT setval('{table}_id_seq', 3)"))
    old.close()
    store = makes.open(place)
    assert store.at("a", 1) == {"x": 7} and store.audit(1).scope == "all"
    head = one(store, seen("a", {"x": 8}, problems=[Problem("c", "s", "fail", "t")]))
    assert [(row.before, row.value) for row in store.changes(1)] == [(7, 8)]
    found, = store.problems_since(head.id)      # it may have failed before, when findings were not kept
    assert (found.since.seen, found.since.after) == (head.id, None)


def test_a_newer_history_is_refused(makes: Makes) -> None:
    place = makes.place()
    with makes.open(place) as store, store.db.write() as connection:
        connection.execute(text("UPDATE tunecheck_version SET version_num = '0042'"))
    with refused(Flaw.OTHER_SCHEMA, "0042", database.HEAD):
        makes.open(place)


def test_the_database_of_something_else_is_refused(makes: Makes) -> None:
    place = makes.bare()
    engine = create_engine(database._url(place))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE audit (x INTEGER)"))
    engine.dispose()
    with refused(Flaw.OTHER_KIND, "'audit'"):
        makes.open(place)


def test_two_processes_may_make_it_at_once(makes: Makes) -> None:
    place = makes.bare()
    code = "import sys; from tunecheck_fleet.store import open_store; open_store(sys.argv[1]).close()"
    started = [subprocess.Popen([sys.executable, "-c", code, place], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "checks")})
               for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in started] == [("", 0), ("", 0)]
    assert makes.open(place).audits() == []


def test_the_default_file_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with refused(Misuse.NOT_THERE, str(tmp_path / "state"), "tunecheck audit"):
        open_store(create=False)
    assert not (tmp_path / "state").exists()
    with open_store() as store:
        file = tmp_path / "state/tunecheck/fleet.db"
        assert store.where == str(file)
        one_head = store.begin("all", [])
        assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}
        store.finish(one_head.id)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert str(database.default_file()) == "/var/lib/tunecheck-fleet/fleet.db"


@pytest.mark.parametrize(("content", "why"), [
    (b"not a database, by far" * 100, Trouble.NO_DATABASE),
    (b"SQLite format 3\0" + b"\xff" * 4096, Trouble.NO_DATABASE)])
def test_a_file_that_is_none(tmp_path: Path, content: bytes, why: Trouble) -> None:
    file = tmp_path / "x.db"
    file.write_bytes(content)
    with refused(why, str(file)):
        open_store(str(file))
    assert file.read_bytes() == content


def test_places_where_nothing_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, why, name in ((tmp_path, Trouble.NOT_A_FILE, tmp_path),
                             (tmp_path / "file/x.db", Misuse.UNWRITABLE, tmp_path / "file/x.db"),
                             ("/proc/x/fleet.db", Misuse.UNWRITABLE, "/proc/x/fleet.db"),
                             ("mysql://x/y", Misuse.NO_SUCH, "mysql://"), ("http://[::1", Misuse.MALFORMED, ""),
                             ("sqlite://", Misuse.NO_SUCH, "sqlite://"), ("a\0b", Misuse.UNWRITABLE, "a")):
        with refused(why, str(name)):
            open_store(str(place))


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    with refused(Trouble.NO_ANSWER, str(tmp_path)) as caught:
        open_store(f"postgresql://ann:secret@/db?host={tmp_path}")
    assert "secret" not in str(caught.value)


def test_a_database_that_is_not_there(request: pytest.FixtureRequest) -> None:
    with refused(Trouble.NO_SUCH_DATABASE, "createdb"):
        open_store(request.getfixturevalue("server").url("nowhere"))


def test_a_server_that_ended_our_connections_is_asked_again(request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("server")
    makes = PostgresMakes(server)
    store = makes.fresh()
    head = store.begin("all", [("a", "g"), ("b", "g")])
    store.put(head.id, seen("a", {"x": 1}))
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tester' AND "
               "pid <> pg_backend_pid()")
    store.put(head.id, seen("b", {"x": 1}))
    assert [state.status for state in store.hosts(head.id)] == ["ok", "ok"]
    makes.close()


def test_after_an_error_in_the_middle_nothing_of_that_host_is_kept_and_the_next_is(makes: Makes) -> None:
    store = makes.fresh()
    head = store.begin("all", [("a", "g"), ("b", "g")])
    with refused(Trouble.OTHER, "nothing"), store.db.write() as connection:
        connection.exec_driver_sql("UPDATE audit SET note = 'half'")
        Hot(text("SELECT nothing FROM audit"))(connection, {})
    store.put(head.id, seen("b", {"x": 1}))
    assert store.audit(head.id).note == "" and store.at("b", head.id) == {"x": 1}


def test_a_locked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_S", 0.2)
    place = str(tmp_path / "x.db")
    with open_store(place) as store, closing(sqlite3.connect(place)) as other:
        other.execute("BEGIN IMMEDIATE")
        with refused(Trouble.LOCKED, place):
            store.begin("all", [])
        other.rollback()
        assert store.begin("all", []).id == 1


def test_a_network_filesystem_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_filesystem", lambda file: "nfs4")
    with refused(Trouble.NETWORK, str(tmp_path / "x.db"), "nfs4"):
        open_store(str(tmp_path / "x.db"))


def test_rows_alone_bring_no_database_library() -> None:
    code = ("import sys, tunecheck_fleet.store; "
            "print({'sqlalchemy', 'alembic', 'pyarrow', 'psycopg'} & set(sys.modules))")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "checks")}
    assert subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True).stdout == "set()\n"


def test_what_a_server_refuses_is_said_in_our_words(makes: Makes) -> None:
    """Real refusals of a real server: by its code where it gives one, else by what it says of the connection."""
    if not isinstance(makes, PostgresMakes):
        pytest.skip("only a server refuses somebody")
    server, place = makes.server, makes.place()
    server.sql("CREATE ROLE guest LOGIN")
    server.sql("CREATE ROLE reader LOGIN SUPERUSER")
    server.sql("ALTER ROLE reader SET default_transaction_read_only = on")
    for url, why in ((server.url("nowhere"), Trouble.NO_SUCH_DATABASE),
                     (place.replace("tester@", "nobody_here@"), Trouble.NO_SUCH_USER),
                     (place.replace("tester@", "guest@"), Trouble.NO_RIGHTS)):
        with refused(why, url.partition("://")[2].partition("?")[0]):
            open_store(url)
    with refused(Trouble.READ_ONLY, "reader@"):
        one(open_store(place.replace("tester@", "reader@")), seen("a"))
