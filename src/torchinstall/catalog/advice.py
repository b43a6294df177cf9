"""advice.json and migrations.json to rows: the rules of ``advise``, and those of its code scan."""

from __future__ import annotations

import re

from torchinstall.catalog.row_reader import RowReader, top
from torchinstall.model.advice import NOTE, SEVERITIES, STRICTEST_FIRST, Advice, AdviceRule, Change, Migration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VERDICTS = frozenset({*STRICTEST_FIRST, NOTE})
_LISTS = ("vendor", "generation", "uses", "blocked_by", "default_lost_by", "variant", "python", "os", "arch", "found")
_TEXTS = ("from_below", "python_below")
_DETECTS = frozenset(
    {"name", "import", "call", "call-with", "call-without", "call-positional", "attribute", "tensor-method"}
    | {"string", "requirement", "pin", "index", "line"}
)
_VERSION = re.compile(r"\d+(\.\d+)*")


def parse_advice(document: object, migrations: object) -> Advice:
    """Return the rules of both files. Raises ``CatalogError`` for a row that can't be read, naming it."""
    sheet = top(document, "advice.json")
    flags: dict[str, str] = {}
    packages: dict[str, tuple[str, ...]] = {}
    for row in sheet.rows("uses", ("use",)):
        use = row.text("use")
        if use in flags:
            row.fail(f"{use} stands there twice")
        row.status()
        row.source()
        flags[use], packages[use] = row.text("text"), _texts(row, "packages")
    rules: dict[str, AdviceRule] = {}
    for row in sheet.rows("rules", ("id",)):
        rule = _rule(row)
        if rule.id in rules:
            row.fail(f"{rule.id} stands there twice")
        for flag in rule.when.get("uses", ()):
            if flag not in flags:
                row.fail(f"'when' names the use {flag!r}, which 'uses' doesn't explain")
        rules[rule.id] = rule
    return Advice(
        rules=tuple(rules.values()),
        flags=flags,
        packages=packages,
        migrations=_migrations(migrations, flags),
    )


def _rule(row: RowReader) -> AdviceRule:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    verdict = row.text("verdict")
    if verdict not in _VERDICTS:
        row.fail(f"'verdict' is {verdict!r}")
    to = row.text("to")
    try:
        SpecifierSet(to)
    except InvalidSpecifier:
        row.fail(f"'to' is {to!r}, which isn't a version specifier")
    when = row.fields.get("when")
    if not isinstance(when, dict) or not when:
        row.fail("'when' isn't an object with conditions")
    for name, value in when.items():
        lists = name in _LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value)
        texts = name in _TEXTS and isinstance(value, str)
        if not (lists or texts or (name == "blocked" and value is True)):
            row.fail(f"'when' has a condition that isn't known: {name} = {value!r}")
    return AdviceRule(
        id=row.text("id"),
        to=to,
        verdict=verdict,
        when={name: tuple(value) if isinstance(value, list) else value for name, value in when.items()},
        text=row.text("text"),
        before=_texts(row, "before"),
        after=_texts(row, "after"),
        correction=row.optional_text("correction") or "",
        forbids=row.flag("forbids"),
        origin=row.text("origin"),
        zh=_words(row),
        status=row.status(),
        source=row.source(),
        checked=row.text("checked"),
    )


def _words(row: RowReader) -> dict[str, Any]:
    """Return the words of a rule in Chinese."""
    if "zh" not in row.fields:
        return {}
    words = RowReader(row.fields["zh"], row.file, f"{row.where}, zh", {})
    return {
        "text": words.text("text"),
        "correction": words.optional_text("correction") or "",
        "before": _texts(words, "before"),
        "after": _texts(words, "after"),
    }


def _migrations(document: object, flags: dict[str, str]) -> tuple[Migration, ...]:
    found: dict[str, Migration] = {}
    for row in top(document, "migrations.json").rows("migrations", ("id",)):
        migration = _migration(row)
        if migration.id in found:
            row.fail(f"{migration.id} stands there twice")
        if migration.flag is not None and migration.flag not in flags:
            row.fail(f"'flag' is {migration.flag!r}, which advice.json doesn't explain")
        found[migration.id] = migration
    return tuple(found.values())


def _migration(row: RowReader) -> Migration:
    detect = row.text("detect")
    if detect not in _DETECTS:
        row.fail(f"'detect' is {detect!r}")
    _check_pattern(row, "pattern")
    _check_pattern(row, "lines")
    argument = row.fields.get("argument")
    if argument is not None and not (isinstance(argument, dict) and {"name", "position", "pattern"} <= argument.keys()):
        row.fail("'argument' needs name, position and pattern")
    return Migration(
        id=row.text("id"),
        package=row.text("package"),
        detect=detect,
        changes=_changes(row),
        names=_texts(row, "names"),
        attributes=_texts(row, "attributes"),
        receivers=_texts(row, "receivers"),
        keyword=row.optional_text("keyword") or "",
        positional=row.optional_integer("positional") or 0,
        argument=argument,
        pattern=row.optional_text("pattern") or "",
        requirements=_texts(row, "requirements"),
        pinned=row.flag("pinned"),
        version_from=row.optional_text("version_from"),
        version_below=row.optional_text("version_below"),
        lines=row.optional_text("lines") or "",
        channels=_texts(row, "channels"),
        python_from=row.optional_text("python_from"),
        flag=row.optional_text("flag"),
        replacement=row.optional_text("replacement") or "",
        link=row.text("link"),
        status=row.status(),
        source=row.source(),
        checked=row.text("checked"),
    )


def _check_pattern(row: RowReader, name: str) -> None:
    try:
        re.compile(row.optional_text(name) or "")
    except re.error as error:
        row.fail(f"{name!r} isn't a regular expression: {error}")


def _changes(row: RowReader) -> tuple[Change, ...]:
    value = row.fields.get("changes")
    if not isinstance(value, dict) or not value:
        row.fail("'changes' isn't an object of versions")
    changes = []
    for since, parts in value.items():
        good = isinstance(parts, list) and len(parts) in {2, 3} and all(isinstance(part, str) for part in parts)
        if not good or not _VERSION.fullmatch(since) or parts[0] not in SEVERITIES:
            row.fail(f"'changes' at {since!r} isn't [severity, text] or [severity, text, until]")
        until = parts[2] if len(parts) > 2 else None  # noqa: PLR2004 - the third part
        changes.append(Change(since=since, severity=parts[0], text=parts[1], until=until))
    return tuple(changes)


def _texts(row: RowReader, name: str) -> tuple[str, ...]:
    return row.texts(name) if name in row.fields else ()
