"""Rules about wheels that can't be had: the wanted pair of version and platform, and what stands in its way."""

from __future__ import annotations

from torchinstall.diagnose.guess import WHICH_CARD, needs_card
from torchinstall.diagnose.say import build, command, evidence, from_text, take, wheel_action
from torchinstall.model.finding import DRIVER, ENVIRONMENT, INSTALL, NO_SOLUTION, PIN_OLDER, REINSTALL, Finding
from torchinstall.model.plan import BLOCKED, SATISFIED, UNDETERMINED, Plan
from torchinstall.model.plan import INSTALL as INSTALLABLE
from torchinstall.model.version import at_least, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.diagnose.situation import Situation
    from torchinstall.model.finding import Symptom

_FITTING = frozenset({INSTALLABLE, SATISFIED})
_MANYLINUX_2014 = "2.17"


def old_glibc(s: Situation) -> Finding | None:
    """Recognise a glibc below what the wheel wants: nothing but an older torch, or another system, helps."""
    symptom = s.symptom("glibc")
    wanted = s.asked if s.pinned() else (s.named or s.asked)
    by_plan = wanted.outcome == BLOCKED and wanted.blocked is not None and wanted.blocked.rule == "glibc"
    if symptom is None and not by_plan:
        return None
    plan = s.newest
    if plan.outcome not in _FITTING:
        if needs_card(plan) or plan.outcome == UNDETERMINED:
            return from_text(symptom, PIN_OLDER, likely=True, question=WHICH_CARD) if symptom else None
        reason = plan.blocked.text if plan.blocked else ""
        return Finding(id="glibc", action=NO_SOLUTION, cause=reason, evidence=evidence(s, symptom), remedy=reason)
    variant = s.named_variant
    if variant and variant != plan.variant:
        same = s.plan_for(f"torch=={plan.torch}", variant)
        if same.outcome in _FITTING:
            s.prefer(same)
            plan = same
    values: dict[str, Any] = {"evidence": evidence(s, symptom), "remedy": take(plan), "command": command(s, plan)}
    here = s.machine.os.glibc or "here"
    cause = f"glibc {here} is older than the wheel needs; {build(plan)} is the newest that runs"
    if symptom is not None:
        return from_text(symptom, PIN_OLDER, cause=cause, **values)
    return Finding(id="glibc", action=PIN_OLDER, cause=cause, **values)


def companion_without_wheel(s: Situation) -> Finding | None:
    """Recognise that a companion has no wheel for this Python: the newest torch whose companions have one."""
    symptom = s.symptom("no-wheel-companion")
    if symptom is None:
        return None
    plan = s.proposed
    if plan.outcome not in _FITTING:
        return None
    return from_text(symptom, PIN_OLDER, evidence=evidence(s, symptom), remedy=take(plan), command=command(s, plan))


def locked_without_wheel(s: Situation) -> Finding | None:
    """Recognise that a lock file chose what has no wheel here: bound the version, where an older one has."""
    symptom = s.symptom("no-wheel-lock")
    if symptom is None:
        return None
    plan = s.asked
    if plan.outcome not in _FITTING:
        reason = plan.blocked.text if plan.blocked else symptom.signature.cause
        return from_text(symptom, NO_SOLUTION, evidence=(symptom.text, reason))
    named = s.named_version
    older = named is not None and plan.torch is not None and numbers(plan.torch) < numbers(named)
    remedy = f"{take(plan)}; in a project bound torch for this platform, and bind only the torch family to its index"
    return from_text(symptom, PIN_OLDER if older else ENVIRONMENT, remedy=remedy, command=command(s, plan))


def no_wheel(s: Situation) -> Finding | None:
    """Pip's one sentence with a dozen causes: the plan for what was wanted says which it is."""
    symptom = s.symptom("no-wheel")
    if symptom is None or s.symptom("no-wheel-companion") is not None:
        return None
    plan = s.asked if s.pinned() else (s.named or s.newest)
    facts = evidence(s, symptom)
    if plan.outcome in _FITTING:
        return _can_be_had(s, symptom, plan)
    if plan.outcome == UNDETERMINED:
        return from_text(symptom, INSTALL, evidence=facts, likely=True, question=WHICH_CARD)
    reason = plan.blocked.text if plan.blocked else symptom.signature.cause
    way = next(iter(plan.alternatives), None)
    remedy = f"torch {way.torch}+{way.variant} can be had, if {way.reason.text}" if way else reason
    python = next((w for w in plan.alternatives if w.reason.rule == "if-python"), None)
    fixed = s.pinned() or s.named_version is not None
    if python is not None and not fixed:
        other = python.reason.params["python"]
        return from_text(
            symptom, ENVIRONMENT, cause=reason, evidence=facts, remedy=f"use Python {other}",
            command=f"uv venv --python {other}",
        )  # fmt: skip
    return from_text(symptom, NO_SOLUTION, cause=reason, evidence=facts, remedy=remedy)


def _can_be_had(s: Situation, symptom: Symptom, plan: Plan) -> Finding:
    """Say that what was wanted exists for this machine: another index or variant was asked than the one that has it."""
    variant = s.named_variant
    cause = "what was wanted has a wheel for this machine: another index was asked, or under another variant"
    if variant is not None and variant != plan.variant:
        cause = f"torch {plan.torch} has no {variant} wheel for this machine; its build here is {plan.variant}"
    s.prefer(plan)
    return from_text(
        symptom, INSTALL if s.installed is None else REINSTALL, cause=cause, evidence=evidence(s, symptom),
        remedy=take(plan), command=command(s, plan), likely=needs_card(plan),
        question=WHICH_CARD if needs_card(plan) else "",
    )  # fmt: skip


def conflict(s: Situation) -> Finding | None:
    """Recognise packages that ask for different versions of torch."""
    symptom = s.symptom("conflict")
    if symptom is None:
        return None
    plan = s.asked
    action = NO_SOLUTION if plan.outcome == BLOCKED else PIN_OLDER
    return from_text(symptom, action, command=command(s, plan))


_CURABLE = {
    "driver-too-old": DRIVER,
    "rocm-driver": DRIVER,
    "amd-missing": DRIVER,
    "amd-not-loaded": ENVIRONMENT,
    "amd-no-device": ENVIRONMENT,
    "cann-too-old": ENVIRONMENT,
    "cann-other": ENVIRONMENT,
    "cann-soc": ENVIRONMENT,
}
"""What stands in the way of every build, and isn't the last word: a driver or a toolkit can be exchanged."""


def nothing_fits(s: Situation) -> Finding | None:
    """Say that what was asked for can't be had here, by the tables alone."""
    plan = s.asked
    if plan.outcome != BLOCKED or plan.blocked is None or s.fits:
        return None
    if s.installed is not None and not s.complains and plan.blocked.rule in {"no-python", "version", "glibc"}:
        return None  # what stands in the way of a new install says nothing of the one that is there
    way = next(iter(plan.alternatives), None)
    return Finding(
        id=plan.blocked.rule,
        action=_CURABLE.get(plan.blocked.rule, NO_SOLUTION),
        cause=plan.blocked.text,
        evidence=evidence(s),
        remedy=f"torch {way.torch}+{way.variant} can be had, if {way.reason.text}" if way else "nothing published fits",
        source=plan.blocked.source,
    )


def not_installed(s: Situation) -> Finding | None:
    """Nothing is installed: the plan is the answer, held back by the machine or not."""
    plan = s.asked
    if s.installed is not None or plan.outcome not in _FITTING:
        return None
    held = _held_back(s, plan)
    return Finding(
        id="not-installed",
        severity="error" if s.symptoms else "warning",
        action=PIN_OLDER if held else INSTALL,
        cause=held or "torch isn't installed",
        evidence=evidence(s),
        remedy=take(plan),
        command=command(s, plan).replace("--upgrade ", ""),
        likely=needs_card(plan),
        question=WHICH_CARD if needs_card(plan) else "",
    )


def _held_back(s: Situation, plan: Plan) -> str:
    """Return why only an older torch serves this machine, where neither a driver nor a Python would change it."""
    if s.pinned() or plan.torch is None:
        return ""
    distinct = {gpu.compute_capability or gpu.gfx for gpu in s.gpus}
    if len(distinct) > 1 and any(way.reason.rule == "if-alone" for way in plan.alternatives):
        return f"{build(plan)} is the newest build with code for all cards here"
    glibc = s.machine.os.glibc
    if glibc and numbers(glibc) and at_least(glibc, _MANYLINUX_2014):
        newer = next((r.reason for r in plan.rejected if r.reason.rule == "glibc"), None)
        return newer.text if newer is not None else ""
    if s.platform == "macos_x86_64":
        return f"torch has no wheels for Intel Macs after {plan.torch}"
    return ""


def unfit(s: Situation) -> Finding | None:
    """Recognise that the installed build is known and doesn't fit, for a reason that no other rule has taken up."""
    why = s.why_not
    if why is None or s.installed is None or why.rule in {"backend", "status", "other-variant"}:
        return None
    plan = s.proposed
    if plan.outcome not in _FITTING:
        return Finding(
            id=why.rule, action=NO_SOLUTION, cause=why.text, evidence=evidence(s), remedy="nothing published fits"
        )
    return Finding(
        id=why.rule, action=wheel_action(s, plan), cause=why.text, evidence=evidence(s), remedy=take(plan),
        command=command(s, plan), source=why.source,
    )  # fmt: skip


def older_than_the_tables(s: Situation) -> Finding | None:
    """Recognise a torch from before the tables begin, beside a card: only the way to a newer one is known."""
    installed, plan = s.installed, s.newest
    if installed is None or installed.release is None or installed.vendor or not s.gpus or not s.text.strip():
        return None
    if s.catalog.release(installed.release) is not None or installed.pre or plan.outcome not in _FITTING:
        return None
    if not s.complains:
        return None
    return Finding(
        id="unknown-release",
        action=REINSTALL,
        cause=f"torch {installed.shown} isn't in the tables, so nothing can be said of it on this machine",
        evidence=evidence(s),
        remedy=take(plan),
        command=command(s, plan),
        likely=True,
        question="what does `torchinstall doctor` say on the machine itself?",
    )
