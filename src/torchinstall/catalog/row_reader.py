"""Reading one JSON row: each field with its type, each fault with the file and the row that it is in."""

from __future__ import annotations

from torchinstall.catalog.rows import STATUSES
from torchinstall.errors import CatalogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, NoReturn

_STATUSES = frozenset(STATUSES)


def broken(file: str, where: str, problem: str) -> CatalogError:
    """Return the error for a fault in a data file; ``where`` names the row."""
    place = f"{file}, {where}" if where else file
    return CatalogError(
        f"{place}: {problem}",
        why="a compatibility table that can't be read in full must not decide what is installed",
        todo=[
            "correct the row, if the file is yours (TORCHINSTALL_INDEX_DATA names the folder)",
            "else install torchinstall again",
        ],
    )


class RowReader:
    """One JSON object of a data file, read field by field.

    Raises ``CatalogError`` for a field that is missing or of the wrong type.
    Fields that are unknown here are passed over: data may be newer than the program.
    """

    __slots__ = ("fields", "file", "sources", "where")

    def __init__(self, fields: object, file: str, where: str, sources: Mapping[str, str]) -> None:
        if not isinstance(fields, dict):
            raise broken(file, where, f"is {_kind(fields)}, not an object")
        self.fields: dict[str, Any] = fields
        self.file = file
        self.where = where
        self.sources = sources

    def fail(self, problem: str) -> NoReturn:
        """Raise the error for this row."""
        raise broken(self.file, self.where, problem)

    def _wrong(self, name: str, wanted: str) -> NoReturn:
        if name not in self.fields:
            self.fail(f"has no {name!r}")
        self.fail(f"{name!r} is {_kind(self.fields[name])}, not {wanted}")

    def text(self, name: str) -> str:
        """Return a text that must be there."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            self._wrong(name, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a text, or ``None`` where it is null or absent."""
        return None if self.fields.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        """Return a truth value; absent is false."""
        value = self.fields.get(name, False)
        if not isinstance(value, bool):
            self._wrong(name, "true or false")
        return value

    def optional_flag(self, name: str) -> bool | None:
        """Return a truth value, or ``None`` where it is null or absent."""
        return None if self.fields.get(name) is None else self.flag(name)

    def integer(self, name: str) -> int:
        """Return a whole number that must be there."""
        value = self.fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            self._wrong(name, "a whole number")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Return a whole number, or ``None`` where it is null or absent."""
        return None if self.fields.get(name) is None else self.integer(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts that must be there."""
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._wrong(name, "a list of texts")
        return tuple(value)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers that must be there."""
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            self._wrong(name, "a list of whole numbers")
        return tuple(value)

    def status(self) -> str:
        """Return how sure the row is, one of ``rows.STATUSES``."""
        status = self.text("status")
        if status not in _STATUSES:
            self.fail(f"'status' is {status!r}, not one of {', '.join(STATUSES)}")
        return status

    def source(self, field: str = "source") -> str:
        """Return the full text of the source that the row names."""
        name = self.text(field)
        source = self.sources.get(name)
        if source is None:
            self.fail(f"{field!r} is {name!r}, which the file's \"sources\" don't explain")
        return source

    def rows(self, name: str, key: tuple[str, ...]) -> Iterator[RowReader]:
        """Read the list ``name`` row by row; the fields of ``key`` name a row in errors."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            self._wrong(name, "a list of rows")
        for number, fields in enumerate(value, start=1):
            known = fields if isinstance(fields, dict) else {}
            label = " ".join(str(known[part]) for part in key if isinstance(known.get(part), str))
            where = f"{name} row {number}" + (f" ({label})" if label else "")
            yield RowReader(fields, self.file, f"{self.where}, {where}" if self.where else where, self.sources)


def top(document: object, file: str) -> RowReader:
    """Return the reader of a whole data file, its table of sources at hand."""
    reader = RowReader(document, file, "", {})
    if reader.integer("schema") != 1:
        reader.fail(f"'schema' is {reader.fields['schema']}; this torchinstall reads schema 1")
    sources = reader.fields.get("sources", {})
    if not isinstance(sources, dict) or not all(isinstance(text, str) for text in sources.values()):
        reader.fail("'sources' isn't an object of texts")
    reader.sources = sources
    return reader


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
