"""Rules about the wheel and the card: no code for it, a build without GPU support, an installer that misjudged."""

from __future__ import annotations

from torchinstall.diagnose.guess import WHICH_CARD, needs_card
from torchinstall.diagnose.installed import is_cpu
from torchinstall.diagnose.say import command, evidence, from_text, take, wheel_action
from torchinstall.model.finding import DRIVER, ENVIRONMENT, INSTALL, NO_SOLUTION, REINSTALL, Finding
from torchinstall.model.plan import INSTALL as INSTALLABLE
from torchinstall.model.plan import SATISFIED, UNDETERMINED, Plan
from torchinstall.model.variant import backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.diagnose.situation import Situation

_FITTING = frozenset({INSTALLABLE, SATISFIED})
_NO_CODE = "no-kernel"


def wrong_backend(s: Situation) -> Finding | None:
    """Recognise a build for another maker's cards: a CUDA build beside an AMD card sees nothing."""
    installed, why = s.installed, s.why_not
    if installed is None or why is None or why.rule != "backend" or not s.gpus or is_cpu(installed):
        return None
    if backend(s.newest.variant or "") in {"", "cpu"} or backend(installed.variant or "") in {"", "mps"}:
        return None
    cause = (
        f"torch {installed.shown} is a build for {_KINDS[backend(installed.variant or '')]}, and no such card is here"
    )
    return _other_build(s, "wrong-backend", cause, s.symptom("not-visible", "not-visible-env", "no-driver"))


_KINDS = {"cuda": "NVIDIA cards", "rocm": "AMD cards", "xpu": "Intel GPUs", "npu": "Ascend NPUs"}


def cpu_build(s: Situation) -> Finding | None:
    """Recognise a CPU build beside an accelerator: the commonest cause of ``is_available() is False``."""
    if not is_cpu(s.installed) or not s.gpus or s.machine.jetson is not None or "ascend" in s.vendors():
        return None  # under torch_npu the CPU build is the right one
    if s.request.variant == "cpu":
        return None  # meant so
    symptom = s.symptom("cpu-build", "cpu-build-text", "not-visible", "not-visible-env", "cpu-version", "detection")
    why = s.why_not
    if why is not None and why.rule not in {"not-cpu", "backend", "other-variant"} and symptom is None:
        return None
    if (s.newest.variant or "cpu") == "cpu" and s.newest.outcome in _FITTING:
        return None  # what is here is no accelerator that torch has wheels for
    return _other_build(
        s, "cpu-build", f"torch {_shown(s)} is a build without GPU support, and a card is here", symptom
    )


def cpu_build_by_text(s: Situation) -> Finding | None:
    """Recognise that the text speaks of a CPU build, and the facts don't say what is installed."""
    symptom = s.symptom("cpu-build", "cpu-build-text")
    if symptom is None and s.installed is None:
        symptom = s.symptom("cpu-version")
    if symptom is None or (
        s.installed is not None and not is_cpu(s.installed) and symptom.signature.kind != "cpu-build"
    ):
        return None
    plan = s.proposed
    return from_text(
        symptom,
        REINSTALL,
        id="cpu-build",
        evidence=evidence(s, symptom),
        remedy=take(plan) if plan.torch and s.gpus else symptom.signature.remedy,
        command=command(s, plan) if s.gpus else "torchinstall --upgrade torch",
        likely=not s.gpus,
        question="" if s.gpus else WHICH_CARD,
    )


def detection_failed(s: Situation) -> Finding | None:
    """Another installer chose by a look that failed: nothing is wrong with the machine."""
    symptom = s.symptom("detection")
    if symptom is None:
        return None
    plan = s.asked
    action = INSTALL if s.installed is None else wheel_action(s, plan)
    settled = not needs_card(plan)
    return from_text(
        symptom,
        action,
        remedy=take(plan) if plan.torch else symptom.signature.remedy,
        command=command(s, plan) or 'torchinstall --gpu "RTX 4090" torch',
        evidence=evidence(s, symptom),
        likely=not settled,
        question="" if settled else WHICH_CARD,
    )


def no_code(s: Situation) -> Finding | None:
    """Recognise that the wheel has no code for the card: by the text, or by the tables alone."""
    symptom = s.symptom("no-kernel", "capability-warning")
    why = s.why_not
    by_facts = why is not None and why.rule == _NO_CODE
    if symptom is None and not by_facts:
        return None
    if s.fits and symptom is not None:
        return _contradicted(s, symptom.signature.kind == "capability-warning")
    text = why.text if by_facts and why is not None else "the installed torch has no code for the card"
    return _other_build(s, "no-kernel-image", text, symptom, source=why.source if by_facts and why is not None else "")


def _contradicted(s: Situation, warning_only: bool) -> Finding:
    """Say that the tables say that the build has code for every card here."""
    symptom = s.symptom("no-kernel", "capability-warning")
    if warning_only:
        return Finding(
            id="capability-false-alarm",
            severity="warning",
            action=ENVIRONMENT,
            cause="a false alarm: the build has code of the same major generation, which runs on this card",
            evidence=evidence(s, symptom),
            remedy="nothing has to be installed; a real kernel is the proof",
            command="torchinstall verify",
        )
    others = ", ".join(s.dependents) or "an extension, or another card in this machine"
    return Finding(
        id="no-kernel-elsewhere",
        action=ENVIRONMENT,
        cause=f"torch {_shown(s)} has code for the cards here; what has none is something else: {others}",
        evidence=evidence(s, symptom),
        remedy="rebuild or update the package that the traceback names, or hide the other card",
        command="torchinstall verify",
        likely=True,
        question="which package is named last in the traceback?",
    )


def _other_build(s: Situation, name: str, cause: str, symptom: object, source: str = "") -> Finding:
    """Return the finding that another build cures; or that none does."""
    from torchinstall.model.finding import Symptom

    seen = symptom if isinstance(symptom, Symptom) else None
    facts = evidence(s, seen)
    common: dict[str, Any] = {"id": name, "cause": cause, "evidence": facts, "source": source}
    if s.pinned() and s.asked.outcome not in _FITTING and s.asked.outcome != UNDETERMINED:
        way = next(iter(s.asked.alternatives), None)
        reason = s.asked.blocked.text if s.asked.blocked else "nothing published fits"
        remedy = f"{reason}; torch {way.torch}+{way.variant} would run, if {way.reason.text}" if way else reason
        return Finding(action=NO_SOLUTION, remedy=remedy, **common)
    plan = s.proposed
    if plan.outcome in _FITTING and plan.variant is not None:
        remedy = take(plan)
        if wrong := _overruled(s):
            remedy = (
                f"{take(plan)}; if the message names an index for torch {wrong} itself, it is wrong: "
                "there is no such wheel"
            )
        known = not needs_card(plan)
        return Finding(
            action=wheel_action(s, plan) if s.installed else REINSTALL,
            remedy=remedy,
            command=command(s, plan),
            likely=not known,
            question="" if known else WHICH_CARD,
            **common,
        )
    if plan.outcome == UNDETERMINED:
        remedy = "install the build for the card; torchinstall chooses it on that machine"
        return Finding(
            action=REINSTALL,
            remedy=remedy,
            command="torchinstall --upgrade torch",
            likely=True,
            question=WHICH_CARD,
            **common,
        )
    return _blocked(plan, common)


def _blocked(plan: Plan, common: dict[str, Any]) -> Finding:
    alone = next((item for item in plan.per_device if item.torch), None)
    reason = plan.blocked.text if plan.blocked else "nothing published fits"
    if alone is not None:
        remedy = f"{reason}; hide the others: with {alone.hide} torch {alone.torch}+{alone.variant} runs"
        return Finding(action=ENVIRONMENT, remedy=remedy, command=f"export {alone.hide}", **common)
    rule = plan.blocked.rule if plan.blocked else ""
    if rule == "driver-too-old" or rule.startswith("blocked-"):
        return Finding(action=DRIVER, remedy=reason, **common)
    remedy = f"{reason}; what is left is a CPU build (--cpu), or building torch from source"
    return Finding(action=NO_SOLUTION, remedy=remedy, **common)


def _overruled(s: Situation) -> str:
    """Return the torch of which torch's own hint is wrong, where that names a pair that was never published."""
    symptom = s.symptom("no-kernel")
    installed = s.installed
    if symptom is None or installed is None or installed.release is None:
        return ""
    if "hint" not in symptom.signature.remedy or s.kept is not None:
        return ""
    return installed.release


def _shown(s: Situation) -> str:
    return s.installed.shown if s.installed else ""
