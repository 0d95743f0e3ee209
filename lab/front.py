"""Behind the Makefile: set up from nothing but Python and apt, run the demo, the tests, the locks.

Runs on the system's Python before anything is installed: standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab import engine, needs, paths, process
from lab.errors import LabError, NoMeansError
from lab.generators import ptx
from lab.machine import Machine
from lab.progress import elapsed, progress, started

VENV = paths.REPO / ".venv"
PYTHON = VENV / "bin/python"
REQUIREMENTS = paths.REPO / "requirements"
LOCKS = {"box": [], "control": ["control"], "dev": ["control", "postgres", "ingest", "parquet", "test"]}
INVENTORY = "inventory/lab"
CODE = ("checks", "lab", "playbooks", "tests")
_MOST_WORKERS = 8


def setup(lab: bool = True) -> int:
    """Make `.venv` from the lock and, for the lab, install the Debian packages that are missing."""
    _packages(lab)
    _venv()
    return 0


def _packages(lab: bool) -> None:
    wanted = [] if _has_venv() else ["python3-venv"]
    if lab:
        needs.check_architecture()
        wanted += needs.missing_packages(needs.LAYER)
    if wanted:
        _install(wanted)


def _install(wanted: list[str]) -> None:
    names = ", ".join(wanted)
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    install = [*apt, "install", "--yes", "--no-install-recommends", *wanted]
    if shutil.which("apt-get") is None:
        raise NoMeansError(f"this machine lacks {names} and has no apt to install it; install the equivalents")
    sudo = [] if os.geteuid() == 0 else ["sudo", "--"]
    if sudo and shutil.which("sudo") is None:
        raise NoMeansError(f"installing {names} needs root and there is no sudo; as root: {' '.join(install)}")
    progress(f"installing Debian packages: {' '.join(wanted)}")
    env = ["env", "DEBIAN_FRONTEND=noninteractive"]
    if subprocess.run([*sudo, *env, *apt, "update"]).returncode or subprocess.run([*sudo, *env, *install]).returncode:
        raise NoMeansError(f"apt could not install {names} (see above)")


def _has_venv() -> bool:
    # Debian's python3 has the module venv but not ensurepip, which is in python3-venv.
    return PYTHON.exists() or subprocess.run([sys.executable, "-c", "import ensurepip, venv"],
                                             stderr=subprocess.DEVNULL).returncode == 0  # fmt: skip


def _venv() -> None:
    lock = REQUIREMENTS / "dev.lock"
    pyproject = paths.REPO / "pyproject.toml"
    wanted = hashlib.sha256(lock.read_bytes() + pyproject.read_bytes() + str(paths.REPO).encode()).hexdigest()
    stamp = VENV / "tunecheck.stamp"
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    progress("virtual environment: .venv, from requirements/dev.lock")
    stamp.unlink(missing_ok=True)
    pip = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    for argv in (
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        [*pip, "--require-hashes", "-r", str(lock)],
        [*pip, "--no-deps", "--no-build-isolation", "--editable", str(paths.REPO)],
    ):
        if subprocess.run(argv, cwd=paths.REPO).returncode != 0:
            raise LabError(f"the virtual environment could not be made (see above); failed: {' '.join(argv)}")
    stamp.write_text(wanted)
    progress("virtual environment ready")


def compiled(folder: Path) -> None:
    """Compile what the tests start again and again. They start some thousand processes of this code; many may not keep
    what they compile: their folder is read-only, or PYTHONDONTWRITEBYTECODE is set."""
    subprocess.run([str(PYTHON), "-m", "compileall", "-q", "-j", "0", "-x", r"/test_[^/]*\.py$",
                    *(str(folder / name) for name in CODE)], check=False)  # fmt: skip


def _environment() -> dict[str, str]:
    """The virtual environment first in PATH, one clock for all progress lines."""
    path = f"{VENV / 'bin'}{os.pathsep}{needs.environment()['PATH']}"
    return {**os.environ, "PATH": path, "VIRTUAL_ENV": str(VENV), "LAB_STARTED": started()}


def _run(*argv: str, timed: bool = False) -> int:
    """Run a command of the environment in the repository; when interrupted, let it clean up first.

    `timed` puts the elapsed time before each of Ansible's task headings."""
    pipe = {"stdout": subprocess.PIPE, "text": True, "errors": "replace"} if timed else {}
    env = {**_environment(), **({"ANSIBLE_FORCE_COLOR": "1"} if timed and sys.stdout.isatty() else {})}
    child = subprocess.Popen(argv, cwd=paths.REPO, env=env, preexec_fn=process.tie_to_parent(), **pipe)  # type: ignore[call-overload]
    try:
        for line in child.stdout or ():
            print(f"{elapsed()} {line}" if line.startswith(("TASK ", "PLAY ")) else line, end="", flush=True)
        return int(child.wait())
    except KeyboardInterrupt:
        # A terminal's Ctrl-C has reached the child too; a `kill` of this process has not.
        if signal.SIGINT not in process.ended_by:
            child.send_signal(signal.SIGINT)
        try:
            child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill_tree(child.pid)
            child.wait()
        raise


def demo() -> int:
    """Set up, boot the lab box, run the main job on it. The box stays up for looking around."""
    setup()
    box = Machine()
    was_up = box.state() is not None
    try:
        if was_up:
            progress("lab box `lab` is already up; using it as it is")
        elif _run(str(PYTHON), "-m", "lab", "up", "--image", "serving"):
            return 1
        begin = time.time()
        progress(f"ansible-playbook site.yml -i {INVENTORY}")
        # An old report beside a failed play would say the opposite of what happened.
        report = paths.REPO / "reports/lab-preflight.json"
        report.unlink(missing_ok=True)
        rc = _run("ansible-playbook", "site.yml", "-i", INVENTORY, timed=True)
    except KeyboardInterrupt:
        if not was_up:
            box.down()
        raise
    progress(f"ansible-playbook ended with exit code {rc} after {time.time() - begin:.0f} s")
    if report.exists():
        print(f"report: {report}")
    if rc == 0 and (box.folder / engine.LOCK).exists():
        rc = _ask(box)
    print(f"look around: {paths.typed('ssh', box.name)}")
    print(f"end it: {paths.typed('down', box.name)}")
    return rc


def _ask(box: Machine) -> int:
    """A question to what the box serves, with its key and without: as an operator would, with curl on the box."""
    body = json.dumps({"model": "tiny", "max_tokens": 16, "messages": [
        {"role": "user", "content": "What is the capital of France? Answer with one word."}]})  # fmt: skip
    ask = "curl -sS -m 60 -H 'Content-Type: application/json' -d '" + body + "' http://127.0.0.1:30000/v1/chat/completions"
    status = box.ssh(f"{ask} -o /dev/null -w '%{{http_code}}'").stdout
    print(f"served on the box's loopback, without its key: HTTP {status}")
    said = box.ssh(f'{ask} -H "Authorization: Bearer $(cat /etc/tunecheck/secrets/api-key)"', timeout=120)
    try:
        answer = json.loads(said.stdout)["choices"][0]["message"]["content"].strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        print(f"demo: with its key the served model gave no answer but {(said.stdout + said.stderr)[:300]!r}; "
              f"look: {paths.typed('ssh', box.name, 'systemctl', 'status', 'tunecheck-inference')}", file=sys.stderr)
        return 1
    print(f"with its key: the capital of France? {answer[:60]!r}")
    return 0 if status == "401" else 1


def demo_down() -> int:
    """End every lab machine of this checkout."""
    for name in paths.machines():
        Machine(name).down()
    return 0


def test(arguments: list[str]) -> int:
    """Set up what can be set up and run every test; what cannot run here is skipped with its reason."""
    try:
        setup()
    except NoMeansError as error:
        progress(f"no lab here: {error}")
        setup(lab=False)
    try:
        if wanted := needs.missing_packages(needs.TEST):
            _install(wanted)
    except NoMeansError as error:
        progress(f"some tests skip: {error}")
    compiled(paths.REPO)
    # So many files at a time, in order (tests/conftest.py).
    spread = ["-n", str(_workers()), "--dist", "loadfile", "--no-loadscope-reorder"] if _processors() > 1 else []
    return _run(str(PYTHON), "-m", "pytest", *spread, *arguments)


def _workers() -> int:
    """Half as many again as there are processors, as many tests wait; each takes up to 0.8 GiB of memory."""
    return min(_processors() * 3 // 2, _MOST_WORKERS)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def lint() -> int:
    """Run every linter; the exit code tells whether all passed."""
    setup(lab=False)
    linters = (["ruff", "check"], ["mypy"], ["lint-imports", "--no-cache"], ["ansible-lint", "--offline"])
    return max(_run(*argv) for argv in linters)


def lock() -> int:
    """Resolve requirements/*.lock anew: each holds the one before it, so that box and tests agree."""
    setup(lab=False)
    before: list[str] = []
    for name, extras in LOCKS.items():
        progress(f"requirements/{name}.lock")
        extra = [f"--extra={extra}" for extra in extras]
        rc = _run("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--upgrade",
                  "--generate-hashes", "--no-header", "--no-emit-index-url", "--no-emit-find-links", *extra, *before,
                  "pyproject.toml", "-o", f"requirements/{name}.lock")  # fmt: skip
        if rc:
            return rc
        before = ["-c", f"requirements/{name}.lock"]
    progress("requirements/build.lock")
    return _run("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
                "--no-header", "--no-emit-index-url", "--no-emit-find-links", "-c", "requirements/control.lock",
                "requirements/build.in", "-o", "requirements/build.lock")  # fmt: skip


def main() -> int:
    """Run one verb of the Makefile."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.front", description=__doc__)
    arguments: list[str] = []
    verbs: dict[str, Callable[[], int]] = {
        "setup": setup, "demo": demo, "demo-down": demo_down, "lint": lint, "lock": lock, "ptx": ptx.write,
        "test": lambda: test(arguments),
    }  # fmt: skip
    parser.add_argument("verb", choices=verbs)
    args, arguments = parser.parse_known_args()
    if arguments and args.verb != "test":
        parser.error(f"{args.verb} takes no arguments, got {' '.join(arguments)}")
    process.interruptible()
    try:
        return verbs[args.verb]()
    except LabError as error:
        print(f"{args.verb}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{args.verb}: interrupted; nothing half-built or half-started is left. What was done stays (.venv, "
              f".lab): run make {args.verb} again, and it goes on; make clean removes it", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
