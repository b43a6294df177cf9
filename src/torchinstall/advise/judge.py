"""The rules of advice applied to one case: every rule that matches is a reason, the strictest is the verdict."""

from __future__ import annotations

from torchinstall.advise.wording import in_language, say
from torchinstall.model.advice import (
    MUST_NOT,
    NO_HURRY,
    NOTE,
    STRICTEST_FIRST,
    UNKNOWN,
    UP_TO_DATE,
    WAIT,
    AdviceRule,
    Judged,
    Said,
)
from torchinstall.model.value import Value
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torchinstall.model.plan import Reason

SOFT = frozenset({"status", "absent"})
"""Rules of the resolver that say "not seen", and not "can't be": a reason to wait."""


class Case(Value):
    """All that the rules look at. ``blocked``: why the resolver has no choice at the target, if it hasn't.

    ``lost``: the rule of the resolver that each variant of the target loses by. ``python`` such as 3.12 or
    3.13t; ``generations`` as cuda.json names them; ``found`` the rules that the code scan found.
    """

    to: str
    installed: str | None = None
    undetermined: bool = False
    blocked: Reason | None = None
    lost: Mapping[str, str] = {}
    default: str | None = None
    variant: str | None = None
    vendors: frozenset[str] = frozenset()
    generations: frozenset[str] = frozenset()
    os: str | None = None
    arch: str | None = None
    python: str | None = None
    uses: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()


def judge(case: Case, rules: Iterable[AdviceRule], lang: str = "en") -> Judged:
    """Return the verdict with all its reasons, in a language; total.

    The resolver has the last word on what can't be: a rule says ``must_not`` only where it agrees, and
    where it has no choice the verdict is never milder than its reason.
    """
    matched = [in_language(rule, lang) for rule in rules if _matches(rule, case)]
    reasons = [rule for rule in matched if rule.verdict != NOTE]
    said = [_said(rule) for rule in reasons]
    if case.blocked is not None and not any(rule.forbids for rule in reasons):
        verdict = WAIT if case.blocked.rule in SOFT else MUST_NOT
        said.append(Said(rule=case.blocked.rule, verdict=verdict, text=case.blocked.text, source=case.blocked.source))
    said.sort(key=lambda one: STRICTEST_FIRST.index(one.verdict))  # stable: the order of the data within a verdict
    rules_by_id = {rule.id: rule for rule in reasons}
    ordered = [rules_by_id[one.rule] for one in said if one.rule in rules_by_id]
    notes = tuple(_said(rule) for rule in matched if rule.verdict == NOTE)
    verdict = said[0].verdict if said else NO_HURRY
    if verdict != MUST_NOT and case.installed is not None and at_least(case.installed, case.to):
        return Judged(verdict=UP_TO_DATE, reasons=(_up_to_date(case, lang),), notes=notes)
    if case.undetermined and verdict != MUST_NOT:
        return Judged(verdict=UNKNOWN, reasons=tuple(said), notes=notes)
    if not said:
        said = [Said(rule="none", verdict=NO_HURRY, text=say("nothing", lang), source="")]
    return Judged(
        verdict=verdict,
        reasons=tuple(said),
        notes=notes,
        before=tuple(
            dict.fromkeys([*_own_limit(case, said, lang), *(text for rule in ordered for text in rule.before)])
        ),
        after=tuple(dict.fromkeys(text for rule in ordered for text in rule.after)),
    )


def forbidden(
    rules: Iterable[AdviceRule], uses: frozenset[str], releases: Iterable[str]
) -> list[tuple[AdviceRule, tuple[str, ...]]]:
    """Return the rules that keep releases from the choice for these uses, with the releases.

    These are constraints of the request, so that the resolver itself obeys what advice forbids.
    """
    known = tuple(releases)
    found = []
    for rule in rules:
        if rule.forbids and uses.intersection(rule.when.get("uses", ())):
            versions = tuple(version for version in known if _is_about(rule, version))
            if versions:
                found.append((rule, versions))
    return found


def _is_about(rule: AdviceRule, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(rule.to).contains(version, prereleases=True)


def _matches(rule: AdviceRule, case: Case) -> bool:
    if not _is_about(rule, case.to):
        return False
    if rule.verdict == MUST_NOT and (case.blocked is None or case.blocked.rule in SOFT):
        return False
    return all(_holds(name, value, case) for name, value in rule.when.items())


def _holds(name: str, value: object, case: Case) -> bool:
    wanted = value if isinstance(value, tuple) else ()
    text = value if isinstance(value, str) else ""
    if name == "vendor":
        return bool(case.vendors.intersection(wanted))
    if name == "generation":
        return any(have == want or have.startswith(f"{want} ") for have in case.generations for want in wanted)
    if name == "uses":
        return bool(case.uses.intersection(wanted))
    if name == "found":
        return bool(case.found.intersection(wanted))
    if name == "blocked":
        return case.blocked is not None
    if name == "blocked_by":
        return case.blocked is not None and bool({case.blocked.rule, *case.lost.values()}.intersection(wanted))
    if name == "default_lost_by":
        return case.blocked is None and case.default is not None and case.lost.get(case.default) in wanted
    if name == "variant":
        return case.variant is not None and case.variant.startswith(wanted)
    if name == "from_below":
        return case.installed is not None and not at_least(case.installed, text)
    if name == "python_below":
        return case.python is not None and not at_least(case.python, text)
    return {"python": case.python, "os": case.os, "arch": case.arch}[name] in wanted


def _own_limit(case: Case, said: list[Said], lang: str) -> list[str]:
    """Return what to do where no rule, but a constraint or requirement of the user's own, excludes the target."""
    blocked = case.blocked
    if blocked is None or blocked.rule != "version" or not blocked.params.get("origin"):
        return []
    return [say("limit", lang)] if any(one.rule == "version" for one in said) else []


def _said(rule: AdviceRule) -> Said:
    return Said(
        rule=rule.id,
        verdict=rule.verdict,
        text=rule.text,
        source=rule.source,
        correction=rule.correction,
        origin=rule.origin,
    )


def _up_to_date(case: Case, lang: str) -> Said:
    newer = case.installed is not None and not at_least(case.to, case.installed)
    text = say("newer" if newer else "installed", lang, installed=case.installed, to=case.to)
    return Said(rule="installed", verdict=UP_TO_DATE, text=text, source="")
