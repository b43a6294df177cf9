"""Containers: which kind, whether an image is being built, and whether an accelerator got in.

A container shows the host's PCI devices and kernel modules; only device nodes are access. A marker file
alone says nothing of accelerators: many sandboxes and virtual machines carry ``/.dockerenv``.
"""

from __future__ import annotations

import re

from torchinstall.model.value import Value
from torchinstall.probe.variables import accelerator_hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.probe.facts import GpuFacts
    from torchinstall.probe.system import System

_ENGINE = re.compile(r'^engine="?([a-z]+)', re.MULTILINE)
_BUILDKIT_HOST = "buildkitsandbox"
"""BuildKit's default host name for RUN steps (build argument BUILDKIT_SANDBOX_HOSTNAME)."""

_CONTAINERENV = "/run/.containerenv"
_MARKERS = (
    ("kubernetes", "/var/run/secrets/kubernetes.io"),
    ("flatpak", "/.flatpak-info"),
    ("apptainer", "/.singularity.d"),
    ("podman", _CONTAINERENV),
    ("lxd", "/dev/lxd/sock"),
    ("lxd", "/dev/.lxd-mounts"),
    ("docker", "/.dockerenv"),
)
_CGROUPS = (
    ("/buildkit/", "buildkit"),
    ("/kubepods", "kubernetes"),
    ("/docker/", "docker"),
    ("/docker-", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
)
_ROOTS = (
    ("/buildkit/", "buildkit"),
    ("buildah", "buildah"),
    ("/docker/overlay2", "docker"),
    ("/containerd/", "containerd"),
    ("/containers/storage/", "podman"),
)
_NAMED = {"lxc-libvirt": "lxc", "systemd-nspawn": "nspawn"}
_BUILDERS = ("buildkit", "buildah", "kaniko")
_NODES = {"nvidia": ("nvidiactl", "dxg", "nvhost-gpu", "nvgpu"), "amd": ("kfd", "dxg"), "ascend": ("davinci_manager",)}


class Marks(Value):
    """What surrounds the processes: ``kind`` of container, and by which marks a ``build`` of an image is known."""

    kind: str
    kind_source: str
    build: tuple[str, ...] = ()


def container_marks(system: System) -> Marks | None:
    """Return the kind of container and the marks of an image build; ``None`` on an ordinary machine."""
    mounts = system.read_text("/proc/self/mountinfo", 1024 * 1024) or ""
    build = build_marks(system, mounts)
    for builder, mark in build:
        if builder in _BUILDERS:
            return Marks(kind=builder, kind_source=mark, build=tuple(mark for _, mark in build))
    kind, source = _kind(system, mounts)
    if kind is None:
        return None
    return Marks(kind=kind, kind_source=source, build=tuple(mark for _, mark in build))


def build_marks(system: System, mounts: str) -> list[tuple[str, str]]:
    """Return builder and mark, for every mark of BuildKit, buildah (so podman build) and kaniko that is there."""
    marks = []
    if system.hostname() == _BUILDKIT_HOST or _BUILDKIT_HOST in (system.read_text("/etc/hosts") or ""):
        marks.append(("buildkit", f"the host name is {_BUILDKIT_HOST}"))
    if "/buildkit/" in mounts or "/buildkit/" in (system.read_text("/proc/self/cgroup") or ""):
        marks.append(("buildkit", "mounts or control group of BuildKit"))
    engine = containerenv_engine(system)
    if engine == "buildah":
        marks.append(("buildah", f"{_CONTAINERENV} names buildah"))
    if any("/buildah" in line and " / / " not in line for line in mounts.splitlines()):
        marks.append(("buildah", "mounts of buildah"))
    first = first_process(system)
    if system.exists("/kaniko/executor"):
        marks.append(("kaniko", "/kaniko/executor is there"))
    elif first.startswith("/kaniko/"):
        marks.append(("kaniko", "process 1 is kaniko"))
    # Older podman and buildah leave the file empty in a build; a container that podman runs has its name
    # in the variable "container" as well.
    if engine == "" and not marks and "container" not in system.environ and re.match(r"/bin/(ba)?sh -c ", first):
        marks.append(("podman", f"{_CONTAINERENV} is empty and process 1 is a single shell command"))
    return marks


def containerenv_engine(system: System) -> str | None:
    """Return the engine that /run/.containerenv names, ``""`` for an empty file, ``None`` for no file."""
    if not system.exists(_CONTAINERENV):
        return None
    match = _ENGINE.search(system.read_text(_CONTAINERENV) or "")
    return match[1] if match else ""


def first_process(system: System) -> str:
    """Return the command line of process 1."""
    words = (system.read_bytes("/proc/1/cmdline") or b"").rstrip(b"\0").split(b"\0")
    return b" ".join(words).decode("utf-8", "replace")


def _kind(system: System, mounts: str) -> tuple[str | None, str]:
    for kind, path in _MARKERS:
        if system.exists(path):
            engine = containerenv_engine(system) if path == _CONTAINERENV else None
            return engine or kind, path
    if system.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "the variables of Kubernetes"
    for place in ("/proc/1/cgroup", "/proc/self/cgroup"):
        text = system.read_text(place) or ""
        for word, kind in _CGROUPS:
            if word in text:
                return kind, place
    for named, source in (
        (system.environ.get("container"), "the variable container"),
        (system.read_line("/run/systemd/container"), "/run/systemd/container"),
    ):
        if named and named != "wsl":
            return _NAMED.get(named, named), source
    root = next((line for line in mounts.splitlines() if line.split()[4:5] == ["/"]), "")
    if " overlay " in root or " fuse-overlayfs " in root:
        for word, kind in _ROOTS:
            if word in root:
                return kind, "the root file system"
    return None, ""


def reachable(system: System, vendor: str) -> bool:
    """Tell whether a device node of this maker's accelerators is here."""
    if vendor == "intel":
        return any(name.startswith("renderD") for name in system.listdir("/dev/dri"))
    nodes = _NODES.get(vendor)
    if nodes is None:
        return True  # nobody told which nodes these makers have
    return any(system.exists(f"/dev/{node}") for node in nodes)


def accelerator_evidence(system: System, gpus: Sequence[GpuFacts]) -> tuple[tuple[str, ...], bool | None]:
    """Return what speaks of an accelerator inside a container, and whether one can be reached.

    Nothing that speaks of one: the second is ``None``, and the machine is an ordinary CPU machine.
    """
    evidence = []
    vendors = set()
    for gpu in gpus:
        # A display adapter that no PyTorch build is meant for is no accelerator that got lost.
        if not gpu.may_compute:
            continue
        vendors.add(gpu.vendor)
        evidence.append(f"{gpu.vendor} device {gpu.get('pci_id') or ''} at {gpu.get('bus_id') or 'an unknown address'}")
    for module, vendor in (("nvidia", "nvidia"), ("amdgpu", "amd")):
        known = vendor in vendors or (vendor == "nvidia" and system.exists("/proc/driver/nvidia/version"))
        if system.is_dir(f"/sys/module/{module}") and (vendor == "nvidia" or known):
            vendors.add(vendor)
            version = system.read_line(f"/sys/module/{module}/version")
            evidence.append(f"kernel module {module} {version or ''}".strip())
    hints = accelerator_hints(system)
    evidence.extend(hints)
    vendors.update(_vendor_of(hint) for hint in hints)
    if not evidence:
        return (), None
    return tuple(evidence), any(reachable(system, vendor) for vendor in vendors)


def _vendor_of(hint: str) -> str:
    return "amd" if hint.startswith("ROCM_") else "ascend" if hint.startswith("ASCEND_") else "nvidia"
