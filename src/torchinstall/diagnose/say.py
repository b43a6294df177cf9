"""Findings put together: evidence from facts and text, the command that does what a plan says."""

from __future__ import annotations

from torchinstall.model.finding import INSTALL, PIN_OLDER, REINSTALL, Finding, Symptom
from torchinstall.model.plan import SATISFIED, Plan
from torchinstall.model.variant import CPU, MPS
from torchinstall.resolve.selection import card_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.diagnose.situation import Situation

SURE_SOURCE = "the tables of torchinstall"


def from_text(symptom: Symptom, action: str | None = None, **fields: object) -> Finding:
    """Return the finding that a signature stands for, with ``fields`` put in the place of its own."""
    row = symptom.signature
    values: dict[str, object] = {
        "id": row.id,
        "action": action or row.action,
        "cause": row.cause,
        "evidence": (symptom.text,),
        "remedy": row.remedy,
        "command": row.command,
        "source": row.source,
        **fields,
    }
    return Finding(**values)  # type: ignore[arg-type]


def evidence(situation: Situation, *symptoms: Symptom | None) -> tuple[str, ...]:
    """Return the facts that a judgement of the wheel rests on."""
    lines = [symptom.text for symptom in symptoms if symptom is not None]
    if situation.installed is not None:
        lines.append(f"installed: torch {situation.installed.shown}")
    for gpu in situation.gpus:
        code = gpu.compute_capability or gpu.gfx or gpu.soc or gpu.family
        lines.append(f"card: {card_name(gpu)}" + (f" ({code})" if code else ""))
    driver = situation.machine.nvidia
    if driver is not None and driver.version:
        lines.append(f"NVIDIA driver {driver.version}")
    return tuple(dict.fromkeys(lines))


def build(plan: Plan) -> str:
    """Return a plan's torch as people write it."""
    variant = "" if plan.variant in {None, MPS} else f"+{plan.variant}"
    return f"torch {plan.torch}{variant}"


def command(situation: Situation, plan: Plan) -> str:
    """Return the call of torchinstall that does what a plan says; ``""`` where the plan has no wheel."""
    if plan.torch is None:
        return ""
    words = ["torchinstall"]
    if plan.outcome != SATISFIED:
        words.append("--upgrade")
    if any(warning.rule == "card-assumed" for warning in plan.warnings):
        # Run where the card is, it looks at it; the build that most cards take would be the wrong one for the old.
        return " ".join([*words, "torch"])
    words.append(f"torch=={plan.torch}")
    words += [pin.name for pin in plan.packages if pin.name in situation.told.installed and pin.name != "torch"]
    if plan.variant not in {None, MPS, CPU}:
        words += ["--variant", str(plan.variant)]
    elif plan.variant == CPU and situation.gpus:
        words.append("--cpu")
    return " ".join(words)


def take(plan: Plan) -> str:
    """Return the remedy of taking a plan's wheel, with the newest that fits where that is another."""
    newer = next((way for way in plan.alternatives if way.reason.rule == "if-upgrade"), None)
    newest = f"; the newest that fits here is torch {newer.torch}+{newer.variant}" if newer is not None else ""
    assumed = any(warning.rule == "card-assumed" for warning in plan.warnings)
    limit = ", as far as can be said without knowing the card" if assumed else ""
    return f"install {build(plan)}{newest}{limit}"


def wheel_action(situation: Situation, plan: Plan) -> str:
    """Return what taking a plan's wheel is called: an install, a reinstall, or the step to an older torch."""
    from torchinstall.model.version import numbers

    installed = situation.installed
    if installed is None:
        return INSTALL
    kept = situation.kept
    if kept is None and installed.release and plan.torch and numbers(plan.torch) < numbers(installed.release):
        return PIN_OLDER
    return REINSTALL
