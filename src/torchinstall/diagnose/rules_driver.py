"""Rules about drivers and devices: too old, broken, out of reach."""

from __future__ import annotations

from torchinstall.diagnose.say import build, command, evidence, from_text, take
from torchinstall.model.finding import DRIVER, ENVIRONMENT, INSTALL, PIN_OLDER, REINSTALL, Finding
from torchinstall.model.plan import INSTALL as INSTALLABLE
from torchinstall.model.plan import Reason
from torchinstall.model.variant import toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.diagnose.situation import Situation
    from torchinstall.model.finding import Symptom

_LAST_OLD_CUDA = 11
"""Builds for CUDA 11 ended with torch 2.7: taking one is a step back, a driver is the way forward."""

_STATES = {
    "missing": ("no NVIDIA driver is installed", DRIVER, "install the NVIDIA driver"),
    "nouveau": ("the card is bound to nouveau, which has no CUDA", DRIVER, "install NVIDIA's own driver and reboot"),
    "not-loaded": (
        "the kernel module of the NVIDIA driver isn't loaded",
        ENVIRONMENT,
        "load it (modprobe nvidia); on a laptop choose the profile on-demand; after a kernel update rebuild it",
    ),
    "library-mismatch": (
        "the libraries of the NVIDIA driver and its loaded kernel module are of different versions",
        ENVIRONMENT,
        "reboot; in an image remove its own copy of libcuda",
    ),
    "no-device": (
        "the NVIDIA driver is loaded, and gives access to no device",
        ENVIRONMENT,
        "check the permissions of /dev/nvidia*, the devices of the container, and dmesg",
    ),
}
_STATE_COMMANDS = {"not-loaded": "sudo modprobe nvidia", "library-mismatch": "sudo reboot"}


def driver_state(s: Situation) -> Finding | None:
    """Recognise the state that the probes saw: with a driver that doesn't work no wheel does."""
    driver = s.machine.nvidia
    if driver is None or driver.state not in _STATES or "nvidia" not in s.vendors():
        return None
    blocked = s.newest.blocked
    if driver.state == "no-device" and blocked is not None and blocked.rule == "blocked-module":
        return None  # that says why there is none
    cause, action, remedy = _STATES[driver.state]
    return Finding(
        id=f"driver-{driver.state}",
        action=action,
        cause=cause,
        evidence=evidence(s, s.symptom("driver-not-loaded", "no-driver", "not-visible")),
        remedy=remedy,
        command=_STATE_COMMANDS.get(driver.state, ""),
    )


_OTHER_STATES = {
    ("amd", "no-device"): (
        "this user or container can't open /dev/kfd, without which ROCm finds no device",
        "add the user to the groups render and video and log in again; in a container pass /dev/kfd and /dev/dri",
        "sudo usermod -aG render,video $USER",
    ),
    ("amd", "not-loaded"): (
        "the kernel module amdgpu isn't loaded",
        "load it, or install AMD's driver",
        "sudo modprobe amdgpu",
    ),
    ("intel", "no-device"): (
        "this user or container can't open /dev/dri/renderD*",
        "add the user to the group render and log in again; in a container pass --device /dev/dri",
        "sudo usermod -aG render $USER",
    ),
    ("ascend", "no-device"): (
        "the Ascend driver is here, and none of its devices can be reached",
        "give the container /dev/davinci*, /dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc",
        "",
    ),
    ("ascend", "missing"): (
        "the Ascend driver isn't installed",
        "install the driver and firmware of the card (HDK)",
        "",
    ),
}


def other_driver_state(s: Situation) -> Finding | None:
    """Recognise an AMD, Intel or Ascend driver that gives no device to this process."""
    for vendor in ("amd", "intel", "ascend"):
        driver = getattr(s.machine, vendor)
        known = _OTHER_STATES.get((vendor, getattr(driver, "state", None) or ""))
        if known is None or vendor not in s.vendors() or s.newest.variant == "cpu":
            continue
        cause, remedy, command_line = known
        action = DRIVER if driver.state == "missing" else ENVIRONMENT
        return Finding(
            id=f"{vendor}-{driver.state}",
            action=action,
            cause=cause,
            evidence=evidence(s),
            remedy=remedy,
            command=command_line,
        )
    return None


def container_without_device(s: Situation) -> Finding | None:
    """Recognise a container, a login node or an image build from which no accelerator can be seen."""
    blocked = s.newest.blocked
    if blocked is None or blocked.rule not in {"container-no-device", "login-node", "image-build"}:
        return None
    if blocked.rule == "container-no-device":
        return Finding(
            id=blocked.rule,
            action=ENVIRONMENT,
            cause=blocked.text,
            evidence=evidence(s),
            remedy="start the container with its GPU (--gpus all, or the vendor's devices); no wheel changes that",
            command="docker run --gpus all ...",
        )
    return Finding(
        id=blocked.rule,
        severity="note",
        cause=blocked.text,
        remedy="run torchinstall doctor where the card is, or name the card with --gpu",
    )


def driver_dropped(s: Situation) -> Finding | None:
    """Recognise a card that the running driver no longer or not yet supports, or the wrong kernel module."""
    blocked = s.newest.blocked
    if blocked is None or blocked.rule not in {"blocked-dropped", "blocked-new", "blocked-module"}:
        return None
    way = next(iter(s.newest.alternatives), None)
    remedy = f"then torch {way.torch}+{way.variant} runs, if {way.reason.text}" if way else "change the driver"
    if way is not None and blocked.rule == "blocked-module":
        remedy = (
            f"install the {blocked.params['other']} kernel module of the same driver version (distributions have it in "
            f"packages of its own) and restart; then torch {way.torch}+{way.variant} runs"
        )
    return Finding(
        id=blocked.rule,
        action=DRIVER,
        cause=blocked.text,
        evidence=evidence(s),
        remedy=remedy,
        source=blocked.source,
    )


def driver_old(s: Situation) -> Finding | None:
    """Recognise a driver below the floor of the wheel's CUDA: another driver, or the build that this one runs."""
    symptom = s.symptom("driver-old")
    why = s.why_not
    by_facts = why is not None and why.rule == "driver-too-old"
    if symptom is None and not by_facts:
        return None
    if s.machine.jetson is not None or "nvidia" not in s.vendors() | ({"nvidia"} if symptom else set()):
        return None
    plan = s.proposed
    facts = evidence(s, symptom)
    needed = _needed(s, why if by_facts else None)
    base: dict[str, Any] = {
        "id": "driver-too-old",
        "cause": f"the NVIDIA driver is older than CUDA in the installed torch needs{needed}",
        "evidence": facts,
        "source": why.source if by_facts and why is not None else "",
    }
    restart = "; in WSL the driver is Windows' own: update it there, then wsl --shutdown" if s.machine.os.wsl else ""
    update = f"update the driver{_minimum(s)}{restart}"
    if plan.outcome != INSTALLABLE or not plan.variant:
        return Finding(action=DRIVER, remedy=update, likely=not s.gpus, question=_question(s), **base)
    major = numbers(toolkit(plan.variant))[:1]
    old = major == (_LAST_OLD_CUDA,)
    either: dict[str, Any] = {"remedy": f"{take(plan)}; or {update}", "command": command(s, plan)}
    if s.driver_is_fixed:
        return Finding(action=PIN_OLDER if old else REINSTALL, **base, **either)
    if s.dependents and s.installed is not None and s.installed.cuda not in {None, *major}:
        names = ", ".join(s.dependents)
        but = f"{names} here is compiled for CUDA {s.installed.cuda}"
        remedy = f"{update}; {build(plan)} would run on this driver, but {but}"
        return Finding(action=DRIVER, remedy=remedy, **base)
    if old and _newer_driver_helps(s):
        remedy = f"{update}; if it must stay: {take(plan)}"
        return Finding(action=DRIVER, remedy=remedy, **base)
    return Finding(action=REINSTALL if s.installed else INSTALL, **base, **either)


def device_out_of_reach(s: Situation) -> Finding | None:
    """No driver or no device, by the text; which of the reasons it is depends on where it was said."""
    symptom = s.symptom("no-driver", "driver-missing", "driver-not-loaded")
    if symptom is None:
        return None
    box = s.machine.container
    if symptom.signature.kind == "no-driver" and ((box is not None and box.build) or "build" in symptom.text.lower()):
        return _in_a_build(symptom)
    if box is not None:
        return from_text(symptom, ENVIRONMENT, cause="this container has no access to the NVIDIA driver of its host")
    state = s.machine.nvidia.state if s.machine.nvidia else None
    if s.symptom("detection") is not None and state in {None, "ok", "unknown"}:
        return None  # an installer's look failed, not the driver
    if symptom.signature.kind == "no-driver" and s.machine.gpus and "nvidia" not in s.vendors():
        return None  # a machine with other cards: the build is the wrong one
    return from_text(symptom, ENVIRONMENT)


def _in_a_build(symptom: Symptom) -> Finding:
    """While an image is built there is no GPU: the target is named, and the proof comes at run time."""
    return from_text(
        symptom,
        INSTALL,
        id="image-build",
        cause="an image is being built, and no build has a GPU: this says nothing of the machine that will run it",
        remedy="name the target in the Dockerfile, and verify when the container runs",
        command='torchinstall --gpu "H100" torch',
        severity="warning",
    )


def not_visible(s: Situation) -> Finding | None:
    """Torch sees no device although the build is right, or nothing speaks against it."""
    symptom = s.symptom("not-visible")
    if symptom is None and s.vendors() & {"nvidia", "amd"}:
        symptom = s.symptom("not-visible-env")
    if symptom is None:
        return None
    where = "the container" if s.machine.container else "this process"
    return from_text(
        symptom,
        ENVIRONMENT,
        cause=f"torch sees no device, and nothing known here speaks against the build: {where} isn't given one",
        evidence=evidence(s, symptom),
        likely=not s.fits,
        question="what do `torchinstall detect` and `torchinstall verify` say on that machine?",
    )


def _needed(s: Situation, why: Reason | None) -> str:
    if why is not None:
        return f" (driver >= {why.params['minimum']} is needed, {why.params['found']} is here)"
    driver = s.machine.nvidia
    return f" (here is {driver.version})" if driver is not None and driver.version else ""


def _minimum(s: Situation) -> str:
    """Return the driver that the newest build needs."""
    for plan in (s.newest, s.proposed):
        for way in plan.alternatives:
            minimum = way.reason.params.get("minimum") if way.reason.rule.startswith("if-driver") else None
            if minimum:
                return f" to {minimum} or newer, which brings torch {way.torch}+{way.variant}"
    return ""


def _newer_driver_helps(s: Situation) -> bool:
    """Tell whether these cards are still driven by drivers that reach newer builds."""
    return any(way.reason.rule == "if-driver" for way in s.newest.alternatives) or not s.gpus


def _question(s: Situation) -> str:
    from torchinstall.diagnose.guess import WHICH_CARD

    return "" if s.gpus else WHICH_CARD
