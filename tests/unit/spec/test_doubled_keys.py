"""A key that stands twice in an inventory's YAML file: Ansible keeps the last one, we refuse it with both lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tunecheck.cli.spec import spec
from tunecheck.errors import UsageError
from tunecheck.spec.doubled_keys import doubled_keys
from tunecheck.spec.inventory import listing

_HOSTS = "all:\n  hosts:\n    box1:\n"
_TWICE = "box_spec:\n  profile: lab\nbox_spec:\n  iommu: leave\n"


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "hosts.yml").write_text(_HOSTS)
    return tmp_path


@pytest.mark.parametrize(("file", "content", "again", "key", "first"), [
    ("group_vars/all.yml", _TWICE, 3, "box_spec", 1),
    ("group_vars/all", _TWICE, 3, "box_spec", 1),
    ("group_vars/all/driver.yaml", "box_spec:\n  driver:\n    source: nvidia\n    source: mirror\n", 4, "source", 3),
    ("host_vars/box1.yml", "box_spec_host: {iommu: leave,\n  iommu: leave}\n", 2, "iommu", 1),
    ("host_vars/box1.json", '{"box_spec":\n {"iommu": "pt", "iommu": "leave"}}', 2, "iommu", 2),
    ("hosts.yml", _HOSTS + "    box2:\n    box1:\n", 5, "box1", 3),
    ("more/hosts.yml", "all:\n  hosts:\n    a:\n    a:\n", 4, "a", 3),
    ("group_vars/all.yml", "---\na: [{b: 1,\n  b: 2}]\n", 3, "b", 2),
    ("group_vars/all.yml", 'a: 1\n"a": 2\n', 2, "a", 1),
    ("group_vars/all.yml", "a: !vault |\n  $ANSIBLE_VAULT;1.1\nb: !unsafe x\nb: y\n", 4, "b", 3),
])
def test_it_is_named_with_both_lines_wherever_it_stands(box: Path, file: str, content: str, again: int, key: str,
                                                        first: int) -> None:
    (box / file).parent.mkdir(parents=True, exist_ok=True)
    (box / file).write_text(content)
    found, = doubled_keys([str(box)])
    assert found.startswith(f"{box / file}:{again}: {key} stands here again, and in line {first};")
    # The inventory is named by one of its files; the variables stand beside it.
    if not file.startswith("more"):
        assert doubled_keys([str(box / "hosts.yml")]) == [found]


@pytest.mark.parametrize(("file", "content"), [
    ("group_vars/all.yml", "a: {x: 1}\nb: {x: 1}\n"),
    ("group_vars/all.yml", "a: &one {x: 1}\nb: *one\nc:\n  <<: *one\n  x: 2\n"),
    ("group_vars/all.yml", "a: 1\n---\na: 2\n"),
    ("group_vars/all.yml", "1: x\n'1': y\n"),
    ("group_vars/all.yml", "$ANSIBLE_VAULT;1.1;AES256\n6162\n"),
    ("group_vars/all.yml", "a: [\n"),
    ("group_vars/all.yml", "a: &x\n  b: *x\n"),
    ("group_vars/all.yml", "[" * 5000),
    ("group_vars/all.yml~", _TWICE),
    ("group_vars/.all.yml.swp", _TWICE),
    ("README.md", _TWICE),
    ("hosts", "[all]\nbox1 a=1 a=2\n"),
])
def test_what_is_no_key_twice_is_left_to_ansible(box: Path, file: str, content: str) -> None:
    (box / file).parent.mkdir(exist_ok=True)
    (box / file).write_text(content)
    assert doubled_keys([str(box), "box1,", str(box / "none")]) == []


def test_a_host_is_not_refused_for_a_key_of_another(box: Path) -> None:
    """The play asks for each of its hosts: what stands in the files of others neither stops it nor is read for it."""
    (box / "host_vars/box3.example.org").mkdir(parents=True)
    for name in ("box1.yml", "box2", "box3.example.org/more.yml"):
        (box / "host_vars" / name).write_text(_TWICE)
    for host, file in (("box1", "box1.yml"), ("box2", "box2"), ("box3.example.org", "box3.example.org/more.yml")):
        found, = doubled_keys([str(box)], host)
        assert found.startswith(f"{box}/host_vars/{file}:3: ")
        assert doubled_keys([str(box / "hosts.yml")], host) == [found]
    assert doubled_keys([str(box)], "box4") == [] and len(doubled_keys([str(box)])) == 3


def test_a_link_that_leads_back_is_no_loop(box: Path) -> None:
    (box / "group_vars").mkdir()
    (box / "group_vars/all.yml").write_text(_TWICE)
    for name in ("a", "b"):
        (box / "group_vars" / name).symlink_to(box)
    assert len(doubled_keys([str(box)])) == 1


def test_whoever_reads_the_inventory_refuses_it(box: Path) -> None:
    """`spec show`, an audit and the play's `spec freeze`."""
    (box / "group_vars").mkdir()
    (box / "group_vars/all.yml").write_text(_TWICE)
    says = f"{box}/group_vars/all.yml:3: box_spec stands here again, and in line 1"
    done = CliRunner().invoke(spec, ["show", "-i", str(box)])
    assert (done.exit_code, done.stdout) == (2, "") and says in " ".join(done.stderr.split())
    with pytest.raises(UsageError, match="box_spec stands here again"):
        listing(str(box))
    done = CliRunner().invoke(spec, ["freeze", "--host", "box1", f"--inventory={box}"],
                              input='{"box_spec": {"profile": "lab"}}')
    assert (done.exit_code, done.stdout) == (2, "") and says in " ".join(done.stderr.split())
