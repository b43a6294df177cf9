"""Error texts that are recognised: in a verification, and in reports. The rows are data; see index_data."""

from __future__ import annotations

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Cause(Value):
    """One text that torch, a driver or a loader prints, and its meaning.

    ``pattern`` is a regular expression, searched without regard to case. ``text`` and ``todo`` may use its
    named groups, and ``{torch} {variant} {device} {step} {found_cuda}``. ``outcome``: failed (another wheel
    could cure it) or unproven (the cause is outside the wheel). ``steps``: only for these steps of the check
    (``nms``); none for all.
    """

    id: str
    pattern: str
    outcome: str
    cause: str
    text: str
    todo: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    status: str = ""
    source: str = ""
    checked: str = ""


def causes_from_document(document: Mapping[str, Any]) -> tuple[Cause, ...]:
    """Return the rows of ``verify_causes.json`` in their order: the first that matches counts.

    The names of sources are replaced by what they stand for. Raises ``KeyError`` or ``TypeError`` where the
    document isn't of the form that its schema describes.
    """
    sources = document["sources"]
    causes = []
    for row in document["rows"]:
        lists = {name: tuple(row.get(name, ())) for name in ("todo", "steps")}
        causes.append(Cause(**{**row, **lists, "source": sources[row["source"]]}))
    return tuple(causes)


class Signature(Value):
    """One text of a report that is recognised, and what it usually means.

    ``kind`` is what the rules of the diagnosis go by; ``action`` what is right in most reports. ``strength``:
    ``text`` where the text decides by itself, ``facts`` where the machine and what is installed decide.
    ``cause``, ``remedy`` and ``command`` are for people.
    """

    id: str
    kind: str
    action: str
    strength: str
    pattern: str
    cause: str
    remedy: str
    command: str = ""
    status: str = ""
    source: str = ""
    checked: str = ""


class LongPath(Value):
    """A wheel with paths longer than Windows takes by default; ``longest`` in characters."""

    torch: str
    platform: str
    longest: int
    source: str = ""


class Signatures(Value):
    """The table of signatures, with the tables that its rules need.

    ``drivers``: which driver branch answers which number to cuDriverGetVersion (12060 is branch 560), oldest
    first. ``dependents``: packages with compiled code for one torch and one CUDA major.
    """

    rows: tuple[Signature, ...]
    drivers: tuple[tuple[int, str], ...] = ()
    long_paths: tuple[LongPath, ...] = ()
    dependents: tuple[str, ...] = ()


def signatures_from_document(document: Mapping[str, Any]) -> Signatures:
    """Return the content of ``signatures.json``; the order of the rows is that of their precedence.

    Raises ``KeyError`` or ``TypeError`` where the document isn't of the form that its schema describes.
    """
    sources = document["sources"]
    return Signatures(
        rows=tuple(Signature(**{**row, "source": sources[row["source"]]}) for row in document["rows"]),
        drivers=tuple((int(row["api"]), str(row["branch"])) for row in document["drivers"]),
        long_paths=tuple(
            LongPath(
                torch=row["torch"],
                platform=row["platform"],
                longest=int(row["longest"]),
                source=sources[row["source"]],
            )
            for row in document["long_paths"]
        ),
        dependents=tuple(str(row["name"]) for row in document["dependents"]),
    )
