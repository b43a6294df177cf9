"""Small edits of a TOML document that keep what a person has written in it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tomlkit import TOMLDocument


def drop(table: Any, key: str, ours: Any) -> None:
    """Remove the rows of an array that are ours, and the array with its last row."""
    if key not in table:
        return
    rows = table[key]
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        if ours(row.unwrap() if hasattr(row, "unwrap") else row):
            del rows[number]
    if not rows:
        del table[key]


def extend(table: Any, key: str, texts: Iterable[str]) -> None:
    """Append to an array, made if it isn't there; a line each, so that a change is a line of a diff."""
    array = table.get(key)
    if array is None:
        table[key] = long_array(texts)
        return
    if not array:
        array.multiline(True)
    for text in texts:
        array.append(text)


def long_array(texts: Iterable[str]) -> Any:
    """Return a new array, a line each."""
    import tomlkit

    array = tomlkit.array().multiline(True)
    array.trivia.trail = "\n\n"  # a table's heading may come next
    for text in texts:
        array.append(text)
    return array


def table_at(document: TOMLDocument, *names: str) -> Any:
    """Return a table of tables, made where it isn't there."""
    import tomlkit

    here: Any = document
    for number, name in enumerate(names):
        if name not in here:
            # Tables on the way are written only by what is in them.
            here[name] = tomlkit.table(is_super_table=number < len(names) - 1)
        here = here[name]
    return here


def strings(table: Any, key: str) -> list[str]:
    """Return the strings of an array; none where there is no such array."""
    value = table.get(key, []) if isinstance(table, dict) else []
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
