"""The folder that ansible-runner works in: the play with this run's settings, and the ssh that stands before ssh."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from .options import Options
from .protocol import CAP
from .ship import LOADER, MOST_SHIPPED, collector

__all__ = ["HERE", "lay_out"]

HERE = Path(__file__).parent
_SETTINGS, _TOOLS = "        nonce=0 ", "        tools="
#: Not beside the play: Ansible would load it in any run of it, also where ansible-runner's own is not there.
_CALLBACK = "callbacks/tunecheck_answers.py"
#: Of the deadline: left to ssh for connecting, and to the box for packing what tunecheck said.
_ON_THE_BOX = 0.75


def lay_out(folder: Path, nonce: str, options: Options, hosts: Sequence[str], ship: bool = False) -> None:
    """Write ``project/play.yml``, ``project/bounded_ssh``, ``callbacks`` and ``hosts``, the names to ask where not all
    are; with ``ship`` the second question instead, and ``collector``, which goes along with it."""
    project = folder / "project"
    project.mkdir()
    wrapper = project / "bounded_ssh"
    shutil.copyfile(HERE / "bounded_ssh", wrapper)      # a wheel may have lost its mode
    wrapper.chmod(0o700)
    (folder / _CALLBACK).parent.mkdir()
    shutil.copyfile(HERE / _CALLBACK, folder / _CALLBACK)
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    if ship:
        (folder / "collector").write_bytes(collector())
    lines = (HERE / ("ship.yml" if ship else "play.yml")).read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(_with(line, nonce, options, options.turns(len(hosts))[0], wrapper, ship) for line in lines)
    (project / "play.yml").write_text(text, encoding="utf-8")


def _with(line: str, nonce: str, options: Options, turns: int, wrapper: Path, ship: bool) -> str:
    """Text for text, without templates: Ansible would fill them in anew for every host."""
    if line.startswith(_SETTINGS):
        return (f"{_SETTINGS.replace('0', nonce)}limit={max(1, int(options.deadline * _ON_THE_BOX))} "
                f"minutes={max(1, int(options.max_age / 60))} source={options.source} "
                f"cap={MOST_SHIPPED if ship else CAP} kept={options.kept}\n")
    if line.startswith(_TOOLS):
        return f"{_TOOLS}\"{' '.join(options.tools)}\"\n"
    if line.startswith("      timeout: "):
        # Behind bounded_ssh's own deadline: for a connection that is not ssh.
        return f"      timeout: {int(options.deadline) + 10}\n"
    if line.startswith("      throttle: "):
        return f"      throttle: {turns}\n"
    if "'LOADER'" in line:
        return line.replace("LOADER", LOADER)
    return line.replace('"{{ playbook_dir }}/bounded_ssh"', f'"{wrapper}"')
