"""Advice in one screen and as JSON: the verdict, every reason, what to do before and after, what the scan found."""

from __future__ import annotations

from torchinstall.model.advice import MUST_NOT, NO_HURRY, SEVERITIES, UNKNOWN, UP_TO_DATE, UPGRADE_NOW, WAIT
from torchinstall.model.plan import INSTALL, SATISFIED, UNDETERMINED
from torchinstall.model.version import at_least
from torchinstall.output.advice_zh import phrase
from torchinstall.output.lines import BAD, GOOD, NOTE, PLAIN, QUIET, STRONG, Line, section
from torchinstall.output.messages import translated
from torchinstall.output.sarif import about

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TextIO

    from torchinstall.model.advice import Advised, Finding, Said, Scan
    from torchinstall.model.plan import Plan

SCHEMA = 1
VERDICTS = {
    UPGRADE_NOW: ("upgrade now", GOOD),
    NO_HURRY: ("worth it, no hurry", GOOD),
    WAIT: ("wait", NOTE),
    MUST_NOT: ("must not", BAD),
    UP_TO_DATE: ("nothing to do", GOOD),
    UNKNOWN: ("can't be said", NOTE),
}
_PLACES = 6
"""Places of one rule on the screen; all of them with --verbose, in JSON and in SARIF."""
_WORTH_A_BAR = 200
_STYLES = {"error": BAD, "risk": NOTE, "behavior": NOTE, "warning": PLAIN, "info": QUIET}


def advice_lines(advised: Advised, *, verbose: bool = False, lang: str = "en") -> list[Line]:
    """Return the answer; ``verbose`` adds the mild findings, and where the uses are known from."""
    judged, plan = advised.judged, advised.plan
    words, style = VERDICTS[judged.verdict]
    way = "{verdict}: from torch {installed} to {target}" if advised.installed else "{verdict}: torch {target}"
    facts = {"verdict": phrase(words, lang), "installed": advised.installed, "target": advised.target}
    lines = section(phrase("Verdict", lang), [phrase(way, lang, **facts)], style)
    for n, said in enumerate(judged.reasons):
        # A reason for another verdict than the strictest says which.
        other = f"{phrase(VERDICTS[said.verdict][0], lang)}: " if said.verdict != judged.verdict else ""
        lines += _reason(said.replace(text=other + said.text), "Why" if n == 0 else "", lang)
    uses = [f"{use} ({whence})" for use, whence in advised.uses.items() if verbose or use in advised.assumed]
    lines += section(phrase("Counted", lang), uses, QUIET)
    for n, said in enumerate(judged.notes):
        lines += _reason(said, phrase("Trap", lang) if n == 0 else "", lang, NOTE)
    lines += section("Before", judged.before)
    if plan.outcome in {INSTALL, SATISFIED}:
        if judged.verdict != UP_TO_DATE:
            lines += section(phrase("Command", lang), _commands(advised, plan, lang), STRONG)
            lines += section("Needs", [f"{n.what} >= {n.minimum}" for n in plan.needs if n.met is None], NOTE)
        lines += section(phrase("After", lang), judged.after)
    elif advised.best is not None and advised.best.torch:
        lines += _instead(advised, advised.best, lang)
    if plan.outcome == UNDETERMINED:
        todo = "name the target: --gpu 'RTX 4090', --gpu none, or --machine FILE"
        lines += section("Do", [phrase(todo, lang)])
    if advised.scan is not None:
        lines += scan_lines(advised.scan, verbose=verbose, lang=lang)
    return lines


def scan_lines(scan: Scan, *, verbose: bool = False, lang: str = "en") -> list[Line]:
    """Return the findings rule by rule, the worst first, and what was passed over.

    Not ``verbose``, mild findings are counted only, and of many places of one rule the first are named.
    """
    groups: dict[tuple[int, str, str, bool], list[Finding]] = {}
    for finding in scan.findings:
        key = (SEVERITIES.index(finding.severity), finding.rule, finding.text, finding.guarded)
        groups.setdefault(key, []).append(finding)
    lines: list[Line] = []
    left = 0
    for key in sorted(groups, key=lambda key: (key[0], -len(groups[key]), key[1])):
        found = groups[key]
        shown = found if verbose else [] if found[0].severity == "info" else found[:_PLACES]
        left += len(found) - len(shown)
        if shown:
            first = found[0]
            head = f"{first.severity} {first.rule}: {about(first)}"
            lines.append(Line(text=head, style=_STYLES[first.severity], heading="" if lines else phrase("Found", lang)))
            lines += [Line(text=f"  {place(finding)} {finding.seen}") for finding in shown]
            if len(shown) < len(found):
                more = phrase("  and at {count} more places", lang, count=len(found) - len(shown))
                lines.append(Line(text=more, style=QUIET))
    lines += section(phrase("Scanned", lang), [_counted(scan, lang)])
    if left:
        lines.append(Line(text=phrase("{count} more are shown with -v", lang, count=left), style=QUIET))
    skipped = [f"{one.file} {translated(one.why, lang)}" for one in scan.skipped]
    lines += section(phrase("Passed by", lang), skipped if verbose else skipped[:_PLACES], NOTE)
    if not verbose and len(skipped) > _PLACES:
        lines.append(Line(text=phrase("and {count} more", lang, count=len(skipped) - _PLACES), style=QUIET))
    return lines


def place(finding: Finding) -> str:
    """Return where a finding is, as editors and terminals make a link of it."""
    cell = "" if finding.cell is None else f"cell {finding.cell}:"
    return f"{finding.file}:{cell}{finding.line}:{finding.column}"


def advice_to_json(advised: Advised) -> dict[str, Any]:
    """Return the answer as a document."""
    from torchinstall.output.jsonout import plan_to_json

    judged = advised.judged
    return {
        "schema": SCHEMA,
        "verdict": judged.verdict,
        "installed": advised.installed,
        "target": advised.target,
        "reasons": [_some(said) for said in judged.reasons],
        "notes": [_some(said) for said in judged.notes],
        "before": list(judged.before),
        "after": list(judged.after),
        "uses": dict(advised.uses),
        "plan": plan_to_json(advised.plan, compact=True),
        "best": plan_to_json(advised.best, compact=True) if advised.best is not None else None,
        "scan": scan_to_json(advised.scan) if advised.scan is not None else None,
    }


def scan_to_json(scan: Scan) -> dict[str, Any]:
    """Return what a scan found as a document."""
    return {
        "files": scan.files,
        "lines": scan.lines,
        "silenced": scan.silenced,
        "findings": [_some(finding) for finding in scan.findings],
        "skipped": [_some(one) for one in scan.skipped],
    }


def progress_bar(stream: TextIO, environ: Mapping[str, str]) -> Callable[[int, int], None] | None:
    """Return what shows the progress of a large scan on a terminal; ``None`` where nobody would see it."""
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return None
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        if total < _WORTH_A_BAR or (done * 100 // total == shown and done != total):
            return
        shown = done * 100 // total
        bar = "#" * (shown * 30 // 100)
        stream.write(f"\rscanning [{bar:<30}] {done}/{total} files")
        if done == total:
            stream.write("\r" + " " * 70 + "\r")
        stream.flush()

    return show


def _reason(said: Said, heading: str, lang: str, style: str = PLAIN) -> list[Line]:
    lines = [Line(text=said.text, heading=heading, style=style)]
    if said.correction:
        lines.append(Line(text=phrase("corrected since: {text}", lang, text=said.correction), style=NOTE))
    if said.source:
        lines.append(Line(text=phrase("source: {text}", lang, text=said.source), style=QUIET))
    return lines


def _instead(advised: Advised, best: Plan, lang: str) -> list[Line]:
    here = advised.installed
    # Not with the very one that is judged here, and can't run.
    if here is not None and at_least(here, best.torch or "") and here.partition("+")[0] != advised.target:
        return section("Instead", [phrase("stay with torch {installed}", lang, installed=advised.installed)], STRONG)
    text = "torch {torch} ({variant}) is the newest that may be had here"
    lines = section("Instead", [phrase(text, lang, torch=best.torch, variant=best.variant)], STRONG)
    return lines + section(phrase("Command", lang), _commands(advised, best, lang))


def _commands(advised: Advised, plan: Plan, lang: str) -> list[str]:
    named = f"--variant {advised.variant} " if advised.variant else ""
    companions = "".join(f" {pin.name}" for pin in plan.packages[1:] if plan.variant != "npu")
    texts = [f"torchinstall {named}'torch=={plan.torch}'{companions}"]
    words = " ".join(plan.commands.get("uv", ()))
    return [*texts, phrase("by hand: {command}", lang, command=words)] if words else texts


def _counted(scan: Scan, lang: str) -> str:
    counts = {name: sum(finding.severity == name for finding in scan.findings) for name in SEVERITIES}
    found = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or phrase("nothing to change", lang)
    text = phrase(
        "{files} files, {lines} lines of Python: {found}", lang, files=scan.files, lines=scan.lines, found=found
    )
    return text + (phrase("; {count} ignored, as their lines say", lang, count=scan.silenced) if scan.silenced else "")


def _some(value: Any) -> dict[str, Any]:
    return {name: item for name, item in value.__dict__.items() if item not in (None, "", (), False)}
