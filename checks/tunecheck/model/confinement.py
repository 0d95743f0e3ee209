"""How every container of tunecheck's is confined, a trial's and the one that serves: one place for both, so that
a trial proves what serving gets."""

from __future__ import annotations

__all__ = ["CONFINEMENT"]

#: No capability, no new privileges. SELinux (enforcing on Enterprise Linux 9) keeps /dev/nvidia* and unlabelled folders
#: from a container; to relabel them would change the host (podman-run(1), --security-opt). Without SELinux the label
#: option does nothing.
CONFINEMENT = ("--cap-drop=all", "--security-opt=no-new-privileges", "--security-opt=label=disable")
