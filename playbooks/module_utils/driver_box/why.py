"""Why the packages of the driver or of the container runtime cannot be as wanted: the codes."""

from __future__ import annotations

from enum import Enum

__all__ = ["NoDriver"]


class NoDriver(Enum):
    """Of a DriverError."""

    #: This host's operating system has no package manager that we know, or keeps its driver itself.
    NO_MANAGER = "no-manager"
    DGX_OS = "dgx-os"
    #: The plan of packages has a problem, or the repositories do not answer.
    PLAN = "plan"
    #: No repository of this host offers a package.
    NOT_OFFERED = "not-offered"
    NO_PACKAGE = "no-package"
    #: Two sources name one repository in two ways.
    REPOSITORIES = "repositories"
    #: The package manager refuses the whole set.
    NOT_INSTALLABLE = "not-installable"
    COMMAND_FAILED = "command-failed"
    NOT_DOWNLOADED = "not-downloaded"
    NOT_UNPACKED = "not-unpacked"
    #: The package of the module has no sources for DKMS, or they do not build for a kernel.
    NO_SOURCES = "no-sources"
    NOT_BUILT = "not-built"
    #: The inference unit cannot be stopped, or something else uses the GPUs.
    NOT_STOPPED = "not-stopped"
    GPUS_IN_USE = "gpus-in-use"
    #: Installing would let systemd read its units again, by which a container loses its GPUs.
    RELOAD = "reload"
    #: Behind the transaction: it moved kernel packages, or what it should have installed is not there.
    KERNEL_MOVED = "kernel-moved"
    NOT_WHOLE = "not-whole"
