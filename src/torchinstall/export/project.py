"""A project file (pyproject.toml) that uv reads, edited so that it locks to the plan. Pure: text in, text out.

One plan binds the project: each package of the torch family has its index by
name (uv documentation, "Package indexes": ``explicit = true``) and its pin as
a constraint, so that what the project says of itself stays as it was. Several
plans become extras that exclude each other, or, where they are for different
platforms, markers.
"""

from __future__ import annotations

import re

from torchinstall.errors import UsageError
from torchinstall.export.places import DEFAULT, named, public, python_version, requirement
from torchinstall.export.toml_edit import drop, extend, long_array, strings, table_at
from torchinstall.index.location import canonical
from torchinstall.model.value import EMPTY, Value
from torchinstall.model.variant import backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tomlkit import TOMLDocument

    from torchinstall.model.plan import Plan

OURS = "torchinstall-"
"""Names of indexes that begin so were written here, and are replaced here."""

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_PINNED = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?\s*==[^,;]+(;.*)?")
_SYSTEMS = {"linux": "linux", "win": "win32", "macos": "darwin"}
_ARCHES = {"x86_64": "x86_64", "amd64": "AMD64", "aarch64": "aarch64", "arm64": "arm64"}


class Part(Value):
    """One plan in a project. ``bound``: other packages that must come from an index, by name."""

    plan: Plan
    bound: Mapping[str, str] = EMPTY


def edited(
    text: str,
    parts: Sequence[Part],
    *,
    name: str,
    family: Iterable[str],
    asked: Sequence[str] = (),
    replace: bool = False,
) -> str:
    """Return the project file with the plans in it; comments, order and everything of others stay.

    ``asked`` are the requirements to add where the project hasn't got them; ``name`` is that of a new project.
    ``replace`` takes the place of sources that somebody else wrote. Raises ``UsageError`` where the text isn't
    TOML, or has such sources and they aren't to be replaced.
    """
    document = parsed(text)
    known = frozenset(canonical(one) for one in family)
    _new_project(document, name, parts)
    foreign = foreign_sources(document, known)
    if foreign and not replace:
        raise UsageError(
            f"the project has other sources for {', '.join(foreign)}",
            why="[tool.uv.sources] names an index that wasn't written by torchinstall, and two can't both be right",
            todo=["remove them from [tool.uv.sources]", "or let them be replaced with --yes"],
        )
    _clear(document, known)
    platforms = [part.plan.platform for part in parts]
    if len(parts) > 1 and len(set(platforms)) < len(parts):
        _extras(document, parts)
    else:
        _bound(document, parts)
    _dependencies(document, parts, asked)
    return _tidy(document.as_string(), text)


def parsed(text: str) -> TOMLDocument:
    """Return the document. Raises ``UsageError`` with line and column where it isn't TOML."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise UsageError(
            "pyproject.toml isn't valid TOML",
            why=str(error),
            todo=["correct the file; nothing in it was changed"],
        ) from None


def wishes(text: str, family: Iterable[str]) -> tuple[str, ...]:
    """Return what the project itself requires of the torch family, as it stands there.

    Its extras and groups count too, for `uv lock` puts them all into one solution; those that it is told to keep
    apart (``conflicts``, as we write them) don't.
    """
    known = frozenset(canonical(one) for one in family)
    document = parsed(text).unwrap()
    settings = document.get("tool", {}).get("uv", {})
    found = strings(document.get("project", {}), "dependencies")
    apart = {kind: _apart(settings, kind) for kind in ("extra", "group")}
    for kind, table in (
        ("extra", document.get("project", {}).get("optional-dependencies")),
        ("group", document.get("dependency-groups")),
    ):
        names = [name for name in table if canonical(name) not in apart[kind]] if isinstance(table, dict) else []
        found += [text for name in names for text in strings(table, name)]
    found += [text for text in strings(settings, "constraint-dependencies") if not _PINNED.fullmatch(text)]
    return tuple(text for text in found if project_name(text) in known)


def _apart(settings: Mapping[str, Any], kind: str) -> set[str]:
    """Return the extras or groups that uv is told to keep apart."""
    conflicts = settings.get("conflicts")
    items = [item for one in conflicts if isinstance(one, list) for item in one] if isinstance(conflicts, list) else []
    return {canonical(str(item[kind])) for item in items if isinstance(item, dict) and kind in item}


def pythons_without_wheels(text: str, plan: Plan) -> str:
    """Return in words that the project promises a Python that the plan has no wheels for; ``""`` if it doesn't.

    uv locks for all Pythons of ``requires-python``, and finds no solution for one that is too old.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    promised = parsed(text).unwrap().get("project", {}).get("requires-python", "")
    minors = [int(name.split(".")[1]) for name in plan.pythons if re.fullmatch(r"3\.\d+", name)]
    try:
        allowed = SpecifierSet(promised)
    except (InvalidSpecifier, TypeError):
        return ""
    if not minors or not allowed.contains(f"3.{min(minors) - 1}.99"):
        return ""
    return (
        f'the project says requires-python = "{promised}", and torch {plan.torch} needs 3.{min(minors)} or newer: '
        f'`uv lock` will find no solution until it says ">=3.{min(minors)}"'
    )


def foreign_sources(document: TOMLDocument, family: frozenset[str]) -> tuple[str, ...]:
    """Return the packages of the torch family that somebody else has bound to a source."""
    sources = document.unwrap().get("tool", {}).get("uv", {}).get("sources", {})
    return tuple(name for name, entry in sources.items() if canonical(name) in family and not _is_ours(entry))


def project_name(text: str) -> str:
    """Return the name in a requirement, normalised; ``""`` where there is none."""
    match = _NAME.match(text)
    return canonical(match[1]) if match else ""


def marker(plan: Plan) -> str:
    """Return the environment marker of a plan's platform, ``""`` where it isn't known."""
    system, _, rest = (plan.platform or "").partition("_")
    arch = next((arch for tail, arch in _ARCHES.items() if rest.endswith(tail)), "")
    if system not in _SYSTEMS:
        return ""
    machine = f" and platform_machine == '{arch}'" if arch else ""
    return f"sys_platform == '{_SYSTEMS[system]}'{machine}"


def extra_names(plans: Sequence[Plan]) -> list[str]:
    """Return an extra a plan, called after the variant: cu126, rocm7-2; with the release where two share one."""
    variants = [plan.variant or "torch" for plan in plans]
    return [
        canonical(variant if variants.count(variant) == 1 else f"{variant}-torch{plan.torch}")
        for variant, plan in zip(variants, plans, strict=True)
    ]


def _new_project(document: TOMLDocument, name: str, parts: Sequence[Part]) -> None:
    import tomlkit

    if "project" in document:
        made_elsewhere = document["project"].unwrap().get("dynamic", [])
        if "dependencies" in made_elsewhere:
            raise UsageError(
                "the project's dependencies aren't in pyproject.toml",
                why='it says dynamic = ["dependencies"]: the build back end makes them',
                todo=["--format requirements writes a file that the build back end can read"],
            )
        return
    table = tomlkit.table()
    table["name"], table["version"] = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "project", "0.1.0"
    table["requires-python"] = f">={_oldest_python(parts[0].plan)}"
    table["dependencies"] = tomlkit.array()
    document["project"] = table


def _oldest_python(plan: Plan) -> str:
    """Return the Python of the plan, or the oldest that all its packages have wheels for."""
    if plan.python is None and plan.pythons and re.fullmatch(r"3\.\d+", plan.pythons[0]):
        return plan.pythons[0]
    return python_version(plan)


def _bound(document: TOMLDocument, parts: Sequence[Part]) -> None:
    """Bind the project itself: sources and constraints, each for its platform."""
    uv = table_at(document, "tool", "uv")
    sources: dict[str, list[dict[str, str]]] = {}
    pins: list[str] = []
    for part in parts:
        where = marker(part.plan)
        pins += [requirement(pin) + (f" ; {where}" if where else "") for pin in part.plan.packages]
        for name, index in _indexes(document, part).items():
            sources.setdefault(name, []).append({"index": index, **({"marker": where} if where else {})})
    extend(uv, "constraint-dependencies", pins)
    _write_sources(document, sources)


def _extras(document: TOMLDocument, parts: Sequence[Part]) -> None:
    """Give each plan an extra of its own; uv is told that no two of them go together."""
    import tomlkit

    names = extra_names([part.plan for part in parts])
    optional = table_at(document, "project", "optional-dependencies")
    sources: dict[str, list[dict[str, str]]] = {}
    for name, part in zip(names, parts, strict=True):
        more = [canonical(other) for other in sorted(part.bound)]
        optional[name] = long_array([*(requirement(pin) for pin in part.plan.packages), *more])
        for project, index in _indexes(document, part).items():
            sources.setdefault(project, []).append({"index": index, "extra": name})
    uv = table_at(document, "tool", "uv")
    conflicts = uv.get("conflicts")
    if conflicts is None:
        uv["conflicts"] = long_array(())
        conflicts = uv["conflicts"]
    row = tomlkit.array()
    for name in names:
        entry = tomlkit.inline_table()
        entry["extra"] = name
        row.append(entry)
    conflicts.append(row)
    _write_sources(document, sources)


def _indexes(document: TOMLDocument, part: Part) -> dict[str, str]:
    """Return the index of each package that isn't the default index's, having written down those indexes."""
    import tomlkit

    found: dict[str, str] = {}
    for project, url, kind in [
        *((canonical(p.name), p.index, p.kind) for p in part.plan.packages),
        *_bound_places(part),
    ]:
        if url == DEFAULT:
            continue
        indexes = table_at(document, "tool", "uv").setdefault("index", tomlkit.aot())
        place = public(url)
        name = next((row["name"] for row in indexes if str(row["name"]).startswith(OURS) and row["url"] == place), None)
        if name is None:
            base = OURS + canonical(part.plan.variant or "torch")
            taken = {str(row.get("name")) for row in indexes}
            name = (
                base if base not in taken else next(f"{base}-{n}" for n in range(2, 99) if f"{base}-{n}" not in taken)
            )
            row = tomlkit.table()
            row["name"], row["url"], row["explicit"] = name, place, True
            if kind != "simple":
                row["format"] = "flat"
            indexes.append(row)
        found[project] = str(name)
    return found


def _bound_places(part: Part) -> list[tuple[str, str, str]]:
    return [(canonical(name), url, "simple") for name, url in sorted(part.bound.items())]


def _write_sources(document: TOMLDocument, sources: Mapping[str, list[dict[str, str]]]) -> None:
    import tomlkit

    if not sources:
        return
    table = table_at(document, "tool", "uv", "sources")
    for name, entries in sources.items():
        rows = []
        for entry in entries:
            row = tomlkit.inline_table()
            row.update(entry)
            rows.append(row)
        if len(rows) == 1 and "extra" not in entries[0]:
            table[name] = rows[0]
            continue
        array = tomlkit.array().multiline(len(rows) > 1)
        for row in rows:
            array.append(row)
        table[name] = array


def _dependencies(document: TOMLDocument, parts: Sequence[Part], asked: Sequence[str]) -> None:
    """Add what was asked for and what needs a source; what the project has stays as it is written."""
    project = document["project"]
    have = {project_name(text) for text in strings(project.unwrap(), "dependencies")}
    wanted = [*asked, *(named(pin) for part in parts for pin in part.plan.packages)]
    in_extras = "conflicts" in document.get("tool", {}).get("uv", {}) and len(parts) > 1
    wanted += [] if in_extras else [name for part in parts for name in sorted(part.bound)]
    wanted += [text for part in parts for text in part.plan.others]
    new = []
    for text in wanted:
        name = project_name(text)
        if name and name not in have and not text.startswith("-"):
            have.add(name)
            new.append(text)
    if new or "dependencies" not in project:
        extend(project, "dependencies", new)


def _clear(document: TOMLDocument, family: frozenset[str]) -> None:
    """Take out what was written here before, and the sources that are to be replaced."""
    uv = document.get("tool", {}).get("uv")
    optional = document.get("project", {}).get("optional-dependencies")
    ours = {name for name, texts in (optional or {}).items() if _is_our_extra(name, texts, family)}
    for name in ours:
        del optional[name]
    if optional is not None and not optional:
        del document["project"]["optional-dependencies"]
    if uv is None:
        return
    sources = uv.get("sources", {})
    # What was only bound for a build (triton-rocm) would come from anywhere once its source is gone.
    bound = {canonical(name) for name in sources if _is_ours(sources[name].unwrap()) and canonical(name) not in family}
    if "project" in document:
        drop(document["project"], "dependencies", lambda text: canonical(str(text)) in bound)
    for name in list(sources):
        if _is_ours(sources[name].unwrap()) or canonical(name) in family:
            del sources[name]
    drop(uv, "index", lambda row: str(row.get("name", "")).startswith(OURS))
    drop(uv, "constraint-dependencies", lambda text: project_name(text) in family and bool(_PINNED.fullmatch(text)))
    drop(uv, "conflicts", lambda row: bool(ours) and all(entry.get("extra") in ours for entry in row))
    if "sources" in uv and not sources:
        del uv["sources"]


def _is_our_extra(name: str, texts: Any, family: frozenset[str]) -> bool:
    pinned = [text for text in texts if _PINNED.fullmatch(str(text))]
    variant = name.partition("-torch")[0]
    is_variant = bool(backend(variant) or backend(variant.replace("-", ".")))
    return is_variant and any(project_name(text) == "torch" and project_name(text) in family for text in pinned)


def _is_ours(entry: Any) -> bool:
    rows = entry if isinstance(entry, list) else [entry]
    return all(isinstance(row, dict) and str(row.get("index", "")).startswith(OURS) for row in rows)


def _tidy(text: str, before: str) -> str:
    """Return the text with one newline at its end; the gaps that removed rows leave are closed, if we made them."""
    if "\n\n\n" not in before:
        text = re.sub(r"\n{3,}", "\n\n", text)
    return text.strip("\n") + "\n" if not before else text.rstrip("\n") + "\n"
