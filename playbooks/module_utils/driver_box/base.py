"""The protocol of a package manager, and the error of everything here."""

from __future__ import annotations

__all__ = ["SYSTEM_PATH", "DriverError", "Look", "Manager", "tail"]

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class DriverError(Exception):
    """What is wrong, what was expected, how to fix it; says what was written."""


class Look:
    """The repositories as they would be: ``options`` of every command that reads them, ``problem`` why it cannot."""

    def __init__(self, folder, options, problem=""):
        self.folder = folder
        self.options = list(options)
        self.problem = problem


class Manager:
    """Reads go straight; ``refresh``, ``heal``, ``install``, ``restore``, ``hold`` and ``unhold`` write."""

    name = ""
    #: Where the key of our repository goes.
    key_path = ""
    environment = ()

    def __init__(self, module):
        self.module = module

    def run(self, argv, environment=None):
        """(exit code, stdout, stderr); messages in English, no questions."""
        settings = {"LC_ALL": "C.UTF-8", "PATH": SYSTEM_PATH, **dict(self.environment), **(environment or {})}
        return self.module.run_command(argv, environ_update=settings)

    def must(self, argv, stands):
        """Run a command that writes; DriverError with its own words, and what stands now, when it fails."""
        code, out, err = self.run(argv)
        if code != 0:
            raise DriverError("%s failed (exit %d): %s. %s" % (shown(argv), code, tail(err or out), stands))
        return out


def shown(argv):
    """A command for a message, without the options that only repeat themselves."""
    words = [word for number, word in enumerate(argv)
             if word != "-o" and not (number and argv[number - 1] == "-o") and not word.startswith("-o")]
    line = " ".join(words)
    return line if len(line) < 300 else line[:297] + "..."


def tail(text, lines=4):
    """The last lines of an output, errors first."""
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    errors = [row for row in rows if row.startswith(("E:", "Error", "dpkg: error"))]
    return " | ".join((errors or rows)[-lines:]) or "no output"
