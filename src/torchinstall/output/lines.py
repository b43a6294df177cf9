"""Lines of text with a heading and a style, and how they reach a terminal or a log."""

from __future__ import annotations

from torchinstall.model.pattern import pattern
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

WIDTH = 10
"""Columns of the headings."""

PLAIN = ""
GOOD = "green"
BAD = "bold red"
NOTE = "yellow"
QUIET = "dim"
STRONG = "bold"


class Line(Value):
    """One line; ``heading`` stands in the left column, once for the lines that follow."""

    text: str
    heading: str = ""
    style: str = PLAIN


_CREDENTIALS = pattern(r"(://)[^/@\s\"'`]+@")


def without_credentials(text: str) -> str:
    """Return a text with user names and passwords in addresses left out; nothing that is shown keeps them."""
    return _CREDENTIALS.sub(r"\1***@", text)


def section(heading: str, texts: Iterable[str], style: str = PLAIN) -> list[Line]:
    """Return lines under one heading."""
    return [Line(text=text, heading=heading if n == 0 else "", style=style) for n, text in enumerate(texts)]


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Tell whether to colour: a terminal that can, and nobody said no (NO_COLOR, TERM=dumb)."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return bool(environ.get("FORCE_COLOR")) or stream.isatty()


def write(lines: Iterable[Line], stream: TextIO, environ: Mapping[str, str]) -> None:
    """Write lines in the user's language, wrapped to the terminal's width; by rich where colour is wanted."""
    from torchinstall.output.language import language, translated
    from torchinstall.output.wrap import padded, wrap

    lang = language(environ)
    if lang != "en":
        from torchinstall.output.messages import said

        lines = said(lines, lang)
    width = _width(stream, environ)
    lines = [line.replace(text=without_credentials(line.text)) if "@" in line.text else line for line in lines]
    wrapped: list[tuple[str, str, str]] = []
    for line in translated(lines, lang):
        parts = wrap(line.text, max(width - WIDTH, 30))
        wrapped += [(line.heading if n == 0 else "", part, line.style) for n, part in enumerate(parts)]
    if not wants_colour(stream, environ):
        stream.writelines(f"{padded(heading, WIDTH)}{text}".rstrip() + "\n" for heading, text, _ in wrapped)
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, soft_wrap=True, highlight=False, force_terminal=True)
    for heading, text, style in wrapped:
        console.print(Text(padded(heading, WIDTH), style="bold cyan") + Text(text, style=style))


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    if environ.get("COLUMNS", "").isdigit():
        return int(environ["COLUMNS"])
    if not stream.isatty():
        return 100
    import shutil

    return min(shutil.get_terminal_size((100, 24)).columns, 120)
