"""A verdict of the check laid over a diagnosis: what a kernel showed counts for more than the tables."""

from __future__ import annotations

from torchinstall.model.finding import DRIVER, ENVIRONMENT, NONE, NOTE, REINSTALL, WARNING, Diagnosis, Finding
from torchinstall.model.verdict import PROVED, UNPROVEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.verdict import Verdict

_DRIVER_CAUSES = frozenset({"driver-too-old", "no-driver", "amd-driver", "xpu-runtime"})
_TABLE_FINDINGS = frozenset({"no-kernel-image", "unknown-release", "unfit", "not-recognised"})
"""Findings that rest on the tables alone, and that a passing kernel refutes."""


def with_verdict(diagnosis: Diagnosis, verdict: Verdict) -> Diagnosis:
    """Return the diagnosis with the verdict in it."""
    if verdict.outcome == PROVED:
        kept = tuple(
            f.replace(severity=NOTE) if f.id in _TABLE_FINDINGS or f.severity == WARNING else f
            for f in diagnosis.findings
        )
        decisive = next((f for f in kept if f.severity != NOTE), None)
        action = decisive.action if decisive is not None else NONE
        return diagnosis.replace(findings=kept, action=action, verdict=verdict, unknown=False)
    same = next((f for f in diagnosis.findings if f.severity != NOTE), None)
    seen = (f"verify stopped at {verdict.step}: {verdict.text}",)
    if same is not None:
        # The environment or the tables have named the cause already: the check is its evidence.
        first = same.replace(evidence=(*same.evidence, *seen), severity="error")
        rest = tuple(f for f in diagnosis.findings if f is not same)
        return diagnosis.replace(findings=(first, *rest), verdict=verdict)
    action = ENVIRONMENT if verdict.outcome == UNPROVEN else REINSTALL
    if verdict.cause in _DRIVER_CAUSES:
        action = DRIVER
    finding = Finding(
        id=f"verify-{verdict.cause or 'failed'}",
        action=action,
        cause=verdict.text,
        evidence=seen,
        remedy="; ".join(verdict.todo),
        packages=("torch",) if action == REINSTALL else (),
    )
    return diagnosis.replace(findings=(finding, *diagnosis.findings), action=action, verdict=verdict, unknown=False)
