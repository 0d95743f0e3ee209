"""Which file of an inventory cannot be read is said, and no other is blamed: what Ansible takes for empty is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.spec.inventory import broken_files

_HOSTS = "all: {hosts: {box: {}}}\n"


def _of(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars/box.yml").write_text(text)
    (tmp_path / "hosts.yml").write_text(_HOSTS)
    return broken_files(str(tmp_path / "hosts.yml"))


@pytest.mark.parametrize("text", ["", "---\n", "# nothing yet\n", "---\n# nothing\n...\n", "~\n", "null\n", "[]\n",
                                  "{}\n", "''\n", "false\n", "0\n", "a: 1\n", "{a: 1}\n", "a: !vault |\n  x\n",
                                  "a: !unsafe x\n", "$ANSIBLE_VAULT;1.1;AES256\n61\n"])
def test_what_ansible_reads_is_not_blamed(tmp_path: Path, text: str) -> None:
    assert _of(tmp_path, text) == []


@pytest.mark.parametrize("text", ["- a\n", "a\n", "7\n", "true\n", "a: [\n", "a:\n\tb: 1\n", "[" * 3000,
                                  "a: 1\n---\nb: 2\n"])
def test_what_ansible_cannot_read_is_named(tmp_path: Path, text: str) -> None:
    (said,) = _of(tmp_path, text)
    assert said.startswith(str(tmp_path / "host_vars/box.yml"))
