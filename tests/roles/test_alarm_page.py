"""The drop-in for a webhook that docs/watch.md shows: systemd takes it, and its command tells a real server."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DROP_IN = re.findall(r"(?s)```ini\n(.*?)```", (ROOT / "docs/watch.md").read_text())[0]
UNIT = "tunecheck-alarm@.service"


def test_systemd_takes_it(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    shutil.copy(ROOT / "roles/inference/files" / UNIT, tmp_path / UNIT)
    (tmp_path / f"{UNIT}.d").mkdir()
    (tmp_path / f"{UNIT}.d/override.conf").write_text(DROP_IN)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "tunecheck-alarm@test.service"], timeout=60,
                          capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/usr/sbin", "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    assert done.returncode == 0 and "tunecheck-" not in done.stderr, done.stderr
    assert "PrivateNetwork=yes" in (ROOT / "roles/inference/files" / UNIT).read_text(), "that is why it is said"


def test_its_command_tells_a_server(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    told: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.handle_request, daemon=True).start()
    (tmp_path / "webhook").write_text(f'url = "http://127.0.0.1:{server.server_port}/hook"\n')
    (line,) = re.findall(r"(?m)^ExecStart=(.*)$", DROP_IN)
    words = shlex.split(line.replace("/etc/tunecheck/secrets", str(tmp_path)).replace("%H", "gpu7").replace(
        "%i", "tunecheck-recover.service"))
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    server.server_close()
    assert done.returncode == 0, done.stderr
    assert told == [{"text": "gpu7: tunecheck-recover.service failed, and a person is needed"}]
