"""A real PostgreSQL of Debian's package, on a socket alone, for as long as the tests run."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

__all__ = ["Server", "why_not"]

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").is_dir() else []


def why_not() -> str:
    """Why there can be no server here; empty where there can."""
    if not FOLDERS:
        return "PostgreSQL is not installed (apt install postgresql)"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "setpriv is missing, and PostgreSQL refuses to run as root"
    return ""


class Server:
    """``url(name)`` names a database on it. Ends with its last user, and with this process."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))      # a socket's path has to be short
        self.argv: list[str] = []
        if os.geteuid() == 0:
            user = next(name for name in ("postgres", "nobody") if _exists(name))
            entry = pwd.getpwnam(user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self.argv = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups",
                         "--pdeathsig", "QUIT"]
        data = self.folder / "data"
        bin_ = FOLDERS[-1]
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        try:
            subprocess.run([*self.argv, str(bin_ / "initdb"), "-D", str(data), "-U", "tester", "--auth=trust",
                            "-E", "UTF8", "--no-sync"], check=True, capture_output=True, env=environment, cwd="/")
            self.process = subprocess.Popen(
                [*self.argv, str(bin_ / "postgres"), "-D", str(data), "-k", str(self.folder), "-c",
                 "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40"], env=environment, cwd="/",
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self._wait()
        except BaseException:
            self.stop()
            raise

    def url(self, name: str) -> str:
        return f"postgresql://tester@/{name}?host={self.folder}"

    def sql(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def stop(self) -> None:
        if hasattr(self, "process"):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        import psycopg

        end = time.monotonic() + 60
        while True:
            try:
                self.sql("SELECT 1")
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.05)


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False
