"""Keeps the byte code of what the box's Python imports from a zip file; customise.sh installs it in the image.

Ansible sends every module as a zip of sources, and Python keeps no byte code of those: without KVM a `ping` costs 6 s
of emulated CPU, and half of that compiles its own files once more. It changes nothing else: the key is the digest of
the source, as in Python's own hash-based .pyc files. The folder is on the disk, so that a reboot keeps it, and only
root writes there; a file that a power cut or a full disk left half-written has not the digest that it begins with, and
costs a compilation. LAB_BYTECODE names another folder, for the tests' plays on the machine itself. A traceback may name
the folder of an earlier task.

Every Python of the box reads this file first: it imports nothing that is not loaded anyway.
"""

import _imp
import marshal
import os
import zipimport

_FOLDER = os.environ.get("LAB_BYTECODE", "/var/cache/lab-bytecode")
_compile = zipimport._compile_source  # type: ignore[attr-defined]


_DIGEST = 8     # bytes


def _digest(content):  # type: ignore[no-untyped-def]
    return _imp.source_hash(len(content), content)


def _kept(pathname, source):  # type: ignore[no-untyped-def]
    path = f"{_FOLDER}/{_digest(source).hex()}"
    try:
        with open(path, "rb") as file:
            kept = file.read()
        if _digest(kept[_DIGEST:]) == kept[:_DIGEST]:
            return marshal.loads(kept[_DIGEST:])
    except OSError:
        pass
    code = _compile(pathname, source)
    content = marshal.dumps(code)
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(_FOLDER, 0o755, exist_ok=True)      # noqa: PTH103
        with open(part, "wb") as file:
            file.write(_digest(content) + content)
        os.rename(part, path)       # noqa: PTH104
    except OSError:     # not root, or no room
        try:    # noqa: SIM105
            os.unlink(part)     # noqa: PTH108
        except OSError:
            pass
    return code


zipimport._compile_source = _kept  # type: ignore[attr-defined]
