"""How grub.cfg is replaced, against a stand-in for update-grub: the real one runs in tests/lab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.bootloader import BootloaderError, Why, grub_debian
from ansible.module_utils.tunecheck.parsers.kernel import grub


class StandIn:
    """Debian's update-grub hands its arguments on to grub-mkconfig, where the last -o counts."""

    def __init__(self, cfg: Path, knows_o: bool = True, dies: bool = False) -> None:
        self.cfg, self.knows_o, self.dies, self.seen = cfg, knows_o, dies, ""

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        assert argv[1] == "-o"
        target = Path(argv[2]) if self.knows_o else self.cfg
        if self.dies:
            target.write_text("half a f")
            Path(f"{target}.new").write_text("half a g")
            return 137, "", "Killed"
        self.seen = self.cfg.read_text()
        target.write_text("new")
        return 0, "", ""


@pytest.fixture()
def cfg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "grub.cfg"
    path.write_text("old")
    path.chmod(0o600)
    monkeypatch.setattr(grub, "GRUB_CFG", str(path))
    return path


def test_the_file_that_boots_is_whole_at_every_moment(cfg: Path) -> None:
    tool = StandIn(cfg)
    grub_debian.GrubDebian(tool)._update()
    assert tool.seen == "old" and cfg.read_text() == "new" and cfg.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in cfg.parent.iterdir()] == ["grub.cfg"]


def test_an_update_that_dies_leaves_the_old_file_and_the_next_one_heals(cfg: Path) -> None:
    with pytest.raises(BootloaderError) as caught:
        grub_debian.GrubDebian(StandIn(cfg, dies=True))._update()
    assert caught.value.why is Why.COMMAND_FAILED
    assert cfg.read_text() == "old" and [path.name for path in cfg.parent.iterdir()] == ["grub.cfg"]
    grub_debian.GrubDebian(StandIn(cfg))._update()
    assert cfg.read_text() == "new" and [path.name for path in cfg.parent.iterdir()] == ["grub.cfg"]


def test_a_wrapper_that_takes_no_arguments_has_written_the_file_itself(cfg: Path) -> None:
    grub_debian.GrubDebian(StandIn(cfg, knows_o=False))._update()
    assert cfg.read_text() == "new"


@pytest.mark.parametrize("before", [None, 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"\n'])
def test_a_commit_whose_update_fails_leaves_the_drop_in_that_was_there(
    cfg: Path, monkeypatch: pytest.MonkeyPatch, before: str | None,
) -> None:  # fmt: skip
    """Else the update-grub of the next kernel's package would make the default what was never committed."""
    monkeypatch.setattr(grub, "DROPIN", str(cfg.parent / "grub.d/zz.cfg"))
    monkeypatch.setattr(grub, "TRIAL_SCRIPT", str(cfg.parent / "42_trial"))
    dropin = Path(grub.DROPIN)
    dropin.parent.mkdir()
    if before is not None:
        dropin.write_text(before)
    loader = grub_debian.GrubDebian(StandIn(cfg, dies=True))
    monkeypatch.setattr(loader, "_disarm", lambda: None)
    with pytest.raises(BootloaderError):
        loader.commit(["iommu=off"], [])
    assert [path.name for path in dropin.parent.iterdir()] == ([] if before is None else ["zz.cfg"])
    assert before is None or dropin.read_text() == before
    assert cfg.read_text() == "old"
