"""The sentences of advice that aren't in the data, and its rules in another language."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.advice import AdviceRule

ENGLISH = {
    "nothing": "no rule presses for this upgrade, and none speaks against it",
    "installed": "torch {installed} is installed",
    "newer": "torch {installed} is installed, which is newer than {to}",
    "limit": "change that limit first, if it is yours to change",
    "use-named": "named with --uses",
    "use-installed": "installed: {packages}",
    "use-card": "an Ascend card is here",
    "use-conda": "conda installed this torch",
    "use-found": "found in {file}, line {line}",
    "use-assumed-stable": "assumed: torch is installed",
    "use-assumed-new": "assumed: no torch is installed here",
}


def say(key: str, lang: str = "en", **facts: object) -> str:
    """Return a sentence in a language, ``en`` or ``zh``."""
    if lang == "zh":
        from torchinstall.advise.wording_zh import CHINESE

        return CHINESE[key].format(**facts)
    return ENGLISH[key].format(**facts)


def in_language(rule: AdviceRule, lang: str) -> AdviceRule:
    """Return a rule with its words in a language; without a translation as it is."""
    return rule.replace(**rule.zh) if lang == "zh" and rule.zh else rule
