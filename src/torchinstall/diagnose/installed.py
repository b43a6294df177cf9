"""What is said to be installed, read leniently: reports write ``2.9.1 (cpu)`` where metadata says ``2.9.1+cpu``."""

from __future__ import annotations

import re

from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, MPS, backend, toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine

_WHOLE = re.compile(r"v?(?P<release>\d+\.\d+(?:\.\d+)?)(?P<pre>(?:a|b|rc|\.?dev)\d+)?(?:\+(?P<local>[\w.]+))?$")
_START = re.compile(
    r"v?(?P<release>\d+\.\d+(?:\.\d+)?)(?P<pre>(?:a|b|rc|\.?dev)\d+)?(?:\+(?P<local>[\w.]+))?(?![\d.x/])"
)
_VARIANT = re.compile(r"\b(cpu|cu\d{2,3}|rocm\d[\d.]*|xpu)\b", re.IGNORECASE)
_CUDA = re.compile(r"CUDA (\d{1,2})(?:\.(\d))?", re.IGNORECASE)
_VENDOR = re.compile(r"\bnv\b|nvidia|jetson|vendor|custom|source", re.IGNORECASE)
_NAMES = {"pytorch": "torch", "torch-npu": "torch-npu", "torch_npu": "torch-npu"}


class Installed(Value):
    """The installed torch. ``release`` without local part, ``None`` where no version can be read.

    ``variant`` is what the build is for; ``default`` says that it was taken from what the default index serves,
    because the version had no local part. ``vendor``: somebody else's build. ``exact``: written as a version.
    """

    text: str
    release: str | None = None
    variant: str | None = None
    default: bool = False
    vendor: bool = False
    pre: bool = False
    exact: bool = False
    cuda: int | None = None

    @property
    def shown(self) -> str:
        """The version as people write it."""
        if self.release is None:
            return self.text
        return f"{self.release}+{self.variant}" if self.variant and not self.default else self.release


def read_installed(machine: Machine, platform: str | None, catalog: Catalog) -> Installed | None:
    """Return the installed torch of a machine, ``None`` where none is named."""
    text = machine.installed.get("torch") or machine.installed.get("pytorch")
    if not text:
        return None
    match = _START.match(text.strip())
    release = match["release"] if match else None
    if release is not None and release.count(".") == 1:
        release += ".0"
    local = match["local"] if match and match["local"] else ""
    variant = local if backend(local) else None
    if variant is None and (hint := _VARIANT.search(text)):
        variant = hint[1].lower()
    if variant is not None and not backend(variant):
        variant = None
    pre = bool(match and match["pre"])
    vendor = bool(local and not backend(local) and not backend(local.split(".")[0])) or bool(
        _VENDOR.search(text) and variant is None
    )
    by = machine.installed_by.get("torch")
    vendor = vendor or by in {"conda", "distribution"}
    cuda = int(found[1]) if (found := _CUDA.search(text)) else _major(variant)
    default = False
    if variant is None and release is not None and not vendor and not pre and platform is not None:
        variant = MPS if platform == "macos_arm64" else catalog.default_variant(release, platform)
        default = variant is not None and not local
        cuda = cuda or _major(variant)
    return Installed(
        text=text,
        release=release,
        variant=variant,
        default=default,
        vendor=vendor,
        pre=pre,
        exact=_WHOLE.match(text.strip()) is not None,
        cuda=cuda,
    )


def readable(machine: Machine) -> Machine:
    """Return the machine with those installed packages whose versions are versions, under their real names."""
    kept = {}
    for name, version in machine.installed.items():
        plain = version.strip()
        if _WHOLE.match(plain) or (name not in {"torch", "pytorch", "torchvision", "torchaudio"} and plain):
            kept[_NAMES.get(name, name)] = plain
    return machine.replace(installed=kept)


def is_cpu(installed: Installed | None) -> bool:
    """Tell whether the installed torch is a build for the CPU."""
    return installed is not None and installed.variant == CPU


def _major(variant: str | None) -> int | None:
    """Return the CUDA major of a variant."""
    parts = numbers(toolkit(variant)) if variant and backend(variant) == "cuda" else ()
    return parts[0] if parts else None
