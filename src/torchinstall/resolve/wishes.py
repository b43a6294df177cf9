"""Requirement texts to wishes: what pip takes, split into the torch family and the rest."""

from __future__ import annotations

import re

from torchinstall.errors import RequirementError
from torchinstall.model.pattern import pattern
from torchinstall.model.request import Wish
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from packaging.markers import Marker

    from torchinstall.model.machine import Machine

    Environment: TypeAlias = Mapping[str, str] | Sequence[Mapping[str, str]] | None

_SIMPLE = pattern(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*")
_OPTION = pattern(r"(-[a-zA-Z]|--[a-z-]+)(?:[ =]\s*|\s+)?(.*)")
_VERSIONED = pattern(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*"
    r"((?:[=!<>~]=|[<>])\s*[0-9][0-9A-Za-z.+!*]*(?:\s*,\s*(?:[=!<>~]=|[<>])\s*[0-9][0-9A-Za-z.+!*]*)*)"
)
"""A name with versions and nothing else: no extras, no marker, no address."""
_ENDLESS = pattern(r"\d{1000}")
_LOCAL = pattern(r"==\s*([0-9][^+,\s]*)\+([A-Za-z0-9.]+)")

_HASH = pattern(r"--hash[= ](sha(?:256|384|512):[0-9a-fA-F]+)")
_PLACE = pattern(r"(-e |--editable[ =]|\.{0,2}/|\.{1,2}$|~/|[a-zA-Z]:\\\\|[a-z+]+://|(git|hg|svn|bzr)\+)|[^\s@]+\.whl$")

_PYTHONS = tuple(f"3.{minor}.0" for minor in range(9, 17))
"""The Pythons that a target may have."""

_NOT_TORCH = {
    "pytorch": "torch",
    "pytorch-torch": "torch",
    "torch-vision": "torchvision",
    "torch-audio": "torchaudio",
}
"""Names that people write and that are other packages or none at all on the public index."""


class Parsed(Value):
    """Requirements, sorted. ``hints`` are index options of a file: not binding for the torch family."""

    wishes: tuple[Wish, ...] = ()
    others: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    constraint_files: tuple[str, ...] = ()


def normal(name: str) -> str:
    """Return the normalised name of a project (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(texts: Iterable[str], family: Iterable[str], *, origin: str, environment: Environment = None) -> Parsed:
    """Sort requirement texts into wishes about the torch family and other packages.

    ``environment`` has the marker values of the target, as ``markers`` or ``possible_markers`` return them; a
    requirement whose marker excludes it is dropped. Raises ``RequirementError`` for a text that isn't a requirement.
    """
    names = frozenset(family)
    wishes: list[Wish] = []
    others: list[str] = []
    for text in texts:
        if _is_place(text):
            if normal(re.split(r"[/\\]", text.strip())[-1].partition("-")[0]) in names and text.rstrip().endswith(
                ".whl"
            ):
                raise _fixed(text.strip(), origin)
            others.append(text.strip())
            continue
        name = _project_name(text, origin)
        if name in _NOT_TORCH:
            raise RequirementError(
                f"{text!r} isn't the name of the package",
                why=f"PyTorch's package is called {_NOT_TORCH[name]}; other names are other projects",
                todo=[f"torchinstall {_NOT_TORCH[name]}"],
            )
        if name not in names:
            _check_other(text, origin)
            others.append(text.strip())
            continue
        wish = _wish(text, name, origin, environment)
        if wish is not None:
            wishes.append(wish)
    return Parsed(wishes=tuple(wishes), others=tuple(others))


def parse_file(content: str, family: Iterable[str], *, origin: str, environment: Environment = None) -> Parsed:
    """Read the lines of a requirements or constraints file as pip does (comments, continuations, options)."""
    names = frozenset(family)
    wishes: list[Wish] = []
    others: list[str] = []
    hints: list[str] = []
    includes: list[str] = []
    constraint_files: list[str] = []
    for number, line in _logical_lines(content):
        if line.startswith("-"):
            match = _OPTION.fullmatch(line)
            option, value = (match[1], match[2].strip()) if match else (line, "")
            if option in {"-r", "--requirement"}:
                includes.append(value)
            elif option in {"-c", "--constraint"}:
                constraint_files.append(value)
            elif option in {"-e", "--editable"}:
                others.append(line)
            else:
                hints.append(line)
            continue
        # Options of one requirement (--hash=...) belong to the file, not to the wish.
        requirement = re.split(r"\s+--[a-z-]+[= ]", line)[0]
        found = parse([requirement], names, origin=f"{origin}:{number}", environment=environment)
        hashes = tuple(_HASH.findall(line))
        wishes.extend(wish.replace(hashes=hashes) for wish in found.wishes)
        others.extend(line for _ in found.others)
    return Parsed(
        wishes=tuple(wishes),
        others=tuple(others),
        hints=tuple(hints),
        includes=tuple(includes),
        constraint_files=tuple(constraint_files),
    )


def merged(found: Parsed, inner: Iterable[Parsed]) -> Parsed:
    """Return a file's requirements together with those of the files that it includes, in order."""
    parts = [found, *inner]
    return Parsed(
        wishes=tuple(wish for part in parts for wish in part.wishes),
        others=tuple(text for part in parts for text in part.others),
        hints=tuple(hint for part in parts for hint in part.hints),
        constraint_files=tuple(name for part in parts for name in part.constraint_files),
    )


def possible_markers(machine: Machine) -> Environment:
    """Return the environment markers of a target, one set for each Python that it may have where that isn't known.

    So an unknown Python doesn't constrain, and what is known of the system does.
    """
    if machine.python.version is not None:
        return markers(machine)
    sets = [markers(machine.replace(python=machine.python.replace(version=version))) for version in _PYTHONS]
    return [one for one in sets if one is not None] or None


def markers(machine: Machine) -> dict[str, str] | None:
    """Return the environment markers (PEP 508) of a target; ``None`` where too little is known of it."""
    version, system = machine.python.version, machine.os.name
    if version is None or system is None:
        return None
    parts = version.split(".")
    implementation = machine.python.implementation or "CPython"
    arch = machine.python.arch or machine.arch or ""
    names = {
        "linux": ("posix", "linux", "Linux"),
        "windows": ("nt", "win32", "Windows"),
        "macos": ("posix", "darwin", "Darwin"),
    }
    os_name, sys_platform, platform_system = names.get(system, ("", "", ""))
    return {
        "python_version": ".".join(parts[:2]),
        "python_full_version": version,
        "implementation_name": implementation.lower(),
        "implementation_version": version,
        "platform_python_implementation": implementation,
        "os_name": os_name,
        "sys_platform": sys_platform,
        "platform_system": platform_system,
        "platform_machine": {"x86_64": "AMD64"}.get(arch, arch) if system == "windows" else arch,
        "platform_release": machine.os.kernel or "",
        "platform_version": "",
        "extra": "",
    }


def admits(specifier: str, version: str, *, pre: bool = False) -> bool:
    """Tell whether a version, without its local part, satisfies a specifier."""
    if not specifier:
        return True
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(version, prereleases=pre or None)


def _is_place(text: str) -> bool:
    """Tell whether a requirement is a folder, a file or an address instead of a name: the installer's to judge."""
    return _PLACE.match(text.strip()) is not None


def _project_name(text: str, origin: str) -> str:
    match = _SIMPLE.match(text)
    if match is None:
        raise RequirementError(
            f"{text.strip()!r} isn't a requirement ({origin})",
            why="a requirement begins with the name of a package",
            todo=['write it as pip takes it: torch, "torch==2.12.*", "torchvision>=0.27", -r requirements.txt'],
        )
    return normal(match[1])


def _wish(text: str, name: str, origin: str, environment: Environment) -> Wish | None:
    plain = text.strip()
    if normal(plain) == name:
        return Wish(name=name, text=plain, origin=origin)
    if _ENDLESS.search(plain):
        raise RequirementError(
            f"{plain[:60]}... isn't a requirement ({origin})",
            why="no version has a thousand digits",
            todo=[f"{name}==X.Y.Z"],
        )
    versions = versions_of(plain)
    if versions is not None:
        return _versioned(name, versions, plain, origin)
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(plain)
    except InvalidRequirement as error:
        raise RequirementError(
            f"{plain!r} isn't a requirement ({origin})",
            why=str(error).splitlines()[0],
            todo=[f'write it as pip takes it, for example "{name}==2.12.*" or "{name}>=2.11,<2.15"'],
        ) from None
    if requirement.url:
        raise _fixed(plain, origin)
    if requirement.marker is not None and not _applies(requirement.marker, environment):
        return None
    return _versioned(name, str(requirement.specifier), plain, origin, tuple(sorted(requirement.extras)))


def _applies(marker: Marker, environment: Environment) -> bool:
    """Tell whether a marker holds for the target; of several possible ones it must hold for each."""
    if environment is None:
        return True
    from packaging.markers import UndefinedEnvironmentName

    try:
        return all(marker.evaluate(dict(one)) for one in _all(environment))
    except UndefinedEnvironmentName:
        return True


def _all(environment: Mapping[str, str] | Sequence[Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
    return [environment] if isinstance(environment, dict) else environment  # type: ignore[return-value]


def versions_of(text: str) -> str | None:
    """Return the specifier of a requirement that is a name with versions and nothing else, else ``None``.

    The grammar of whole requirements takes longer to load than a plan takes, and few need it.
    """
    match = _VERSIONED.fullmatch(text)
    if match is None:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return str(SpecifierSet(match[1]))
    except InvalidSpecifier:
        return None  # the whole grammar says what is wrong


def _versioned(name: str, specifier: str, text: str, origin: str, extras: tuple[str, ...] = ()) -> Wish:
    variant = None
    if match := _LOCAL.search(specifier):
        variant = match[2]
        specifier = specifier.replace(f"+{variant}", "")
    return Wish(name=name, specifier=specifier, variant=variant, extras=extras, text=text, origin=origin)


def _fixed(text: str, origin: str) -> RequirementError:
    return RequirementError(
        f"{text!r} names a file or address ({origin})",
        why="torchinstall chooses the wheel of the torch family itself; a fixed address leaves nothing to choose",
        todo=["ask for a version: torch==X.Y.Z", "or install that file with uv or pip directly"],
    )


def _check_other(text: str, origin: str) -> None:
    plain = text.strip()
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", plain) or versions_of(plain) is not None:
        return
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        Requirement(re.split(r"\s+--[a-z-]+[= ]", plain)[0])
    except InvalidRequirement as error:
        raise RequirementError(
            f"{plain!r} isn't a requirement ({origin})",
            why=str(error).splitlines()[0],
            todo=["write it as pip takes it, for example transformers or 'transformers>=4.40'"],
        ) from None


def _logical_lines(content: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    pending, start = "", 0
    for number, raw in enumerate(content.removeprefix("\ufeff").splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        start = start or number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        whole = (pending + line).strip()
        if whole:
            lines.append((start, whole))
        pending, start = "", 0
    if pending.strip():
        lines.append((start, pending.strip()))
    return lines
