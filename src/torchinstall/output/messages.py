"""Sentences in another language by their English text: gettext's idea, without its machinery.

``zh/*.json`` hold templates: ``{}`` stands for each field of the English sentence in order, ``{0}``, ``{1}`` ... for
the same fields in the Chinese one. The sentences of the decision (``model.sentences``) count too. What has no
entry stays English.
"""

from __future__ import annotations

from torchinstall.model.pattern import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torchinstall.output.lines import Line

LONGEST = 4000
"""Characters of a text that is looked up by template; nothing that is said here is longer."""
DEEP = 4
"""Sentences within sentences: ``seen: {}``, ``not done: {}`` and what stands in them."""
_MOST = 40
"""Parts of a list that are looked up one by one."""
_WEAK = 12
"""Letters below which a template of several fields says little of what it is: they then hold no other English."""
_OUTPUT = "Output"
"""The heading of what tools have written; it stays as they wrote it."""
_FIELD = pattern(r"(?<!\{)\{(\w*)\}(?!\})")
_ENGLISH = pattern(r"(?<![\w/.-])[a-z']{2,} [a-z']{2,}(?![\w/.-])")
_TABLES: dict[str, Table] = {}


class Template:
    """An English sentence with fields, and what it is in the other language."""

    def __init__(self, english: str, other: str) -> None:
        parts = _FIELD.split(english)
        self.literals = [plain(part) for part in parts[::2]]
        self.names = [name or str(place) for place, name in enumerate(parts[1::2])]
        self.weight = sum(map(len, self.literals))
        self.weak = len(self.names) > 1 and sum(map(str.isalpha, "".join(self.literals))) < _WEAK
        self.other = [plain(part) if place % 2 == 0 else part for place, part in enumerate(_FIELD.split(other))]

    def fields(self, text: str) -> dict[str, str] | None:
        """Return what stands in the fields of a text that is this sentence, else ``None``; linear, no backtracking."""
        first, last = self.literals[0], self.literals[-1]
        if len(text) < self.weight or not text.startswith(first) or not text.endswith(last):
            return None
        place, end = len(first), len(text) - len(last)
        found: dict[str, str] = {}
        for name, literal in zip(self.names, self.literals[1:-1], strict=False):
            # A field has a character at least; of two that meet, the second has both.
            at = text.find(literal, place + 1, end) if literal else place
            if at < 0:
                return None
            found.setdefault(name, text[place:at])
            place = at + len(literal)
        if place > end:
            return None
        found.setdefault(self.names[-1], text[place:end])
        return found


class Table:
    """All that is said in one other language."""

    def __init__(self, pairs: dict[str, str]) -> None:
        self.exact = {plain(english): plain(other) for english, other in pairs.items() if not _FIELD.search(english)}
        templates = [Template(english, other) for english, other in pairs.items() if _FIELD.search(english)]
        # What has more words of its own is the more certain.
        self.templates = sorted(templates, key=lambda one: -one.weight)

    def translated(self, text: str, deep: int = DEEP) -> str:
        """Return a text in this language, as far as it is known here."""
        known = self.exact.get(text)
        if known is not None or deep == 0 or len(text) > LONGEST:
            return text if known is None else known
        for template in self.templates:
            fields = template.fields(text)
            if fields is not None:
                words = {name: self._field(value, deep - 1) for name, value in fields.items()}
                if template.weak and any(map(_ENGLISH.search, words.values())):
                    continue
                return "".join(words[part] if place % 2 else part for place, part in enumerate(template.other))
        return self._in_parts(text, deep - 1)

    def _in_parts(self, text: str, deep: int) -> str:
        """Return a text of several sentences, or one with a name before it (of a file, a row, a build)."""
        parts = text.split("; ")
        if 1 < len(parts) <= _MOST:
            return _joined(parts, [self.translated(part, deep) for part in parts], "; ", "\uff1b")
        head, _, rest = text.partition(": ")
        known = self.translated(rest, deep) if rest and not _ENGLISH.search(head) else rest
        return text if known == rest else f"{head}\uff1a{known}"

    def _field(self, text: str, deep: int) -> str:
        """Return what stands in a field: a sentence or word of ours, or a list of such."""
        whole = self.translated(text, deep)
        for mark, other in ((", ", "\u3001"), (" and ", " \u548c ")):
            parts = text.split(mark)
            if whole == text and 1 < len(parts) <= _MOST:
                whole = _joined(parts, [self.translated(part, deep) for part in parts], mark, other)
        return whole


def _joined(parts: list[str], said: list[str], mark: str, other: str) -> str:
    return mark.join(parts) if said == parts else other.join(said)


def plain(text: str) -> str:
    """Return a literal part of a template as it is in a text."""
    return text.replace("{{", "{").replace("}}", "}")


def translated(text: str, lang: str) -> str:
    """Return a text in a language: whole or by template, each field likewise; what isn't known stays English."""
    if lang == "en" or not text:
        return text
    if lang not in _TABLES:
        _TABLES[lang] = Table(dict(_pairs(lang)))
    return _TABLES[lang].translated(text)


def said(lines: Iterable[Line], lang: str) -> Iterator[Line]:
    """Return lines with their headings and texts in a language; what tools have written stays as it is."""
    if lang == "en":
        yield from lines
        return
    heading = ""
    for line in lines:
        heading = line.heading or heading
        text = line.text if heading == _OUTPUT else translated(line.text, lang)
        yield line.replace(text=text, heading=translated(line.heading, lang))


def _pairs(lang: str) -> Iterator[tuple[str, str]]:
    import json
    from pathlib import Path

    from torchinstall.model.sentences import ENGLISH
    from torchinstall.model.sentences_zh import CHINESE, WORDS

    yield from WORDS.items()
    for rule, chinese in CHINESE.items():
        english = ENGLISH.get(rule, "")
        if set(_FIELD.findall(english)) >= set(_FIELD.findall(chinese)):
            yield english, chinese
    for path in sorted((Path(__file__).parent / lang).glob("*.json")):
        yield from json.loads(path.read_text("utf-8")).items()
