"""A diagnosis for people and as JSON; and the text to paste into an issue, private data removed."""

from __future__ import annotations

import re

from torchinstall.model.finding import ERROR, NOTE, WHEEL_ACTIONS
from torchinstall.model.machine_json import machine_to_json
from torchinstall.output.jsonout import SCHEMA, plan_to_json, verdict_to_json
from torchinstall.output.lines import BAD, GOOD, PLAIN, QUIET, STRONG, Line, section
from torchinstall.output.lines import NOTE as NOTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torchinstall.model.finding import Diagnosis, Finding

_STYLES = {ERROR: BAD, NOTE: QUIET}
_PATHS = re.compile(r"(?<![\w/])(/(?:home|Users)/|[A-Za-z]:\\Users\\)([^/\\\s'\"]{1,64})")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]{1,200}@")
_UUIDS = re.compile(r"\b((?:GPU|MIG)-)[0-9a-f]{8}-[0-9a-f-]{20,40}", re.IGNORECASE)
_SECRETS = re.compile(r"\b((?:hf|ghp|gho|glpat|pypi|sk)[_-])[A-Za-z0-9_-]{16,200}")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}")
_ADDRESS = re.compile(r"(?<![\d.])(?:10|127|172|192)\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])")


def diagnosis_to_json(diagnosis: Diagnosis, identity: object = None) -> dict[str, Any]:
    """Return the Doctor JSON document (schema 1)."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "id": identity,
        "action": diagnosis.action,
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "reinstalling_helps": diagnosis.reinstalling_helps,
        "machine": machine_to_json(diagnosis.machine),
        "plan": plan_to_json(diagnosis.plan, compact=True) if diagnosis.plan is not None else None,
    }
    if diagnosis.verdict is not None:
        document["verdict"] = verdict_to_json(diagnosis.verdict)
    return document


def _finding(finding: Finding) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": finding.id,
        "severity": finding.severity,
        "action": finding.action,
        "cause": finding.cause,
        "evidence": list(finding.evidence),
        "remedy": finding.remedy,
        "command": finding.command,
    }
    if finding.likely:
        document["likely"] = True
    for name in ("question", "source"):
        if getattr(finding, name):
            document[name] = getattr(finding, name)
    return document


def diagnosis_lines(diagnosis: Diagnosis, *, verbose: bool = False) -> list[Line]:
    """Return the cause in one line, its evidence, what mends it; then what else was found."""
    lines: list[Line] = []
    serious = [finding for finding in diagnosis.findings if finding.severity != NOTE]
    if not serious and not diagnosis.unknown:
        lines += section("Healthy", ["nothing wrong was found" + _state(diagnosis)], GOOD)
    for number, finding in enumerate(diagnosis.findings):
        lines += _one(finding, first=number == 0 and bool(serious), verbose=verbose)
    if serious:
        lines += section("Reinstall", [_reinstalling(diagnosis)], STRONG)
    return lines


def _one(finding: Finding, *, first: bool, verbose: bool) -> list[Line]:
    heading = "Cause" if first else "Also" if finding.severity != NOTE else "Note"
    likely = "likely: " if finding.likely else ""
    style = _STYLES.get(finding.severity, NOTED)
    lines = section(heading, [likely + finding.cause], style)
    shown = finding.evidence if first or verbose else finding.evidence[:2]
    lines += [Line(text=f"seen: {text}", style=QUIET) for text in shown]
    if finding.remedy:
        lines += section("Do", [finding.remedy])
    if finding.command:
        lines.append(Line(text=finding.command, style=STRONG))
    if finding.likely and finding.question:
        lines += section("Ask", [finding.question], NOTED)
    if verbose and finding.source:
        lines.append(Line(text=f"[{finding.source}]", style=QUIET))
    return lines


def _state(diagnosis: Diagnosis) -> str:
    torch = diagnosis.machine.installed.get("torch")
    proof = ", and a real kernel ran" if diagnosis.verdict is not None else ""
    return f": torch {torch} fits this machine by the tables{proof}" if torch else ""


def _reinstalling(diagnosis: Diagnosis) -> str:
    if diagnosis.action in WHEEL_ACTIONS:
        named = diagnosis.plan is not None and diagnosis.plan.torch
        return "helps, with the build named above" if named else "helps, as said above"
    return "will not help: the cause is outside the wheel"


def bundle_lines(diagnosis: Diagnosis, facts: Mapping[str, str]) -> list[Line]:
    """Return what to paste into an issue: versions, machine, installed, findings; private data removed."""
    machine = machine_to_json(diagnosis.machine)
    lines = [Line(text="### torchinstall doctor", style=PLAIN)]
    lines += [Line(text=f"- {name}: {value}") for name, value in facts.items()]
    for name in ("os", "arch", "python", "container", "gpus", "drivers", "jetson", "hpc", "installed", "environment"):
        value = machine.get(name)
        if value not in (None, {}, []):
            lines.append(Line(text=f"- {name}: {_short(value)}"))
    lines.append(Line(text=f"- action: {diagnosis.action}"))
    for finding in diagnosis.findings:
        lines.append(Line(text=f"- {finding.severity} {finding.id}: {finding.cause}"))
        lines += [Line(text=f"  - {text}") for text in finding.evidence]
    if diagnosis.verdict is not None and diagnosis.verdict.tail:
        lines += [
            Line(text="```"),
            *(Line(text=text) for text in diagnosis.verdict.tail.splitlines()[-20:]),
            Line(text="```"),
        ]
    return [line.replace(text=private_removed(line.text)) for line in lines]


def _short(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def private_removed(text: str) -> str:
    """Return ``text`` without user names, credentials, tokens, mail and private addresses, UUIDs of cards."""
    text = _PATHS.sub(r"\1USER", text)
    text = _CREDENTIALS.sub("CREDENTIALS@", text)
    text = _SECRETS.sub(r"\1SECRET", text)
    text = _UUIDS.sub(r"\1UUID", text)
    text = _MAIL.sub("MAIL", text)
    return _ADDRESS.sub("ADDRESS", text)
