"""Rules about what stands before any wheel: the system, the installer's own troubles, masks, libraries in the way."""

from __future__ import annotations

from torchinstall.diagnose.say import evidence, from_text
from torchinstall.model.finding import DRIVER, ENVIRONMENT, NO_SOLUTION, Finding
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.diagnose.situation import Situation

MASKS = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    "ASCEND_RT_VISIBLE_DEVICES",
)  # fmt: skip
_HIDES_ALL = frozenset({"", "-1", "none", "void", "NoDevFiles"})


def rosetta(s: Situation) -> Finding | None:
    """Recognise an x86_64 Python on Apple silicon: translated, without MPS, and torch ended there with 2.2."""
    machine = s.machine
    if machine.os.name != "macos" or not any(gpu.vendor == "apple" for gpu in s.gpus):
        return None
    if "x86_64" not in {machine.arch, machine.python.arch}:
        return None
    return Finding(
        id="rosetta",
        action=ENVIRONMENT,
        cause="this Python is an x86_64 build, translated (Rosetta) on Apple silicon: torch can't use MPS in it",
        evidence=("the processor is Apple's, the Python is x86_64",),
        remedy="use an arm64 Python, then install torch there",
        command="uv venv --python cpython-3.12-macos-aarch64 && torchinstall torch",
        source="torch has no x86_64 wheels for macOS after 2.2.2",
    )


def musl(s: Situation) -> Finding | None:
    """Alpine: there are no wheels at all, whatever else the text complains of."""
    system = s.machine.os
    says = system.glibc is not None and not numbers(system.glibc) and "musl" in system.glibc
    symptom = s.symptom("musl")
    if not (system.musl or says or (symptom is not None and s.installed is None)):
        return None
    return Finding(
        id="musl",
        action=NO_SOLUTION,
        cause="this system has musl instead of glibc (Alpine), and torch has no wheels for it",
        evidence=(symptom.text,) if symptom else (f"musl {system.musl or ''}".strip(),),
        remedy="use a system or image with glibc, such as python:3.12-slim",
        source="no musllinux wheels were ever published",
    )


def bits(s: Situation) -> Finding | None:
    """Recognise a 32-bit Python."""
    if s.machine.python.bits != 32:  # noqa: PLR2004 - 32-bit
        return None
    return Finding(
        id="python-32-bit",
        action=NO_SOLUTION,
        cause="this Python is a 32-bit program, and torch has no wheels for it",
        evidence=(f"Python {s.machine.python.version or ''} with 32 bits".replace("  ", " "),),
        remedy="use a 64-bit Python: uv venv --python 3.12",
        command="uv venv --python 3.12",
    )


def said_outright(s: Situation) -> list[Finding]:
    """Signatures that decide by themselves: reinstalling doesn't touch their cause."""
    found = []
    for symptom in s.symptoms:
        row = symptom.signature
        if row.strength != "text" or row.kind == "musl":
            continue
        facts: dict[str, Any] = {}
        if row.kind in {"fabric-manager", "driver-mismatch", "compat-library"} and s.machine.nvidia is not None:
            facts["evidence"] = evidence(s, symptom)
        found.append(from_text(symptom, **facts))
    return found


def long_path(s: Situation) -> Finding | None:
    """Windows' limit of 260 characters: some releases of torch pass it in an ordinary folder."""
    symptom = s.symptom("longpath")
    if symptom is None:
        return None
    guilty = {row.torch: row for row in s.catalog.signatures.long_paths if row.platform == s.platform}
    release = s.installed.release if s.installed else s.named_version
    minor = ".".join((release or "").split(".")[:2])
    row = next((row for torch, row in guilty.items() if minor and torch.startswith(f"{minor}.")), None)
    if row is None:
        return from_text(symptom)
    plan = s.newest
    if plan.torch and plan.torch != row.torch:
        s.prefer(plan)
    return from_text(
        symptom,
        "install" if plan.torch and plan.torch != row.torch else None,
        cause=f"torch {row.torch} has paths of {row.longest} characters, too long for Windows in an ordinary folder",
        remedy=f"take another release ({plan.torch} hasn't), or switch LongPathsEnabled on",
        command=f"torchinstall torch=={plan.torch}" if plan.torch else "",
    )


def mask(s: Situation) -> Finding | None:
    """Recognise a variable that hides every card: no wheel sees what the driver isn't allowed to show."""
    for name in MASKS:
        value = s.machine.environment.get(name)
        if value is None or value.strip() not in _HIDES_ALL or not s.gpus:
            continue
        return Finding(
            id="masked-devices",
            action=ENVIRONMENT,
            cause=f"{name} is set to {value!r}: it hides every card from every program that is started here",
            evidence=(f"{name}={value}", f"{len(s.gpus)} cards are here"),
            remedy=f"unset {name}, or name the cards that programs may use",
            command=f"unset {name}" if s.machine.os.name != "windows" else f"set {name}=",
        )
    return None


_NOTED = (
    ("fabric manager", "fabric-manager", ENVIRONMENT, "sudo systemctl start nvidia-fabricmanager"),
    ("can't be opened by this user", "device-permission", ENVIRONMENT, "sudo usermod -aG render,video $USER"),
    ("Level Zero driver", "level-zero-missing", DRIVER, ""),
    ("under Rosetta", "rosetta", ENVIRONMENT, "uv venv --python cpython-3.12-macos-aarch64"),
    ("nvidia-uvm", "nvidia-uvm", ENVIRONMENT, "sudo modprobe nvidia_uvm"),
)
"""Words in what the probes noted, and what such a note calls for."""


def noted(s: Situation) -> list[Finding]:
    """Return what the probes saw going wrong on the machine, in their own words."""
    found = []
    for note in s.machine.notes:
        for words, name, action, line in _NOTED:
            if words in note and s.gpus:
                found.append(Finding(id=name, action=action, cause=note, evidence=evidence(s), command=line))
                break
    return found


def gfx_override(s: Situation) -> Finding | None:
    """HSA_OVERRIDE_GFX_VERSION: reported wherever it is set, since it gives a card code of another."""
    value = s.machine.environment.get("HSA_OVERRIDE_GFX_VERSION")
    if not value or "amd" not in s.vendors():
        return None
    return Finding(
        id="gfx-override-set",
        severity="warning",
        action=ENVIRONMENT,
        cause=f"HSA_OVERRIDE_GFX_VERSION={value} makes ROCm run code of another architecture on this card",
        evidence=(f"HSA_OVERRIDE_GFX_VERSION={value}",),
        remedy="unset it where a build for the card itself exists; it can hang the machine",
        command="unset HSA_OVERRIDE_GFX_VERSION",
    )


def loader_path(s: Situation) -> Finding | None:
    """LD_LIBRARY_PATH named in the text, and nothing more telling."""
    symptom = s.symptom("shadowing")
    if symptom is None or symptom.signature.strength == "text":
        return None
    return from_text(symptom)


def compat_library(s: Situation) -> Finding | None:
    """Recognise a cuda-compat folder on the loader's path beside a card that has no forward compatibility."""
    path = s.machine.environment.get("LD_LIBRARY_PATH", "")
    folder = next((part for part in path.split(":") if "/compat" in part), None)
    consumer = [gpu for gpu in s.gpus if gpu.vendor == "nvidia" and "geforce" in (gpu.name or "").lower()]
    if folder is None or not consumer:
        return None
    return Finding(
        id="compat-library",
        severity="warning",
        action=ENVIRONMENT,
        cause=f"{folder} brings in a libcuda for forward compatibility, which GeForce cards don't have (error 804)",
        evidence=(f"LD_LIBRARY_PATH={path}", f"card: {consumer[0].name}"),
        remedy="take that folder out of LD_LIBRARY_PATH",
        command="unset LD_LIBRARY_PATH",
        source="NVIDIA CUDA compatibility guide: forward compatibility is for data center cards",
    )


def numpy(s: Situation) -> Finding | None:
    """NumPy 2 beside a torch that was built before it."""
    numpy_version, installed = s.told.installed.get("numpy", ""), s.installed
    if not numpy_version.startswith("2.") or installed is None or installed.release is None:
        return None
    if numbers(installed.release) >= (2, 3):
        return None
    return Finding(
        id="numpy-2",
        severity="warning",
        action=ENVIRONMENT,
        cause=f"torch {installed.release} was built before NumPy 2, and NumPy {numpy_version} is installed",
        evidence=(f"numpy {numpy_version}", f"torch {installed.shown}"),
        remedy="install numpy<2 beside it, or take torch 2.3 or newer",
        command='uv pip install "numpy<2"',
        source="torch 2.3 is the first release with support for NumPy 2",
    )
