"""How containers get the GPUs: CDI specifications, the engines' settings, the place of the images.

Only files are read, and one df is run: no engine is asked, since its socket would start it and its storage takes
seconds."""

from __future__ import annotations

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, absent_as, known, parsed
from ...parsers.containers import cdi, engine_config
from ...parsers.containers.engine_config import Docker, Podman
from ...spec.frozen import Runtime as Wanted
from ...util.at_first_use import dataclass
from ..file_text import enabled, text
from ..nvidia.services import Service, active, service

__all__ = ["CDI_REFRESH", "INFERENCE_UNIT", "OLDEST_CDI", "CdiSpec", "Runtime", "Storage", "runtime"]

#: Later ones win where both define a device (CDI SPEC.md); /var/run is /run.
_CDI = ("/etc/cdi", "/var/run/cdi")
#: Of nvidia-container-toolkit >= 1.18.
CDI_REFRESH = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
#: Of the role container_runtime; they stand back where the toolkit has its own.
_OURS = ("tunecheck-cdi.path", "tunecheck-cdi.service")
INFERENCE_UNIT = "tunecheck-inference.service"
#: First release that takes --device nvidia.com/gpu=all: podman per NVIDIA's installation guide, docker per moby#45134.
OLDEST_CDI = {"podman": (4, 1), "docker": (25, 0)}
_DAEMON = "/etc/docker/daemon.json"
_CONTAINERS = ("/usr/share/containers/containers.conf", "/etc/containers/containers.conf")
_CONTAINERS_MORE = "/etc/containers/containers.conf.d"
_TOOLKIT = "/etc/nvidia-container-runtime/config.toml"
_STORAGE = {"podman": "/var/lib/containers/storage", "docker": "/var/lib/docker"}


@dataclass(frozen=True)
class CdiSpec:
    """One CDI specification. ``drivers``: versions in the names of its libraries; ``missing``: host paths that are not
    there; ``unread``: why some could not be looked for."""

    file: str
    kind: str
    devices: tuple[str, ...]
    drivers: tuple[str, ...]
    missing: tuple[str, ...]
    unread: str = ""


@dataclass(frozen=True)
class Storage:
    """The file system that the images are on: a folder on it, and its free space in KiB."""

    path: str
    free: int


@dataclass(frozen=True)
class Runtime:
    """Facts about containers. ``refresh``: the enabled units that write the CDI specification anew. ``mode``: that of
    nvidia-container-runtime. ``daemon``: docker's service. ``serving``: whether the inference unit runs."""

    cdi: Fact[tuple[CdiSpec, ...]]
    refresh: Fact[tuple[str, ...]]
    docker: Fact[Docker]
    podman: Fact[Podman]
    mode: Fact[str]
    daemon: Service
    serving: Fact[bool]
    storage: Fact[Storage]


def runtime(host: Host, asked: bool, wanted: Wanted) -> Fact[Runtime]:
    """Read all facts about containers. ``wanted`` says where the images are to be. Not ``asked``: nothing is read."""
    if not asked:
        return absent("container runtime", Absence.NOT_ASKED)
    daemon = text(host, _DAEMON)
    docker: Fact[Docker] = parsed(known("", _DAEMON) if daemon.missing else daemon, engine_config.docker)
    mode = parsed(text(host, _TOOLKIT), lambda content: engine_config.toml_text(
        content, "nvidia-container-runtime", "mode"))
    return known(Runtime(_specs(host), _refresh(host), docker, _podman(host), mode, service(host, "docker.service"),
                         active(host, INFERENCE_UNIT), _storage(host, wanted, docker)), "files")


def _specs(host: Host) -> Fact[tuple[CdiSpec, ...]]:
    found = []
    for folder in _CDI:
        try:
            names = [name for name in host.list(folder) if name.endswith((".yaml", ".json"))]
        except Unreadable as error:
            if error.absence is not Absence.NOT_PRESENT:
                return absent(folder, error.reason)
            continue
        for name in names[:32]:
            spec = parsed(text(host, f"{folder}/{name}"), cdi.parse)
            if spec.value is None:
                return absent_as(spec)
            found.append(_looked_at(host, spec.source, spec.value))
    return known(tuple(found), ", ".join(_CDI))


def _looked_at(host: Host, file: str, spec: cdi.Cdi) -> CdiSpec:
    missing, unread = [], ""
    for path in spec.paths if spec.kind.startswith("nvidia.com/") else ():
        try:
            host.realpath(path)
        except Unreadable as error:
            if error.absence is Absence.NOT_PRESENT:
                missing.append(path)
            else:
                unread = unread or f"{path}: {error.reason}"
    return CdiSpec(file, spec.kind, spec.devices, spec.drivers, tuple(missing), unread)


def _refresh(host: Host) -> Fact[tuple[str, ...]]:
    theirs = service(host, CDI_REFRESH[1]).present.value
    facts = {unit: enabled(host, unit) for unit in (*CDI_REFRESH, *(() if theirs else _OURS))}
    unread = next((fact for fact in facts.values() if not fact.known), None)
    if unread is not None:
        return absent_as(unread)
    return known(tuple(unit for unit, fact in facts.items() if fact.value), "/etc/systemd/system")


def _podman(host: Host) -> Fact[Podman]:
    try:
        more = [f"{_CONTAINERS_MORE}/{name}" for name in host.list(_CONTAINERS_MORE) if name.endswith(".conf")]
    except Unreadable as error:
        if error.absence is not Absence.NOT_PRESENT:
            return absent(_CONTAINERS_MORE, error.reason)
        more = []
    texts = [text(host, path) for path in (*_CONTAINERS, *more[:64])]
    unread = next((fact for fact in texts if not (fact.known or fact.missing)), None)
    if unread is not None:
        return absent_as(unread)
    last = next((fact.source for fact in reversed(texts) if fact.known), _CONTAINERS[-1])
    return known(engine_config.podman(fact.value or "" for fact in texts), last)


def _storage(host: Host, wanted: Wanted, docker: Fact[Docker]) -> Fact[Storage]:
    """Read the free space of the declared folder, else of the engine's own. For a folder that is not there yet its
    nearest parent is asked."""
    if wanted.engine == "leave":
        return absent("storage", Absence.NOT_ASKED)
    if wanted.storage is None and wanted.user is not None:
        return absent("storage", Absence.NOT_READ.because(
            f"images of {wanted.user} are in that user's home; declare runtime.storage"))
    root = docker.value.root if docker.value else ""
    path = wanted.storage or (root if wanted.engine == "docker" else "") or _STORAGE[wanted.engine]
    while path.count("/") > 1 and not _there(host, path):
        path = path.rpartition("/")[0]
    try:
        done = host.run(("df", "-Pk", path), 5.0)
    except Unreadable as error:
        return absent(f"df {path}", error.reason)
    return parsed(known(done.stdout, f"df -Pk {path}"), lambda output: Storage(path, _free(output)))


def _there(host: Host, path: str) -> bool:
    try:
        host.realpath(path)
    except Unreadable as error:
        return error.absence is not Absence.NOT_PRESENT
    return True


def _free(output: str) -> int:
    """Return the free space in KiB from the output of df: the fourth column of the last line, counted from the right,
    as a device's name may hold blanks. ValueError where there is no such line."""
    cells = output.strip().rpartition("\n")[2].split()
    if len(cells) < 6 or not cells[-3].isdigit():
        raise ValueError("no line of df")
    return int(cells[-3])
