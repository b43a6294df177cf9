"""Lines of at most so many columns, also where Chinese characters take two of them."""

from __future__ import annotations

from torchinstall.model.pattern import pattern

_PIECES = pattern(r"\s+|[^\s\u2e80-\uffef]+|[\u2e80-\uffef]")
_INDENT = "  "
_CLOSING = "\uff0c\u3002\uff1b\uff1a\u3001\uff09\u300d\u300f\uff01\uff1f,.;:)"
"""Marks that don't begin a line."""


def wrap(text: str, width: int) -> list[str]:
    """Return a text in lines of at most ``width`` columns; words of Latin letters and commands stay whole."""
    if text.isascii():
        import textwrap

        return textwrap.wrap(
            text, width, break_long_words=False, break_on_hyphens=False,
            subsequent_indent=_INDENT, drop_whitespace=True, replace_whitespace=False,
        ) or [""]  # fmt: skip
    # Between Chinese characters a line may break anywhere, but not before a closing mark.
    lines, line = [], ""
    for piece in _PIECES.findall(text):
        if line.strip() and columns(line) + columns(piece) > width and piece not in _CLOSING:
            lines.append(line.rstrip())
            line = _INDENT + piece.lstrip()
        else:
            line += piece
    return [*lines, line.rstrip()]


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, width: int) -> str:
    """Return a text filled with spaces up to ``width`` columns."""
    return text + " " * max(width - columns(text), 0)
