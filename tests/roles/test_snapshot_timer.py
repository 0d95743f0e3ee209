"""The role snapshot_timer with real ansible on a root of its own, and its units before systemd-analyze."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[2]
ROLE = ROOT / "roles/snapshot_timer"
TOKEN = "tc_0123456789abcdef." + "s" * 43
PUSH = {"snapshot_timer_every": "15min", "snapshot_timer_push_url": "https://fleet.example.org:8733/x"}


def played(tmp_path: Path, given: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    """The role's own tasks, with every path of the box below ``tmp_path/box``, and no unit started."""
    role = tmp_path / "roles/snapshot_timer"
    shutil.rmtree(role, ignore_errors=True)
    shutil.copytree(ROLE, role)
    for name in ("tasks/timer.yml", "vars/main.yml"):
        text = (role / name).read_text()
        assert "path: /etc" in text
        (role / name).write_text(text.replace("path: /etc", f"path: {tmp_path}/box/etc"))
    for name in ("main", "timer"):
        tasks = yaml.safe_load((role / f"tasks/{name}.yml").read_text())
        kept = [task for task in tasks if "guarded_units" not in task]
        assert len(kept) == len(tasks) - 1
        (role / f"tasks/{name}.yml").write_text(yaml.safe_dump(kept))
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "become": False, "roles": [str(role)],
                                     "vars": {"ansible_python_interpreter": sys.executable, **given}}]))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(playbook), "-i", "localhost,", "-c", "local",
            "--diff", *options]
    return subprocess.run(argv, cwd=ROOT, env=environment(ANSIBLE_BECOME="false"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)


def test_on_again_and_off(tmp_path: Path) -> None:
    etc = tmp_path / "box/etc"
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    given = {**PUSH, "snapshot_timer_token_file": str(tmp_path / "token"),
             "snapshot_timer_ca_file": str(tmp_path / "ca.pem")}
    checked = played(tmp_path, given, "--check")
    assert checked.returncode == 0 and not etc.exists(), checked.stdout
    first = played(tmp_path, given)
    assert first.returncode == 0 and TOKEN not in first.stdout + first.stderr, first.stdout
    token = etc / "tunecheck/secrets/push-token"
    assert token.read_text() == TOKEN + "\n" and token.stat().st_mode & 0o777 == 0o600
    unit = (etc / "systemd/system/tunecheck-snapshot.service").read_text()
    assert ("\nExecStart=/opt/tunecheck/bin/tunecheck push --to https://fleet.example.org:8733/x "
            "--token-file /etc/tunecheck/secrets/push-token --ca /etc/tunecheck/push-ca.pem\n") in unit
    assert "changed=0" in played(tmp_path, given).stdout
    off = played(tmp_path, {})
    assert off.returncode == 0 and not any(path.is_file() or path.is_symlink() for path in etc.rglob("*")), off.stdout


def test_what_cannot_work_is_refused_before_the_first_write(tmp_path: Path) -> None:
    for given, says in (
        ({"snapshot_timer_every": "15 min"}, "expected a time such as 15min, 6h or 1d"),
        ({**PUSH, "snapshot_timer_push_url": "http://fleet"}, "expected an address such as https://"),
        (PUSH, "needs snapshot_timer_token_file"),
    ):
        done = played(tmp_path, given)
        assert done.returncode == 2 and says in " ".join(done.stdout.split()) and not (tmp_path / "box").exists()


@pytest.mark.parametrize("every", ["1min", "6h"])
def test_the_units_are_units(tmp_path: Path, every: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = played(tmp_path, {"snapshot_timer_every": every})
    assert done.returncode == 0, done.stdout
    units = tmp_path / "box/etc/systemd/system"
    service = units / "tunecheck-snapshot.service"
    text = service.read_text()
    assert "\nExecStart=/opt/tunecheck/bin/tunecheck push\n" in text
    # /opt/tunecheck is on a box, and not on this machine.
    service.write_text(text.replace("/opt/tunecheck/bin/tunecheck", sys.executable))
    spread = re.findall(r"^RandomizedDelaySec=(\d+)$", (units / "tunecheck-snapshot.timer").read_text(), re.MULTILINE)
    assert spread == [{"1min": "20", "6h": "3600"}[every]]
    argv = ["systemd-analyze", "verify", "--man=no", str(service), str(units / "tunecheck-snapshot.timer")]
    shown = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == 0 and "tunecheck-" not in shown.stderr, shown.stderr
