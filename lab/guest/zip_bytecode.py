"""Keeps the byte code of what the box's Python imports from a zip file; customise.sh installs it in the image.

Ansible sends every module as a zip of sources, and Python keeps no byte code of those: without KVM a `ping` costs 6 s
of emulated CPU, and half of that compiles its own files once more. It changes nothing else: the key is the digest of
the source, as in Python's own hash-based .pyc files. The folder is in memory, so neither a power cut nor a full disk
reaches it, and only root writes there; LAB_BYTECODE names another, for the tests' plays on the machine itself. A
traceback may name the folder of an earlier task.

Every Python of the box reads this file first: it imports nothing that is not loaded anyway.
"""

import _imp
import marshal
import os
import zipimport

_FOLDER = os.environ.get("LAB_BYTECODE", "/run/lab-bytecode")
_compile = zipimport._compile_source  # type: ignore[attr-defined]


def _kept(pathname, source):  # type: ignore[no-untyped-def]
    path = f"{_FOLDER}/{_imp.source_hash(len(source), source).hex()}"
    try:
        with open(path, "rb") as file:
            return marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        code = _compile(pathname, source)
    try:
        os.makedirs(_FOLDER, 0o755, exist_ok=True)      # noqa: PTH103
        with open(f"{path}.{os.getpid()}", "wb") as file:
            file.write(marshal.dumps(code))
        os.rename(file.name, path)      # noqa: PTH104
    except OSError:
        pass        # not root, or no room
    return code


zipimport._compile_source = _kept  # type: ignore[attr-defined]
