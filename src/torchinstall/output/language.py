"""The language of what people read: Chinese or English, by ``--lang`` or else by the locale.

Sentences of the decision are said anew by rule and facts (``localized``). Headings and the fixed words
around them are looked up when lines are written (``translated``), so that no line is ever half done twice.
"""

from __future__ import annotations

import re

from torchinstall.model.pattern import pattern
from torchinstall.model.sentences import LANGUAGES, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torchinstall.model.explanation import Explanation
    from torchinstall.model.plan import Plan, Reason
    from torchinstall.output.lines import Line

VARIABLE = "TORCHINSTALL_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_HOLE = pattern(r"\{(\w+)\}")
_SHAPES = {
    "package": r"[\w.\[\],-]+ [\w.+!-]+(?: \(\w+\))?",
    "index": r"\S+",
    "torch": r"[\d.]+\w*",
    "variant": r"[a-z][\w.]*",
    "number": r"[\d-]+",
    "cc": r"[\d.]+",
    "version": r"[\d.]+[\w.-]*|unknown",
    "facts": r"(?:[^()]|\([^()]*\))+",
}
"""What holes of some names hold; any text stands in the others."""
_FACTS = frozenset({"facts", "version", "kind"})
"""Holes that hold facts about a machine, with words of their own."""
_MACHINE = "Machine"
"""The heading whose line is a list of facts."""


def language(environ: Mapping[str, str]) -> str:
    """Return ``en`` or ``zh``: what was asked for, else what the locale says."""
    if environ.get(VARIABLE) in LANGUAGES:
        return environ[VARIABLE]
    locale = next((environ[name] for name in _LOCALE if environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def localized(plan: Plan, lang: str) -> Plan:
    """Return the plan with every sentence in a language; all else is the same."""
    if lang == "en":
        return plan

    def anew(reason: Reason | None) -> Reason | None:
        return None if reason is None else said_in(reason, lang)

    return plan.replace(
        why=tuple(said_in(reason, lang) for reason in plan.why),
        rejected=tuple(lost.replace(reason=said_in(lost.reason, lang)) for lost in plan.rejected),
        alternatives=tuple(way.replace(reason=said_in(way.reason, lang)) for way in plan.alternatives),
        warnings=tuple(said_in(reason, lang) for reason in plan.warnings),
        per_device=tuple(item.replace(reason=anew(item.reason)) for item in plan.per_device),
        blocked=anew(plan.blocked),
        fallback=anew(plan.fallback),
        unreachable=anew(plan.unreachable),
    )


def localized_explanation(explanation: Explanation, lang: str) -> Explanation:
    """Return an explanation with every sentence in a language."""
    return explanation.replace(
        verdict=said_in(explanation.verdict, lang),
        why=tuple(said_in(reason, lang) for reason in explanation.why),
        ways=tuple(way.replace(reason=said_in(way.reason, lang)) for way in explanation.ways),
    )


def said_in(reason: Reason, lang: str) -> Reason:
    """Return a reason in a language; one whose rule isn't a sentence of the decision stays as it is."""
    if lang == "en":
        return reason
    from torchinstall.output.messages import translated as in_words

    params = {name: in_words(value, lang) for name, value in reason.params.items()}
    try:
        return reason.replace(text=text(reason.rule, params, lang))
    except KeyError:
        return reason


def translated(lines: Iterable[Line], lang: str) -> Iterator[Line]:
    """Return lines with headings and fixed phrases in a language."""
    if lang == "en":
        yield from lines
        return
    from torchinstall.output.phrases_zh import COMMA, FACTS, HEADINGS, PHRASES

    patterns = [(_pattern(english), chinese) for english, chinese in PHRASES.items()]
    words_of_facts = [(_pattern(english), chinese) for english, chinese in FACTS.items()]

    def phrase(words: str, among: list[tuple[re.Pattern[str], str]] = patterns) -> str:
        for english, chinese in among:
            if match := english.fullmatch(words):
                # A part may be a phrase of its own; it is shorter each time, so that this ends.
                return chinese.format(**{name: part_of(name, part) for name, part in match.groupdict().items()})
        return words

    def part_of(name: str, words: str) -> str:
        return facts(words) if name in _FACTS else phrase(words)

    def facts(words: str) -> str:
        return COMMA.join(phrase(part, words_of_facts) for part in words.split(", "))

    for line in lines:
        heading = HEADINGS.get(line.heading, line.heading)
        words = facts(line.text) if line.heading == _MACHINE else phrase(line.text)
        yield line.replace(heading=heading, text=words)


def _pattern(template: str) -> re.Pattern[str]:
    """Return the regular expression of a phrase with ``{holes}`` in it."""
    parts = _HOLE.split(template)
    return re.compile(
        "".join(
            re.escape(part) if n % 2 == 0 else f"(?P<{part}>{_SHAPES.get(part, '.+?')})" for n, part in enumerate(parts)
        ),
        re.DOTALL,
    )
