"""The part of JSON Schema that the schemas beside the data use, checked without a library.

The tests hold it against ``jsonschema``, which is for developers alone: it
takes longer to import than a plan to make.
"""

from __future__ import annotations

import re

from torchinstall.catalog.row_reader import broken
from torchinstall.errors import CatalogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,), "null": (type(None),),
}  # fmt: skip
_NOTES = frozenset({"$schema", "$defs", "title", "description"})
_SHOWN = 60


def check(document: object, schema: Schema, file: str) -> None:
    """Raise ``CatalogError`` for the first place in a document that its schema forbids.

    Raises ``NotImplementedError`` for a schema with a word that isn't understood here.
    """
    _Checker(schema, file).check(document, schema, "")


class _Checker:
    def __init__(self, root: Schema, file: str) -> None:
        self._defs: dict[str, Schema] = root.get("$defs", {})
        self._file = file

    def check(self, item: Any, schema: Schema, where: str) -> None:
        if "$ref" in schema:
            self.check(item, self._defs[schema["$ref"].rpartition("/")[2]], where)
        for word, value in schema.items():
            if word == "$ref" or word in _NOTES:
                continue
            method = getattr(self, f"_{word}", None)
            if method is None:
                raise NotImplementedError(f"{word} in a schema")
            method(item, value, schema, where)

    def _fail(self, where: str, problem: str) -> None:
        raise broken(self._file, where.removeprefix(", "), problem)

    # One method a word of JSON Schema; words for one type pass over the others, as the standard says.

    def _type(self, item: Any, names: str | list[str], _schema: Schema, where: str) -> None:
        wanted = [names] if isinstance(names, str) else names
        types = tuple(kind for name in wanted for kind in _TYPES[name])
        if not isinstance(item, types) or (isinstance(item, bool) and "boolean" not in wanted):
            self._fail(where, f"{_shown(item)} isn't of type {' or '.join(wanted)}")

    def _const(self, item: Any, value: object, _schema: Schema, where: str) -> None:
        if item != value or type(item) is not type(value):
            self._fail(where, f"{_shown(item)} isn't {value!r}")

    def _enum(self, item: Any, values: list[object], _schema: Schema, where: str) -> None:
        if not any(item == value and type(item) is type(value) for value in values):
            self._fail(where, f"{_shown(item)} isn't one of {', '.join(map(str, values))}")

    def _pattern(self, item: Any, pattern: str, _schema: Schema, where: str) -> None:
        if isinstance(item, str) and not re.search(pattern, item):
            self._fail(where, f"{_shown(item)} doesn't look like {pattern}")

    def _minLength(self, item: Any, least: int, _schema: Schema, where: str) -> None:  # noqa: N802 - JSON Schema's word
        if isinstance(item, str) and len(item) < least:
            self._fail(where, f"{_shown(item)} is shorter than {least}")

    def _minItems(self, item: Any, least: int, _schema: Schema, where: str) -> None:  # noqa: N802
        if isinstance(item, list) and len(item) < least:
            self._fail(where, f"has fewer than {least} entries")

    def _minProperties(self, item: Any, least: int, _schema: Schema, where: str) -> None:  # noqa: N802
        if isinstance(item, dict) and len(item) < least:
            self._fail(where, f"has fewer than {least} fields")

    def _uniqueItems(self, item: Any, wanted: bool, _schema: Schema, where: str) -> None:  # noqa: N802
        if wanted and isinstance(item, list) and len({repr(entry) for entry in item}) < len(item):
            self._fail(where, "names something twice")

    def _minimum(self, item: Any, least: int, _schema: Schema, where: str) -> None:
        if isinstance(item, int) and item < least:
            self._fail(where, f"{item} is below {least}")

    def _maximum(self, item: Any, most: int, _schema: Schema, where: str) -> None:
        if isinstance(item, int) and item > most:
            self._fail(where, f"{item} is above {most}")

    def _required(self, item: Any, names: list[str], _schema: Schema, where: str) -> None:
        if isinstance(item, dict):
            for name in names:
                if name not in item:
                    self._fail(where, f"has no {name!r}")

    def _properties(self, item: Any, schemas: dict[str, Schema], _schema: Schema, where: str) -> None:
        if isinstance(item, dict):
            for name, value in item.items():
                if name in schemas:
                    self.check(value, schemas[name], f"{where}, {name}")

    def _additionalProperties(self, item: Any, rule: Any, schema: Schema, where: str) -> None:  # noqa: N802
        if not isinstance(item, dict):
            return
        for name, value in item.items():
            if name in schema.get("properties", {}):
                continue
            if rule is False:
                self._fail(where, f"has a field {_shown(name)} that isn't known")
            elif isinstance(rule, dict):
                self.check(value, rule, f"{where}, {name}")

    def _propertyNames(self, item: Any, rule: Schema, _schema: Schema, where: str) -> None:  # noqa: N802
        if isinstance(item, dict):
            for name in item:
                self.check(name, rule, where)

    def _items(self, item: Any, rule: Schema, _schema: Schema, where: str) -> None:
        if isinstance(item, list):
            for number, entry in enumerate(item, start=1):
                self.check(entry, rule, f"{where} {number}")

    def _anyOf(self, item: Any, rules: list[Schema], _schema: Schema, where: str) -> None:  # noqa: N802
        if not any(self._fits(item, rule) for rule in rules):
            self._fail(where, f"{_shown(item)} is none of what may stand there")

    def _fits(self, item: Any, rule: Schema) -> bool:
        try:
            self.check(item, rule, "")
        except CatalogError:
            return False
        return True


def _shown(item: object) -> str:
    text = repr(item)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
