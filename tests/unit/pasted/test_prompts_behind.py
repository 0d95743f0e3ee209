"""A shell's prompt behind the last output is no part of the text: with it and without it the verdict is the same,
whatever the output is, and whatever the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.samples import box
from tests.unit.imports.test_seams import LOG
from tests.unit.imports.twice import TWICE

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.host.imported.prompts import unprompted
from tunecheck.rules import judge
from tunecheck.rules.context import Case

PROMPTS = (
    "root@gpu7:~# ", "root@gpu7:~#\n", "$ ", "$", "# ", "root@gpu7:~# exit", "root@gpu7:~# exit\nlogout\n",
    "me@gpu7:~$ exit\nlogout\nConnection to gpu7 closed.\nme@desk:~$ ", "[root@gpu7 ~]# ", "[me@gpu7 /var/log]$ exit\n",
    "(base) me@gpu7:~/src$ ", "me@gpu7 ~ % ", "me@gpu7 ~> ", "gpu7:~ # ", "sh-5.1# ", "/ # ", "~ $ ", "gpu7# ", "> ",
    "\u276f ", "root@gpu7:~# \nroot@gpu7:~# \n\nroot@gpu7:~# ^C\nroot@gpu7:~# \n\n", "PS C:\\Users\\me> ",
    "me@gpu7:~/tune (main) $ ", "\u250c\u2500\u2500(root\u327fgpu7)-[~]\n\u2514\u2500# ", "$ ./nvbandwidth",
    "root@gpu7:~# dmesg", "\x1b[01;32mroot@gpu7\x1b[00m:\x1b[01;34m~\x1b[00m# ",
)
ABOVE = {"lspci": "lspci -nnvvv", "kernel log": "dmesg", "topo": "nvidia-smi topo -m"}
OUTPUTS = {"lspci": box("switch1"), "kernel log": LOG,
           **{f"{kind} {number}": text for kind, both in TWICE.items() for number, text in enumerate(both)}}


def _judged(path: Path, text: str) -> list[tuple[str, ...]]:
    path.write_text(text)
    door = load_import(str(path))
    return [(door.summary(), "", "", "", ""), *(
        (each.id, each.code, each.outcome, each.subject, each.text)
        for each in judge(Case(gather(door, None, True)), "preflight"))]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_prompt_behind_an_output_changes_nothing(kind: str, tmp_path: Path) -> None:
    text, file = OUTPUTS[kind], tmp_path / "pasted.txt"
    plain = _judged(file, text)
    few = PROMPTS if kind in ("lspci", "topo 0") else PROMPTS[:6:2]
    for prompt in few:
        assert _judged(file, text + prompt) == plain, prompt


@pytest.mark.parametrize("kind", OUTPUTS)
def test_every_prompt_is_taken_away_from_every_output_and_no_line_of_it(kind: str) -> None:
    text = OUTPUTS[kind]
    bare = unprompted(text)
    assert bare.rstrip("#\n") == text.rstrip("#\n")
    for prompt in PROMPTS[:-1]:
        assert unprompted(text + prompt) in (text, bare), prompt


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_whole_listing_is_whole_below_its_command_too(prompt: str, tmp_path: Path) -> None:
    text, file = "root@gpu7:~# lspci -nnvvv\n" + box("switch1").rstrip("\n") + "\n\n", tmp_path / "pasted.txt"
    plain = _judged(file, text)
    assert "cut short" not in str(plain)
    assert _judged(file, text + prompt) == plain
    assert _judged(file, "".join(f"    {line}\n" for line in (text + prompt).splitlines())) == plain


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_makes_no_cut_listing_whole(prompt: str, tmp_path: Path) -> None:
    text, file = box("switch1"), tmp_path / "pasted.txt"
    cut = text[:text.rindex("\tKernel driver in use")].rstrip("\n") + "\n"
    assert "cut short" in str(_judged(file, cut))
    assert _judged(file, cut + prompt) == _judged(file, cut)


def test_prompts_between_two_outputs(tmp_path: Path) -> None:
    lspci, file = box("switch1").rstrip("\n") + "\n\n", tmp_path / "pasted.txt"
    plain = _judged(file, f"me@a:~$ lspci -nnvvv\n{lspci}me@a:~$ dmesg\n{LOG}")
    between = "me@a:~$ \nme@a:~$ cd /tmp\n"
    assert _judged(file, f"me@a:~$ lspci -nnvvv\n{lspci}{between}me@a:~$ dmesg\n{LOG}me@a:~$ ") == plain


@pytest.mark.parametrize("text", [
    "</nvidia_smi_log>\n", "# Avg bus bandwidth    : 18.2556\n", "modprobe@fuse.service: 5% done\n",
    "[    5.1] </TASK>\n", "[pod/gpu-driver-x2x4k/driver] # Out of bounds values : 0 OK\n", "node7: # Avg : 1\n",
    "root@node7: # Avg bus bandwidth : 1\n", "/var/log/nccl.log: # Avg bus bandwidth : 1\n", "[1,0]<stdout>:#\n",
    "00:01.0 PCI bridge: Intel\n", " 0      N/A     52.40\n", "100%\n", "# nThread 1 nGpus 2\n", "\tBus: primary=00\n",
])
def test_the_last_line_of_an_output_is_no_prompt(text: str) -> None:
    assert unprompted(f"first\n{text}") == f"first\n{text}"


def test_a_command_that_another_prompt_follows_has_run() -> None:
    text = "out\nroot@a:~# cat /proc/x\n"
    assert unprompted(f"{text}root@a:~# \n") == text
    assert unprompted(text) == "out\n"
