"""Plan, verdict and error as JSON documents (schema 1). Key order is fixed: same plan, same bytes."""

from __future__ import annotations

import json

from torchinstall.model.plan import UNDETERMINED
from torchinstall.output.lines import without_credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from torchinstall.errors import TorchInstallError
    from torchinstall.model.plan import Alternative, DevicePlan, Pin, Plan, Reason, Rejection
    from torchinstall.model.verdict import Verdict

SCHEMA = 1


def dumps(document: Mapping[str, Any], *, indent: int | None = 1) -> str:
    """Return the text of one document; one line when ``indent`` is ``None``. Credentials in addresses are left out."""
    text = json.dumps(document) if indent is None else indented(document, " " * indent)
    return without_credentials(text) if "@" in text else text


def indented(item: object, step: str, margin: str = "\n") -> str:
    """Return what ``json.dumps`` with an indent returns, in a third of the time: that isn't written in C."""
    if isinstance(item, str):
        return json.encoder.encode_basestring_ascii(item)
    inner = margin + step
    if isinstance(item, dict) and item and all(isinstance(name, str) for name in item):
        parts = [f"{json.encoder.encode_basestring_ascii(k)}: {indented(v, step, inner)}" for k, v in item.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{margin}}}"
    if isinstance(item, (list, tuple)) and item:
        return f"[{inner}{f',{inner}'.join([indented(part, step, inner) for part in item])}{margin}]"
    return json.dumps(item)


def plan_to_json(plan: Plan, identity: object = None, *, compact: bool = False) -> dict[str, Any]:
    """Return the Plan JSON document. ``compact`` keeps only the best loser of each variant (batch mode)."""
    rejected = plan.rejected
    if compact:
        best: dict[str, Rejection] = {}
        for rejection in rejected:
            best.setdefault(rejection.variant, rejection)
        rejected = tuple(best.values())
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "id": identity,
        "outcome": plan.outcome,
        "torch": plan.torch,
        "variant": plan.variant,
        "platform": plan.platform,
        "python": plan.python,
        "packages": [_pin(pin) for pin in plan.packages],
        "devices": [_some(device) for device in plan.devices],
        "needs": [
            {
                "what": n.what,
                "minimum": n.minimum,
                "found": n.found,
                "met": n.met,
                **({"note": n.note} if n.note else {}),
            }
            for n in plan.needs
        ],
        "why": [_reason(reason) for reason in plan.why],
        "rejected": [_rejection(rejection) for rejection in rejected],
        "alternatives": [_alternative(way) for way in plan.alternatives],
        "warnings": [warning.text for warning in plan.warnings],
        "catalog": {"date": plan.catalog.date, "live": plan.catalog.live},
        "commands": {name: list(words) for name, words in plan.commands.items()},
    }
    if plan.catalog.confirmed:
        document["catalog"]["confirmed"] = list(plan.catalog.confirmed)
    if plan.others:
        document["others"] = list(plan.others)
    if plan.environment:
        document["environment"] = dict(plan.environment)
    if plan.pythons:
        document["pythons"] = list(plan.pythons)
    if plan.blocked is not None:
        document["blocked"] = _reason(plan.blocked)
    if not compact and (plan.outcome == UNDETERMINED or plan.unreachable is not None):
        from torchinstall.output.text import UNDETERMINED_TODO, UNREACHABLE_TODO

        document["todo"] = list(UNDETERMINED_TODO if plan.outcome == UNDETERMINED else UNREACHABLE_TODO)
    if plan.per_device:
        document["per_device"] = [_device_plan(item) for item in plan.per_device]
    if plan.fallback is not None:
        document["fallback"] = plan.fallback.text
    if plan.unreachable is not None:
        document["unreachable"] = plan.unreachable.text
    return document


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict of a verification."""
    document: dict[str, Any] = {"schema": SCHEMA}
    for name, value in verdict.__dict__.items():
        if name == "steps":
            document[name] = [_some(step) for step in value]
        elif isinstance(value, tuple):
            document[name] = list(value)
        else:
            document[name] = value
    return document


def error_to_json(error: TorchInstallError, identity: object = None) -> dict[str, Any]:
    """Return an error: what was seen, why it fails, what to do."""
    inner: dict[str, Any] = {"what": error.what, "why": error.why, "todo": list(error.todo), "exit": error.exit_code}
    if error.details:
        inner["details"] = error.details
    return {"schema": SCHEMA, "id": identity, "error": inner}


def _reason(reason: Reason) -> dict[str, str]:
    document = {"rule": reason.rule, "text": reason.text}
    if reason.source:
        document["source"] = reason.source
    return document


def _rejection(rejection: Rejection) -> dict[str, str]:
    return {"torch": rejection.torch, "variant": rejection.variant, **_reason(rejection.reason)}


def _alternative(way: Alternative) -> dict[str, str]:
    document = {"torch": way.torch, "variant": way.variant, "if": way.reason.text}
    if way.command:
        document["command"] = way.command
    return document


def _device_plan(item: DevicePlan) -> dict[str, Any]:
    document: dict[str, Any] = {
        "gpu": item.gpu, "outcome": item.outcome, "torch": item.torch, "variant": item.variant,
    }  # fmt: skip
    if item.reason is not None:
        document["text"] = item.reason.text
    if item.hide:
        document["use_alone"] = item.hide
    return document


def _pin(pin: Pin) -> dict[str, Any]:
    document: dict[str, Any] = {"name": pin.name, "version": pin.version, "index": pin.index}
    if pin.kind != "simple":
        document["kind"] = pin.kind
    if pin.extras:
        document["extras"] = list(pin.extras)
    for name in ("url", "sha256", "size"):
        if getattr(pin, name) is not None:
            document[name] = getattr(pin, name)
    return document


def _some(value: Any) -> dict[str, Any]:
    return {name: item for name, item in value.__dict__.items() if item not in (None, "", ())}


def installed_to_json(
    plan: Plan, verdict: Verdict | None, changes: Iterable[str], *, changed: bool, restored: bool
) -> dict[str, Any]:
    """Return what an install came to: the plan, the changes, the verdict."""
    return {
        **plan_to_json(plan),
        "changes": list(changes),
        "changed": changed,
        "restored": restored,
        "verdict": verdict_to_json(verdict) if verdict is not None else None,
    }
