"""Every command line of a play can be pasted: it names an inventory."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tunecheck.model.finding import Remedy
from tunecheck.rules.context import Case

ROOT = Path(__file__).resolve().parents[3]
#: A play that is run, in a document, a message or a comment; what only names the program or its options is none.
PLAY = re.compile(r"ansible-playbook (?:playbooks/)?[a-z_]+\.yml(?P<rest>[^`\n]*)")
#: History, and sentences that get the inventory from the run that says them.
GETS_IT = ("CHANGELOG.md", "playbooks/callback_plugins/tunecheck_plan.py", "roles/boot_trial/tasks/overdue.yml")


def _texts() -> list[Path]:
    known = subprocess.run(["git", "ls-files", "README.md", "docs", "roles", "playbooks", "checks", "site.yml"],
                           cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in known if name not in GETS_IT
            and name.endswith((".md", ".py", ".yml", ".j2", ".service"))]


def test_every_play_in_documents_and_messages_names_an_inventory() -> None:
    lacking = [f"{path.relative_to(ROOT)}: {found[0]}" for path in _texts()
               for found in PLAY.finditer(path.read_text(encoding="utf-8")) if " -i " not in f"{found['rest']} "]
    assert lacking == []


def test_the_play_of_a_fix_names_an_inventory() -> None:
    class Box:
        frozen = None

    remedy = Case.play(Box(), "acs")  # type: ignore[arg-type]
    assert isinstance(remedy, Remedy) and remedy.play is not None
    assert "-i" in remedy.play.argv and "NAME" in remedy.play.fill_in
