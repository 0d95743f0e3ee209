"""The plan that docs/rollout.md shows is what the callback prints, and its tasks are those of the roles."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/rollout.md").read_text()
CHANGED = ("Stage the kernel parameters", "Set the governor now",
           "Install the one-shot that clears redirect at boot and after an AER recovery")


def _printed(monkeypatch: pytest.MonkeyPatch, inventory: tuple[str, ...] = ("inventory/mybox",), columns: int = 80
             ) -> list[str]:
    from ansible import context
    from ansible.utils.context_objects import CLIArgs

    spec = importlib.util.spec_from_file_location("plan", ROOT / "playbooks/callback_plugins/tunecheck_plan.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"check": True, "inventory": inventory, "tags": ()}))
    monkeypatch.setenv("COLUMNS", str(columns))
    box = module.Box()
    box.spec, box.changed = {"accelerators": {"count": 2}, "boot": {"reboot": "auto"}}, list(CHANGED)
    box.info = {"gpus": ["0000:03:00.0", "0000:04:00.0"], "busy": []}
    box.trial = {"boot_trial_needs_reboot": True, "boot_trial_on_trial": True}
    box.watchdog = {"code": "usable", "identity": "iTCO_wdt", "device": "/dev/watchdog0"}
    plan = module.CallbackModule()
    printed: list[str] = []
    monkeypatch.setattr(plan._display, "display", printed.append)
    plan._show(plan._plan("mybox", box))
    return printed


def test_the_plan_is_one_that_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = _printed(monkeypatch)
    shown = re.search(r"```text\n(plan for mybox.*?)```", PAGE, re.DOTALL)
    assert shown and shown[1].splitlines() == printed[1:]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("inventory", [
    ("inventory/mybox",), ("/srv/a/very/long/way/to/the/inventories/of/this/house/and/its/rooms",),
    ("a b/hosts.yml", "inventory/more"), ()])
def test_what_undoes_it_can_be_pasted_and_names_the_inventories_of_this_run(
        monkeypatch: pytest.MonkeyPatch, inventory: tuple[str, ...], columns: int) -> None:
    words = ["ansible-playbook", "playbooks/rollback.yml", *(
        word for each in inventory for word in ("-i", each)), "-l", "mybox"]
    lines = [line.removeprefix("  undo it later:").strip() for line in _printed(monkeypatch, inventory, columns)]
    assert [shlex.split(line) for line in lines if "rollback.yml" in line] == [words]


def test_the_tasks_are_those_of_the_roles() -> None:
    tasks = "".join(path.read_text() for path in (ROOT / "roles").glob("*/tasks/*.yml"))
    assert [name for name in CHANGED if f"name: {name}\n" not in tasks] == []


def test_the_readme_leads_there() -> None:
    """Where it says how a plan is made."""
    assert "--check`: ends with a plan ([an example](docs/rollout.md#what-a-plan-looks-like))" in (
        ROOT / "README.md").read_text()
