"""The protocol of a package manager, and the error that everything in this folder raises."""

from __future__ import annotations

from ansible.module_utils.refusal import CodedError

from .why import NoDriver

__all__ = ["SYSTEM_PATH", "DriverError", "Look", "Manager", "refuse", "tail"]

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class DriverError(CodedError):
    """The driver's packages cannot be as wanted. ``why`` is a NoDriver; the message says what is wrong, what was
    expected, how to fix it, and what was written."""


def refuse(problems, stands):
    """Raise DriverError with the sentences ``problems``, where there is one, and with ``stands``, what holds now. Its
    code is that of the first problem that is a Refusal."""
    if problems:
        raise DriverError(next((each.why for each in problems if hasattr(each, "why")), NoDriver.PLAN),
                          "%s. %s" % ("\n".join(each.rstrip(". ") for each in problems), stands))


class Look:
    """The repositories as they would be: ``options`` of every command that reads them, ``problem`` why they cannot be
    read."""

    def __init__(self, folder, options, problem=""):
        self.folder = folder
        self.options = list(options)
        self.problem = problem


class Manager:
    """A package manager. ``refresh``, ``heal``, ``install``, ``restore``, ``hold`` and ``unhold`` write; all else only
    reads."""

    name = ""
    #: Where the key of our repository goes.
    key_path = ""
    environment = ()

    def __init__(self, module):
        self.module = module

    def run(self, argv, environment=None):
        """Run a command with messages in English and no questions. Return (exit code, stdout, stderr)."""
        settings = {"LC_ALL": "C.UTF-8", "PATH": SYSTEM_PATH, **dict(self.environment), **(environment or {})}
        return self.module.run_command(argv, environ_update=settings)

    def must(self, argv, stands):
        """Run a command that writes, and return its output. When it fails: DriverError with its own words, and with
        ``stands``, what holds now."""
        code, out, err = self.run(argv)
        if code != 0:
            raise DriverError(
                NoDriver.COMMAND_FAILED,
                "%s failed (exit %d): %s. %s" % (shown(argv), code, tail(err or out), stands))
        return out


def shown(argv):
    """Return a command for a message, without its options of the kind -o; at most 300 characters."""
    words = [word for number, word in enumerate(argv)
             if word != "-o" and not (number and argv[number - 1] == "-o") and not word.startswith("-o")]
    line = " ".join(words)
    return line if len(line) < 300 else line[:297] + "..."


def tail(text, lines=4):
    """Return the last lines of an output; where it has lines of errors, the last ones of these."""
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    errors = [row for row in rows if row.startswith(("E:", "Error", "dpkg: error"))]
    return " | ".join((errors or rows)[-lines:]) or "no output"
