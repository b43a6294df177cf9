"""The catalogue commands as text and as JSON, and the progress of a refresh."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from torchinstall.output.lines import BAD, GOOD, NOTE, PLAIN, QUIET, STRONG, Line, section, wants_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from torchinstall.model.catalog_report import Change, Fact, Refreshed, Shown
    from torchinstall.model.measured import Measured

SCHEMA = 1
_OLD_DAYS = 60
"""From this age on a refresh is advised: torch has a release every two months."""
_MOST = 12
_STYLES = {"measured": GOOD, "published": GOOD, "unverified": NOTE, "unadvertised": NOTE, "withdrawn": BAD}
_KINDS = ("release", "build", "status", "code", "companion", "wheels", "note", "confirmed")


def refreshed_lines(found: Refreshed, *, verbose: bool = False, checked: bool = False) -> list[Line]:
    """Return what a refresh (or with ``checked`` a check) found, for people."""
    lines: list[Line] = []
    for kind in _KINDS:
        changes = [change for change in found.changes if change.kind == kind]
        if kind == "confirmed" and not verbose:
            if changes:
                lines += section(kind, [f"{len(changes)} rows, now seen on their pages"], QUIET)
            continue
        lines += _change_lines(kind, changes, verbose=verbose)
    for inside in found.measured:
        lines += section("measured" if inside is found.measured[0] else "", [_inside(inside)])
    lines += _unreachable_lines(found)
    if found.again:
        lines += section("left", [f"{found.again} wheels for the next refresh: one run reads into so many"], NOTE)
    if not found.drift:
        limit = ", as far as they could be looked at" if found.unreachable else ""
        text = f"the shipped rows are what the indexes have{limit}" if checked else f"nothing new{limit}"
        lines += section("Catalog", [text], GOOD)
    elif checked:
        lines += section("Drift", [f"{len(found.drift)} rows aren't what the indexes have"], BAD)
    else:
        lines += section("Catalog", [f"{len(found.drift)} rows new or otherwise, dated {found.date}"], STRONG)
    if found.written:
        lines += section("", [f"written to {found.written}"], QUIET)
    megabytes = found.transferred / 1e6
    lines += section("", [f"{found.requests} requests, {megabytes:.1f} MB, {found.seconds:.1f} s"], QUIET)
    return lines


def refreshed_to_json(found: Refreshed) -> dict[str, Any]:
    """Return what a refresh or a check found, as a document."""
    return {
        "schema": SCHEMA,
        "date": found.date,
        "drift": len(found.drift),
        "changes": [dict(change.__dict__) for change in found.changes],
        "pages": {
            "seen": sum(page.state == "seen" for page in found.pages),
            "absent": sum(page.state == "absent" for page in found.pages),
            "unreachable": [f"{page.folder}/{page.project}: {page.error}" for page in found.unreachable],
        },
        "measured": [
            {
                "filename": m.filename, "variant": m.variant, "sass": list(m.sass), "partial": list(m.partial),
                "from": m.sass_from, "requests": m.requests, "transferred": m.transferred, "size": m.size,
                "notes": list(m.notes),
            }
            for m in found.measured
        ],
        "left": found.again,
        "written": found.written or None,
        "requests": found.requests,
        "transferred": found.transferred,
        "seconds": found.seconds,
    }  # fmt: skip


def shown_lines(shown: Shown, *, verbose: bool = False) -> list[Line]:
    """Return what is known, for people."""
    lines = section("Catalog", [_dated(shown)], STRONG)
    if shown.overlay:
        lines += section("", [f"refreshed rows: {shown.overlay}"], QUIET)
    if shown.refused:
        lines += section("", [f"refreshed rows were passed over: {shown.refused}", "torchinstall catalog refresh"], BAD)
    if shown.unreachable:
        named = ", ".join(shown.unreachable[:6]) + (" ..." if len(shown.unreachable) > 6 else "")  # noqa: PLR2004
        lines += section("", [f"not reached by the last refresh: {named}"], NOTE)
    for torch, day, variants in shown.releases if verbose else shown.releases[:_MOST]:
        lines.append(Line(text=f"{day}  {' '.join(variants)}", heading=torch))
    for fact in shown.facts:
        lines += _fact_lines(fact, verbose=verbose)
    return lines


def shown_to_json(shown: Shown) -> dict[str, Any]:
    """Return what is known, as a document."""
    return {
        "schema": SCHEMA,
        "what": shown.what or None,
        "date": shown.date,
        "age_days": shown.age,
        "shipped": shown.shipped,
        "overlay": shown.overlay or None,
        "refused": shown.refused or None,
        "unreachable": list(shown.unreachable),
        "releases": [{"torch": torch, "date": day, "variants": list(names)} for torch, day, names in shown.releases],
        "rows": [dict(fact.__dict__) for fact in shown.facts],
    }


@contextmanager
def progress(environ: Mapping[str, str], *, wanted: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar on stderr while a terminal is there to see it; yields what is to be told (done, all, what)."""
    if not (wanted and wants_colour(sys.stderr, environ) and sys.stderr.isatty()):
        yield lambda _done, _all, _what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


def _change_lines(kind: str, changes: Sequence[Change], *, verbose: bool) -> list[Line]:
    shown = changes if verbose else changes[:_MOST]
    lines = section(kind, [f"{change.what}: {change.text}" for change in shown], NOTE if kind == "note" else PLAIN)
    if len(changes) > len(shown):
        lines += section("", [f"and {len(changes) - len(shown)} more (-v shows all)"], QUIET)
    return lines


def _unreachable_lines(found: Refreshed) -> list[Line]:
    if not found.unreachable:
        return []
    by_error: dict[str, list[str]] = {}
    for page in found.unreachable:
        by_error.setdefault(page.error, []).append(f"{page.folder}/{page.project}")
    texts = [
        f"{', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}: {error}"  # noqa: PLR2004
        for error, names in by_error.items()
    ]
    return section("unseen", [*texts, "these keep the rows that they had"], NOTE)


def _inside(inside: Measured) -> str:
    code = " ".join(f"sm_{sm}" for sm in inside.sass) or "no GPU code read"
    some = f", in some kernels {' '.join(f'sm_{sm}' for sm in inside.partial)}" if inside.partial else ""
    share = f" ({inside.transferred / inside.size:.1%})" if inside.size else ""
    return (
        f"{inside.filename}: {inside.variant or 'no variant'}, {code}{some}; {inside.transferred / 1e6:.1f} MB{share}"
    )


def _dated(shown: Shown) -> str:
    age = f"{shown.age} day{'' if shown.age == 1 else 's'} old"
    advice = "; `torchinstall catalog refresh` looks for newer" if shown.age >= _OLD_DAYS else ""
    shipped = f", shipped rows of {shown.shipped}" if shown.shipped != shown.date else ""
    return f"data of {shown.date}, {age}{shipped}{advice}"


def _fact_lines(fact: Fact, *, verbose: bool) -> list[Line]:
    if fact.kind == "build":
        name = f"{fact.torch}+{fact.variant} {fact.platform}"
        lines = [Line(text=f"{fact.status:<13}{name}: {fact.text}", style=_STYLES.get(fact.status, PLAIN))]
    else:
        lines = [Line(text=f"  {fact.status:<11}{fact.kind}: {fact.text}")]
    if verbose or fact.kind == "build":
        lines.append(Line(text=f"  {fact.source} ({fact.checked}, {fact.age} d)", style=QUIET))
    return lines
