"""Findings as SARIF 2.1.0, which code hosts show at the lines that they are about."""

from __future__ import annotations

from torchinstall.model.advice import BEHAVIOR, ERROR, INFO, RISK, WARNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from torchinstall.model.advice import Finding, Migration, Scan

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {ERROR: "error", RISK: "warning", BEHAVIOR: "warning", WARNING: "warning", INFO: "note"}


def to_sarif(scan: Scan, rules: Iterable[Migration], version: str) -> dict[str, Any]:
    """Return the SARIF log of a scan; ``rules`` are those that were looked for, ``version`` torchinstall's."""
    listed = {rule.id: number for number, rule in enumerate(rules)}
    skipped = [{"level": "note", "message": {"text": one.why}, "locations": [_file(one.file)]} for one in scan.skipped]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "torchinstall advise",
                        "version": version,
                        "semanticVersion": version,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, listed) for finding in scan.findings],
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": skipped}],
            }
        ],
    }


def about(finding: Finding) -> str:
    """Return what is said of a finding: what happens, in which torch, and what to write instead."""
    since = f" (torch {finding.since})" if finding.since and finding.since not in finding.text else ""
    text = finding.text + since
    if finding.guarded:
        text += "; the code there is ready for it"
    return f"{text}; instead: {finding.replacement}" if finding.replacement else text


def _rule(rule: Migration) -> dict[str, Any]:
    last = rule.changes[-1]
    about = rule.names or rule.attributes or rule.requirements or (rule.package,)
    short = f"{', '.join(about[:3])}{' ...' if len(about) > 3 else ''}: {last.text}"  # noqa: PLR2004 - enough to tell it by
    return {
        "id": rule.id,
        "shortDescription": {"text": short},
        "fullDescription": {"text": f"{short}. Source: {rule.source}"},
        "helpUri": rule.link,
        "defaultConfiguration": {"level": LEVELS[last.severity]},
        "properties": {"package": rule.package, "since": last.since},
    }


def _result(finding: Finding, listed: dict[str, int]) -> dict[str, Any]:
    place = _file(finding.file)
    if finding.cell is None:
        place["physicalLocation"]["region"] = {"startLine": finding.line, "startColumn": finding.column}
    text = f"{finding.seen}: {about(finding)}"
    if finding.cell is not None:
        # A notebook's lines are those of its cells, which SARIF has no place for.
        text = f"cell {finding.cell}, line {finding.line}: {text}"
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [place],
    }
    if finding.rule in listed:
        result["ruleIndex"] = listed[finding.rule]
    return result


def _file(name: str) -> dict[str, Any]:
    from urllib.parse import quote

    return {"physicalLocation": {"artifactLocation": {"uri": quote(name)}}}
