"""Report texts made small and plain: no colours, no endless lines, the telling part of a huge log."""

from __future__ import annotations

import re
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

HEAD = 200_000
TAIL = 400_000
"""Characters that are kept of a log's beginning and its end; between them the telling lines."""

LONGEST_LINE = 2000

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff]")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})
_TELLING = (
    "error", "fail", "cannot", "can't", "could not", "couldn't", "not found", "undefined", "incompatib", "denied",
    "killed", "no space", "traceback", "exception", "too old", "unsupported", "not available", "mismatch", "unable",
    "refused", "timed out", "no matching", "no kernel", "not compatible",
)  # fmt: skip
_A_WORD = 12_000
"""Characters of lines that are kept for one telling word: a flood of warnings must not drown the error."""


def plain(text: str) -> str:
    """Return ``text`` without terminal escapes, overwritten progress lines and typographic quotes."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = _UNSEEN.sub("", text.replace("\r\n", "\n")).translate(_QUOTES)
    lines = text.split("\n")
    # Of a line that a progress bar overwrote, only what was left standing at the end counts.
    return "\n".join(line.rstrip("\r").rpartition("\r")[2][:LONGEST_LINE] for line in lines)


_BEGINS = re.compile(r"^Collecting environment information", re.MULTILINE)


def reports_in(text: str) -> list[str]:
    """Return the reports of several machines that were put into one text; a text with one report stays whole."""
    starts = [match.start() for match in _BEGINS.finditer(text)]
    if len(starts) < 2:  # noqa: PLR2004 - several
        return [text] if text.strip() else []
    edges = [0, *starts[1:], len(text)]
    return [text[begin:end] for begin, end in pairwise(edges)]


def decode(data: bytes) -> str:
    """Return the text of a file in whatever encoding consoles write: UTF-8, UTF-16 of PowerShell, else Latin."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if data[:4000].count(b"\0") > len(data[:4000]) // 4:
        return data.decode("utf-16-le", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    # A chunk may end inside a character; a fault anywhere else says that this is no UTF-8.
    text = data.decode("utf-8", "replace")
    return data.decode("cp1252", "replace") if "\ufffd" in text[:-4] else text


class Digest:
    """Keeps the telling part of a text that arrives in chunks: its beginning, its end, and lines with an error."""

    def __init__(self) -> None:
        self._head = ""
        self._middle: list[str] = []
        self._seen: set[str] = set()
        self._room = dict.fromkeys(_TELLING, _A_WORD)
        self._tail = ""
        self.characters = 0
        """How much was read."""

    def add(self, chunk: str) -> None:
        """Take in the next part of the text."""
        self.characters += len(chunk)
        if len(self._head) < HEAD:
            room = HEAD - len(self._head)
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail += chunk
        if len(self._tail) > 2 * TAIL:
            self._sift(self._tail[:-TAIL])
            self._tail = self._tail[-TAIL:]

    def text(self) -> str:
        """Return what was kept, cleaned."""
        return plain("\n".join([self._head, *self._middle, self._tail]) if self._tail else self._head)

    def _sift(self, dropped: str) -> None:
        """Keep the lines with a telling word. A search for each word is many times faster than one for all."""
        low = dropped.lower()
        found: dict[int, str] = {}
        for word in _TELLING:
            place = low.find(word)
            while place >= 0 and self._room[word] > 0:
                begin = max(dropped.rfind("\n", 0, place) + 1, place - 300)
                stop = dropped.find("\n", place)
                end = min(len(dropped) if stop < 0 else stop, place + 300)
                line = dropped[begin:end]
                if line not in self._seen:
                    self._seen.add(line)
                    found[begin] = line
                    self._room[word] -= len(line)
                place = low.find(word, end)
        self._middle += [found[place] for place in sorted(found)]


def digest(chunks: Iterable[str]) -> str:
    """Return the telling part of a text."""
    kept = Digest()
    for chunk in chunks:
        kept.add(chunk)
    return kept.text()
