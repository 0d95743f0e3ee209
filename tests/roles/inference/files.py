"""The file system of the machine, and the engine's image."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.unit.trials.container_box import _filled

from tunecheck.spec import build

__all__ = ["WORDS", "engine_image", "made"]

REPO = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
#: Words that systemd would read otherwise, were they not escaped.
WORDS = ["%s\\n", "a b", "", "100%", "$HOME", "${HOME}", "it's", 'say "x"', "back\\slash", ";", "%n",
         '{"cudagraph_mode": "piecewise"}', "-x=ä"]
_FOLDERS = ("usr", "etc/systemd/system", "etc/containers", "etc/tunecheck", "var/lib", "var/log", "var/tmp", "run",
            "tmp", "proc", "sys", "dev", "root", "opt/tunecheck/bin", "opt/tunecheck/current/bin", "srv/models")
#: Preflight without a GPU: the pass is the real one, of this machine as it is now; a file states the verdict. A frozen
#: engine never hears SIGTERM and never answers, and nearly every one of these tests would wait for both to the end: how
#: long a stop waits is in a file, and a page is waited for a second.
_CHECKER = """import sys
from pathlib import Path
if sys.argv[1:2] == ["recover"]:
    from tunecheck.recovery import act, evidence
    fetch = act.fetch
    act._GRACE = float(Path("/etc/grace").read_text())
    act.fetch = evidence.fetch = lambda url, seconds, *rest: fetch(url, min(seconds, 1.0), *rest)
if sys.argv[1:2] != ["preflight"]:
    from tunecheck.__main__ import main
    main()
    raise SystemExit
from tunecheck.app.gate_pass import forget_pass, leave_pass
from tunecheck.gate.passed import PATH
from tunecheck.model.finding import Finding
from tunecheck.spec.frozen import load_frozen
why = Path("/etc/verdict").read_text().strip()
forget_pass(PATH)
with open("/var/preflights", "a") as count:
    count.write("x")
found = [Finding(why.partition(":")[0], "redirects", "box", "fail", "effective", why.partition(": ")[2])] if why else []
leave_pass(PATH, found, int(bool(why)), load_frozen("/etc/tunecheck/spec.json"), False)
sys.exit(int(bool(why)))
"""
_PODMAN = """#!/bin/bash
words=()
for word in "$@"; do
    case $word in --ulimit=*) ;; *) words+=("$word") ;; esac
done
exec /opt/real-podman "${words[@]}"
"""


def made(root: Path) -> None:
    """All but /usr."""
    for name in _FOLDERS:
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "os-release", "nsswitch.conf", "ld.so.cache", "hosts", "protocols", "services"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy("/etc/" + name, root / "etc" / name)
    for name in ("alternatives", "dbus-1", "cni"):
        if Path("/etc/" + name).is_dir():
            shutil.copytree("/etc/" + name, root / "etc" / name, symlinks=True)
    texts = {
        "etc/tunecheck/spec.json": build("box", {"profile": "lab"}).to_json(),
        "etc/machine-id": "0123456789abcdef0123456789abcdef\n", "etc/verdict": "", "etc/grace": "0.5",
        "etc/hostname": "box\n",
        "etc/systemd/system/box.target": "[Unit]\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n",
        "etc/systemd/system/tunecheck-inference.service.d/soon.conf": "[Service]\nRestartSec=1\n",
        "etc/containers/policy.json": '{"default":[{"type":"insecureAcceptAnything"}]}',
        "etc/containers/storage.conf": '[storage]\ndriver="vfs"\ngraphroot="/var/lib/containers/storage"\n'
                                       'runroot="/run/containers/storage"\n',
        # runc: crun wants CAP_SYS_RESOURCE for the device list.
        "etc/containers/containers.conf": '[containers]\npids_limit=0\ndefault_ulimits=["nofile=1024:1024",'
                                          '"nproc=4096:4096"]\n[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\n'
                                          'events_logger="none"\n',
        "opt/podman": _PODMAN, "opt/checker.py": _CHECKER,
        "opt/tunecheck/bin/tunecheck": f"#!/bin/sh\nPYTHONPATH={REPO}/checks exec {sys.executable} /opt/checker.py "
                                       '"$@"\n',
        "opt/tunecheck/current/bin/python": f'#!/bin/sh\nPYTHONPATH={REPO}/checks exec {sys.executable} "$@"\n',
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path in ("opt/podman", "opt/tunecheck/bin/tunecheck", "opt/tunecheck/current/bin/python"):
        (root / path).chmod(0o755)
    shutil.copy2(shutil.which("podman") or "", root / "opt/real-podman")


def engine_image(folder: Path, archive: Path) -> None:
    """A root file system with a Python, xllamacpp and the server's command."""
    import xllamacpp

    root = folder / "image"
    for name in ("tmp", "proc", "sys", "dev", "etc", "run", "app", "cache"):
        (root / name).mkdir(parents=True)
    _filled(root)
    package = Path(xllamacpp.__file__).parent
    shutil.copytree(package, root / "app/lib/xllamacpp", ignore=shutil.ignore_patterns("__pycache__"))
    told = subprocess.run(["ldd", str(next(package.glob("*.so")))], capture_output=True, text=True, timeout=20).stdout
    for word in told.split():
        if word.startswith("/") and not (root / word[1:]).exists():
            (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(word, root / word[1:])
    shutil.copy(REPO / "lab/engine/llama_server.py", root / "app/llama_server.py")
    shutil.copy(REPO / "lab/engine/llama-server", root / "app/llama-server")
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True, timeout=120)
    shutil.rmtree(root)
