"""CDI specifications and the settings of container engines, as programs write them, and as nobody should."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunecheck.parsers.containers import cdi, engine_config
from tunecheck.parsers.containers.cdi import Cdi

LIBRARY = "/usr/lib64/libcuda.so.595.71.05"
#: The same specification three times; the first as nvidia-ctk writes it.
FLAT = f"""---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
    permissions: rw
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args:
    - nvidia-cdi-hook
    - create-symlinks
    - --link
    - libcuda.so.1::/usr/lib64/libcuda.so
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: {LIBRARY}
    hostPath: {LIBRARY}
    options: [ro, nosuid]
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - hostPath: /dev/nvidia0
      path: /dev/nvidia0
  name: all
kind: nvidia.com/gpu
"""
INDENTED = f"""cdiVersion: "0.6.0"
kind: 'nvidia.com/gpu'  # of NVIDIA
devices:
    - name: "0"
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
    - name: all
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
containerEdits:
    deviceNodes:
        - path: /dev/nvidiactl
    hooks:
        - hookName: createContainer
          path: /usr/bin/nvidia-cdi-hook
    mounts:
        - hostPath: {LIBRARY}
          containerPath: {LIBRARY}
"""
JSON = json.dumps({"kind": "nvidia.com/gpu", "devices": [
    {"name": name, "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}} for name in ("0", "all")],
    "containerEdits": {"deviceNodes": [{"path": "/dev/inside", "hostPath": "/dev/nvidiactl"}],
                       "mounts": [{"hostPath": LIBRARY, "containerPath": "/x"}]}})


@pytest.mark.parametrize("text", [FLAT, INDENTED, JSON], ids=["flat", "indented", "json"])
def test_one_specification_however_it_is_written(text: str) -> None:
    found = cdi.parse(text)
    assert found == Cdi("nvidia.com/gpu", ("0", "all"), found.paths, ("595.71.05",))
    assert sorted(found.paths) == ["/dev/nvidia0", "/dev/nvidiactl", LIBRARY], "no hook, nothing inside the container"


@pytest.mark.parametrize("text", ["", "[]", "{}", "kind: gpu\n", "%%%", '{"kind": 7}', "{" * 100_000])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        cdi.parse(text)


def test_firmware_tells_the_version_too_and_a_thousand_paths_are_enough() -> None:
    paths = "".join(f"    - hostPath: /x{number}\n" for number in range(5000))
    found = cdi.parse("kind: nvidia.com/gpu\ncontainerEdits:\n  mounts:\n"
                      "    - hostPath: /lib/firmware/nvidia/580.95.05/gsp_ga10x.bin\n" + paths)
    assert found.drivers == ("580.95.05",) and len(found.paths) == cdi.MOST


@pytest.mark.parametrize(("text", "size"), [("10m", 10 << 20), ("51200k", 50 << 20), ("1g", 1 << 30), ("7", 7),
                                            ("0", None), ("-1", None), ("", None), ("ten", None)])
def test_sizes_of_docker(text: str, size: int | None) -> None:
    assert engine_config.size(text) == size


def test_podman_reads_later_files_over_earlier_ones() -> None:
    found = engine_config.podman(["[containers]\nlog_size_max = -1\nlog_driver='k8s-file'\n[engine]\n"
                                  'cgroup_manager = "systemd"\n', "[other]\nlog_size_max = 7\n",
                                  "[containers]\n# log_size_max = 5\nlog_size_max = 1048576\n"])
    assert (found.log_driver, found.log_bytes, found.cgroups) == ("k8s-file", 1 << 20, "systemd")


def test_docker_with_everything_and_with_nothing() -> None:
    found = engine_config.docker('{"exec-opts": ["native.cgroupdriver=cgroupfs"], "features": {"cdi": false}, '
                                 '"log-opts": {"max-size": "10m", "max-file": "3"}, "data-root": "/srv/docker"}')
    assert (found.cgroups, found.cdi, found.log_bytes, found.log_files, found.root) == (
        "cgroupfs", False, 10 << 20, 3, "/srv/docker")
    assert engine_config.docker("\n") == engine_config.docker("{}")


ANY = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(
    ["kind:", " ", "- ", "a/b", "devices:", "name: x", "\n", "hostPath: /x.so.595.71.05", '"', "#", "[", "{", "="]),
    max_size=40).map("".join))


@settings(max_examples=150, deadline=None)
@given(ANY)
def test_anything_at_all(text: str) -> None:
    for parse in (cdi.parse, engine_config.docker):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)
    engine_config.podman([text])
    engine_config.toml_text(text, "a", "b")
