"""Run a playbook of this checkout against one box, whose host variables are the test's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[2]


def play(tmp_path: Path, playbook: str, host: dict[str, object], *arguments: str) -> subprocess.CompletedProcess[str]:
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"box": host}}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory), *arguments]
    return subprocess.run(argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)
