"""The Python inside stub wheels: a torch that acts out a behaviour, and its companions.

The sources lie in the folder ``stubs``; the part that differs from wheel to wheel (version.py and
behaviour.json) is made here.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from pathlib import Path

SOURCES = Path(__file__).with_name("stubs")

ARCHES: dict[str, tuple[str, ...]] = {
    "cu118": ("sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
    "cu124": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
    "cu126": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
    "cu128": ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
    "cu129": ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
    "cu130": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
    "cu132": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
    "cu134": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
    "rocm6.4": ("gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"),
    "rocm7.2": ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201"),
}
"""Test data: the code that a stub of each variant pretends to hold; others hold none."""


@dataclasses.dataclass(frozen=True)
class Card:
    """One pretended accelerator. ``capability`` as torch gives it; on ROCm its code is ``gfx``."""

    name: str = "NVIDIA L4"
    capability: tuple[int, int] = (8, 9)
    gfx: str | None = None


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """What a stub torch acts out.

    ``name``: works-cuda, works-cpu, works-xpu, works-mps, no-kernel-image, segfault, segfault-import, hang,
    import-error, cpu-build, driver-too-old, no-driver, out-of-memory, device-busy, error-802, wrong-result,
    noise, raise (``text`` at the first kernel), warn (``text`` as a warning of the start, no device).
    ``text`` replaces the message of the ones that have one. ``child``: a hang starts a process of its own.
    For torchvision: works, nms-missing, nms-cpu, import-error; for torchaudio: works, import-error.
    """

    name: str
    cards: tuple[Card, ...] = (Card(),)
    arches: tuple[str, ...] | None = None
    text: str | None = None
    child: bool = False


def inner_version(version: str, variant: str | None) -> str:
    """Return what torch/version.py says: the variant is in it even where metadata has no local part."""
    if "+" in version or not variant or variant in {"mps", "npu"}:
        return version
    return f"{version}+{variant}"


@functools.cache
def _sources(name: str) -> tuple[tuple[str, bytes], ...]:
    folder = SOURCES / name
    files = sorted(path for path in folder.rglob("*.py"))
    return tuple((path.relative_to(SOURCES).as_posix(), path.read_bytes()) for path in files)


def package_files(name: str, version: str, variant: str | None, behaviour: Behaviour | str | None) -> dict[str, bytes]:
    """Return the files of the package ``name``, by path in the wheel."""
    module = re.sub(r"[-.]", "_", name)
    shown = inner_version(version, variant)
    acting = Behaviour(behaviour) if isinstance(behaviour, str) else behaviour or _usual(name, variant)
    if name == "torch":
        return {**dict(_sources("torch")), **_torch_facts(shown, variant, acting)}
    if name in {"torchvision", "torchaudio"}:
        facts = {
            f"{name}/version.py": f"__version__ = {shown!r}\ncuda = {_cuda(variant)!r}\n".encode(),
            f"{name}/behaviour.json": json.dumps({"name": acting.name, "text": acting.text}).encode(),
        }
        return {**dict(_sources(name)), **facts}
    if (SOURCES / module).is_dir():
        return {**dict(_sources(module)), f"{module}/version.py": f"__version__ = {version!r}\n".encode()}
    return {f"{module}/__init__.py": f'"""A stub."""\n\n__version__ = {version!r}\n'.encode()}


def _usual(name: str, variant: str | None) -> Behaviour:
    if name != "torch":
        return Behaviour("works")
    if variant and variant.startswith("rocm"):
        return Behaviour("works-cuda", cards=(Card("AMD Radeon RX 7900 XTX", (11, 0), "gfx1100"),))
    if variant and variant.startswith("cu"):
        return Behaviour("works-cuda")
    if variant == "xpu":
        return Behaviour("works-xpu", cards=(Card("Intel Arc B580", (0, 0)),))
    if variant == "mps":
        return Behaviour("works-mps", cards=(Card("Apple M3", (0, 0)),))
    return Behaviour("works-cpu")


def _cuda(variant: str | None) -> str | None:
    match = re.fullmatch(r"cu(\d+)(\d)", variant or "")
    return f"{match[1]}.{match[2]}" if match else None


def _torch_facts(shown: str, variant: str | None, behaviour: Behaviour) -> dict[str, bytes]:
    cuda, hip = _cuda(variant), None
    if variant and variant.startswith("rocm"):
        hip = f"{variant.removeprefix('rocm')}.26015"
    if behaviour.name == "cpu-build":
        shown, cuda, hip = f"{shown.split('+', maxsplit=1)[0]}+cpu", None, None
    version = (
        "from typing import Optional\n\n"
        f"__version__ = {shown!r}\ndebug = False\ncuda: Optional[str] = {cuda!r}\n"
        f"hip: Optional[str] = {hip!r}\n"
        f"xpu: Optional[str] = {'20250301' if variant == 'xpu' else None!r}\n"
        f"git_version = {'0' * 40!r}\n"
    )
    arches = behaviour.arches if behaviour.arches is not None else ARCHES.get(variant or "", ())
    acting = {
        "name": behaviour.name,
        "cards": [dataclasses.asdict(card) for card in behaviour.cards],
        "arches": list(arches),
        "text": behaviour.text,
        "child": behaviour.child,
    }
    return {"torch/version.py": version.encode(), "torch/behaviour.json": json.dumps(acting).encode()}
