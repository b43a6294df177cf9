"""Rules for AMD, Intel, Ascend, Jetson and Apple, where the same text calls for different things."""

from __future__ import annotations

from torchinstall.diagnose.installed import is_cpu
from torchinstall.diagnose.say import build, command, evidence, from_text, take, wheel_action
from torchinstall.model.finding import DRIVER, ENVIRONMENT, NO_SOLUTION, PIN_OLDER, REINSTALL, Finding
from torchinstall.model.plan import BLOCKED, SATISFIED
from torchinstall.model.plan import INSTALL as INSTALLABLE
from torchinstall.model.variant import backend
from torchinstall.model.version import at_least, numbers
from torchinstall.resolve.selection import card_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.diagnose.situation import Situation
    from torchinstall.model.machine import Gpu

_AMD_INDEX = "AMD's own index (repo.amd.com/rocm/whl), with the extra for the card: torch[device-{gfx}]"


def amd_mixed(s: Situation) -> Finding | None:
    """Integrated graphics beside a discrete card: ROCm takes the first device, for which there is no code."""
    symptom = s.symptom("hip-no-code")
    if symptom is None:
        return None
    targets = [gpu for gpu in s.gpus if gpu.vendor == "amd" and not _integrated(s, gpu)]
    small = [gpu for gpu in s.gpus if gpu.vendor == "amd" and _integrated(s, gpu)]
    if not targets or not small:
        return None
    number = [gpu for gpu in s.gpus if gpu.vendor == "amd"].index(targets[0])
    hide = f"HIP_VISIBLE_DEVICES={number}"
    return from_text(
        symptom,
        ENVIRONMENT,
        id="integrated-graphics-first",
        cause=f"{card_name(small[0])} is integrated graphics without code in any build, and ROCm takes it too",
        evidence=evidence(s, symptom),
        remedy=f"hide it: {hide}; or switch it off in the firmware",
        command=f"set {hide}" if s.machine.os.name == "windows" else f"export {hide}",
    )


def amd_no_code(s: Situation) -> Finding | None:
    """No code for the gfx in this build, or no libraries for it any more."""
    symptom = s.symptom("hip-no-code", "gfx-dropped")
    if symptom is None:
        return None
    override = s.machine.environment.get("HSA_OVERRIDE_GFX_VERSION") or "override" in s.text.lower()
    if override and symptom.signature.kind == "hip-no-code":
        return from_text(
            symptom,
            ENVIRONMENT,
            id="gfx-override-unseen",
            cause="HSA_OVERRIDE_GFX_VERSION doesn't reach the process, or names code that the build hasn't",
            evidence=evidence(s, symptom),
            remedy="set it for the very process (service, notebook, container); it stays an experiment",
        )
    plan = s.proposed
    gfx = next((gpu.gfx for gpu in s.gpus if gpu.gfx), None)
    common: dict[str, Any] = {"id": "no-kernel-image", "evidence": evidence(s, symptom)}
    cause = f"this build has no working code for {gfx}" if gfx else symptom.signature.cause
    if plan.outcome in {INSTALLABLE, SATISFIED} and backend(plan.variant or "") == "rocm":
        older = symptom.signature.kind == "gfx-dropped" and numbers(plan.torch or "") < _newest_rocm(s)
        action = PIN_OLDER if older else wheel_action(s, plan)
        if action == "install":
            action = REINSTALL
        return from_text(symptom, action, cause=cause, remedy=take(plan), command=command(s, plan), **common)
    if s.machine.os.name == "windows" or s.machine.os.wsl:
        remedy = f"take the wheel of {_AMD_INDEX.format(gfx=gfx or 'gfxNNNN')}"
        return from_text(symptom, REINSTALL, cause=cause, remedy=remedy, **common)
    if symptom.signature.kind == "gfx-dropped" and plan.outcome != BLOCKED:
        return from_text(symptom, PIN_OLDER, cause=cause, **common)
    return from_text(symptom, NO_SOLUTION if plan.outcome == BLOCKED else REINSTALL, cause=cause, **common)


def amd_no_device(s: Situation) -> Finding | None:
    """No device under ROCm: permissions on Linux, another runtime in WSL, a driver on Windows."""
    symptom = s.symptom("hip-no-device")
    wsl = s.machine.os.wsl is True
    rocm_wheel = s.installed is not None and backend(s.installed.variant or "") == "rocm"
    if wsl and rocm_wheel and "amd" in s.vendors() and (symptom is not None or s.symptom("not-visible")):
        return Finding(
            id="rocm-in-wsl",
            action=REINSTALL,
            cause="PyTorch's ROCm wheels bring a runtime that wants /dev/kfd, and WSL has /dev/dxg",
            evidence=evidence(s, symptom, s.symptom("not-visible")),
            remedy="install AMD's own wheels for WSL, then remove torch/lib/libhsa-runtime64.so* from the environment",
            source="AMD's installation guide for Radeon in WSL",
        )
    if symptom is None:
        return None
    if wsl:
        return from_text(
            symptom,
            ENVIRONMENT,
            cause="in WSL the runtime inside torch hides the one that speaks to Windows' driver",
            evidence=evidence(s, symptom),
            remedy="remove torch/lib/libhsa-runtime64.so* from the environment, so that the system's is taken",
        )
    if s.machine.os.name == "windows":
        return from_text(symptom, DRIVER, evidence=evidence(s, symptom), remedy="install the newest Adrenalin driver")
    return from_text(symptom, ENVIRONMENT, evidence=evidence(s, symptom), command="sudo usermod -aG render,video $USER")


def amd_on_windows(s: Situation) -> Finding | None:
    """ROCm on Windows comes from AMD's index, whose Pythons are few."""
    symptom = s.symptom("no-wheel")
    if symptom is None or s.machine.os.name != "windows" or s.vendors() - {"intel"} != {"amd"} or s.pinned():
        return None
    plan = s.newest
    python = s.machine.python.version or ""
    way = next((way for way in plan.alternatives if way.reason.rule == "if-python"), None)
    if plan.outcome in {INSTALLABLE, SATISFIED} and plan.variant != "cpu":
        return from_text(symptom, "install", evidence=evidence(s, symptom), remedy=take(plan), command=command(s, plan))
    if not python:
        return None
    other = way.reason.params.get("python", "3.12") if way else "3.12"
    return from_text(
        symptom,
        ENVIRONMENT,
        cause=f"AMD's wheels for Windows don't exist for Python {python}",
        evidence=evidence(s, symptom),
        remedy=f"use Python {other}, then take the wheel of {_AMD_INDEX.format(gfx='gfxNNNN')}",
        command=f"uv venv --python {other}",
    )


def xpu_runtime(s: Situation) -> Finding | None:
    """Level Zero finds no device: the runtime or kernel is too old, or the build is another one."""
    symptom = s.symptom("xpu-runtime")
    if symptom is None:
        return None
    if s.installed is not None and s.installed.variant not in {None, "xpu"} and "intel" in s.vendors():
        return from_text(symptom, REINSTALL, remedy=take(s.proposed), command=command(s, s.proposed))
    return from_text(symptom, DRIVER, evidence=evidence(s, symptom))


def ascend_pair(s: Situation) -> Finding | None:
    """Torch and torch_npu of different releases, a chip that it doesn't know, or packages that disagree on torch."""
    told = s.machine.installed
    plugin = told.get("torch-npu")
    torch = s.installed.release if s.installed else None
    symptom = s.symptom("npu-soc", "npu-autoload", "conflict")
    ascend = "ascend" in s.vendors() or plugin is not None
    if not ascend:
        return None
    plan = s.newest
    if plugin and torch and numbers(plugin)[:3] != numbers(torch)[:3]:
        return Finding(
            id="torch-npu-mismatch",
            action=REINSTALL,
            cause=f"torch_npu {plugin} is made for the torch of its own number, and torch {torch} is installed",
            evidence=evidence(s, symptom),
            remedy=f"install the pair that belongs together: {build(plan)} with its torch_npu",
            command="torchinstall --upgrade torch --variant npu",
        )
    if symptom is None:
        return None
    if symptom.signature.kind == "conflict":
        return from_text(
            symptom,
            PIN_OLDER,
            cause="torch_npu trails torch: the release of torch_npu decides which torch all the others get",
            remedy=f"install torch at torch_npu's release ({build(plan)}) last, and pin it for the others",
            command="torchinstall torch --variant npu",
            evidence=evidence(s, symptom),
        )
    if symptom.signature.kind == "npu-soc" and plan.outcome == BLOCKED:
        return from_text(symptom, NO_SOLUTION, remedy=plan.blocked.text if plan.blocked else "")
    return from_text(
        symptom, REINSTALL, command=symptom.signature.command or "torchinstall --upgrade torch --variant npu"
    )


def jetson(s: Situation) -> Finding | None:
    """Recognise a Tegra board with a CPU build or a desktop wheel: NVIDIA's own wheels, where there still are some."""
    board = s.machine.jetson
    if board is None:
        return None
    symptom = s.symptom("cpu-build", "cpu-build-text", "not-visible", "driver-old", "no-kernel", "detection")
    if symptom is None and not is_cpu(s.installed):
        return None
    code = next((gpu.compute_capability for gpu in s.gpus), None)
    row = s.catalog.tegra(board.soc, code)
    advice = row.advice if row else "see NVIDIA's page on PyTorch for Jetson"
    supported = row is None or row.sbsa_from_l4t is not None or (board.jetpack and at_least(board.jetpack, "5"))
    plan = s.newest
    good = plan.outcome in {INSTALLABLE, SATISFIED} and backend(plan.variant or "") == "cuda"
    if not supported and not good:
        return Finding(
            id="jetson-too-old",
            action=NO_SOLUTION,
            cause="the last wheels for this board are for a JetPack and a Python that today's tools no longer serve",
            evidence=evidence(s, symptom),
            remedy=advice,
            source=row.source if row else "",
        )
    return Finding(
        id="jetson-wheel",
        action=REINSTALL,
        cause="the ordinary aarch64 wheel that is installed doesn't use the GPU of this board",
        evidence=evidence(s, symptom),
        remedy=take(plan) if good else advice,
        command=command(s, plan) if good else "",
        source=row.source if row else "",
    )


def mps_macos(s: Situation) -> Finding | None:
    """MPS refuses: macOS is too old for this torch, or the session has no Metal."""
    symptom = s.symptom("mps-macos")
    if symptom is None:
        return None
    version, installed = s.machine.os.version, s.installed
    floor = s.catalog.mps_floor(installed.release) if installed is not None and installed.release else None
    if floor is not None and version and at_least(version, floor[0]):
        return from_text(
            symptom,
            ENVIRONMENT,
            id="no-metal",
            cause=f"macOS {version} is new enough for this torch: this session can't reach Metal",
            remedy="run it in a session at the screen, not through ssh, a sandbox or a virtual machine",
        )
    plan = s.newest
    return from_text(symptom, PIN_OLDER, evidence=evidence(s, symptom), remedy=take(plan), command=command(s, plan))


def _newest_rocm(s: Situation) -> tuple[int, ...]:
    """Return the newest torch that has a ROCm build at all, as numbers."""
    releases = [b.torch for b in s.catalog.builds(s.platform or "") if backend(b.variant) == "rocm"]
    return max((numbers(torch) for torch in releases), default=())


def _integrated(s: Situation, gpu: Gpu) -> bool:
    """Tell whether this is integrated graphics that no build serves."""
    if gpu.gfx and s.catalog.gfx_is_target(gpu.gfx):
        return False
    name = (gpu.name or "").lower()
    return (
        bool(gpu.integrated)
        or "igpu" in name
        or "radeon graphics" in name
        or gpu.gfx in {"gfx1036", "gfx90c", "gfx1103"}
    )
