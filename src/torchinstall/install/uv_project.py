"""A plan as uv reads it: a project file, constraints, arguments and environment. Pure: nothing is written here.

Every package of the torch family is bound to its index by name (an explicit
index, uv documentation "Package indexes"), so that no other source can serve
it, whatever the order of indexes.
"""

from __future__ import annotations

import json
import re

from torchinstall.index.location import absolute, canonical, file_url, local_path
from torchinstall.install.settings import DEFAULT_INDEX, EXTRA_INDEX, FIND_LINKS, PIP, UV

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torchinstall.install.backend import Job
    from torchinstall.install.settings import Settings
    from torchinstall.model.plan import Pin

DEFAULT = "default"

CLEARED = (
    # would send torch elsewhere than the plan says
    "UV_TORCH_BACKEND",
    "UV_INDEX_STRATEGY",
    "UV_NO_SOURCES",
    "UV_NO_SOURCES_PACKAGE",
    "UV_RESOLUTION",
    "UV_FORK_STRATEGY",
    "UV_NO_BINARY",
    "UV_NO_BINARY_PACKAGE",
    "UV_OVERRIDE",
    "UV_EXCLUDE",
    "UV_BUILD_CONSTRAINT",
    "UV_PRERELEASE",
    # files that say the like; what counts in them is handed over below
    "UV_CONFIG_FILE",
    "UV_NO_CONFIG",
    # would install somewhere else than the target
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_BREAK_SYSTEM_PACKAGES",
    "UV_PROJECT",
    "UV_WORKING_DIR",
    "UV_WORKING_DIRECTORY",
    "UV_PROJECT_ENVIRONMENT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    # are passed on with absolute paths
    "UV_CONSTRAINT",
    "UV_FIND_LINKS",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
)
"""Variables that don't reach uv as they are."""

_OPTION = re.compile(r"(-r|--requirement|-c|--constraint|-e|--editable)(?:\s+|=)?(.+)")


def project_text(job: Job, *, default_url: str | None) -> str:
    """Return the pyproject.toml: pins as dependencies, one explicit index a source.

    ``default_url`` is bound where a pin comes from the default index; ``None`` leaves such pins unbound.
    """
    sources: dict[str, str] = {}
    indexes: dict[tuple[str, str], str] = {}
    dependencies: list[str] = []

    def index_name(url: str, kind: str) -> str:
        return indexes.setdefault((url, kind), f"torchinstall-{len(indexes) + 1}")

    for pin in job.plan.packages:
        name = canonical(pin.name)
        dependencies.append(_dependency(pin))
        if pin.kind == "url" and pin.url:
            sources[name] = f"{{ url = {_quoted(pin.url)} }}"
            continue
        url = default_url if pin.index == DEFAULT else pin.index
        if job.settings.no_index and pin.kind == "flat":
            continue  # --no-index switches bound indexes off too, and then find-links is all there is
        if url:
            sources[name] = f"{{ index = {_quoted(index_name(*_place(url, pin.kind, job.cwd)))} }}"
    pinned = {canonical(pin.name) for pin in job.plan.packages}
    for other, url in sorted(job.bound.items()):
        if canonical(other) not in pinned:
            dependencies.append(canonical(other))
            place = _place(url, "simple", job.cwd)
            sources[canonical(other)] = f"{{ index = {_quoted(index_name(*place))} }}"
    lines = ["[project]", 'name = "torchinstall-plan"', 'version = "0"', "dependencies = ["]
    lines += [f"  {_quoted(text)}," for text in dependencies]
    lines += ["]", "", "[tool.uv]", "no-sources = false"]
    for (url, kind), name in indexes.items():
        lines += ["", "[[tool.uv.index]]", f"name = {_quoted(name)}", f"url = {_quoted(url)}", "explicit = true"]
        lines += ['format = "flat"'] if kind == "flat" else []
    lines += ["", "[tool.uv.sources]", *(f"{name} = {source}" for name, source in sources.items())]
    return "\n".join(lines) + "\n"


def _strategy(job: Job, default_url: str | None) -> str:
    """Return how uv chooses among several indexes, for all that isn't bound to one of them.

    The user's word counts. Where only pip knows further indexes, they are meant as pip takes them: the best
    version of any. Else it is uv's own way, the first index that has the name.
    """
    settings = job.settings
    if settings.index_strategy:
        return settings.index_strategy
    unbound = default_url is None and any(pin.index == DEFAULT for pin in job.plan.packages)
    of_pip = settings.of(PIP, EXTRA_INDEX) and not settings.of(UV, EXTRA_INDEX)
    return "unsafe-best-match" if of_pip and not unbound else "first-index"


def constraints_text(job: Job) -> str:
    """Return the pins that have a hash and what is kept, as a constraints file; ``""`` where there is neither."""
    kept = [f"{canonical(name)}=={version}" for name, version in sorted(job.kept.items())]
    if job.hashes:
        hashed = [f"{name} --hash=sha256:{sha256}" for name, sha256 in sorted(job.hashes.items())]
        return "\n".join([*hashed, *kept]) + "\n"
    lines = [
        f"{canonical(pin.name)}=={pin.version} " + " ".join(f"--hash={text}" for text in allowed)
        for pin in job.plan.packages
        # What the user allows comes first: an index must not widen it.
        if (allowed := pin.hashes or ((f"sha256:{pin.sha256}",) if pin.sha256 else ())) and pin.kind != "url"
    ]
    lines += kept
    return "\n".join(lines) + "\n" if lines else ""


def others_text(job: Job) -> str:
    """Return the other packages of the request as a requirements file, paths made absolute."""
    return "".join(f"{_absolute_requirement(text, job.cwd)}\n" for text in job.plan.others)


def arguments(
    job: Job, *, project: Path, constraints: Path | None, others: Path | None, default_url: str | None = None
) -> list[str]:
    """Return the words after ``uv pip install``; ``default_url`` as for ``project_text``."""
    words = ["--python", str(job.target.python), "-r", str(project)]
    words += ["-r", str(others)] if others else []
    for path in (constraints, *job.settings.constraint_files):
        words += ["--constraint", str(path)] if path else []
    for name in job.reinstall:
        words += ["--reinstall-package", canonical(name)]
    for pin in job.plan.packages:
        # torch from source isn't what anybody wants, and a flat page may list its sdist
        words += ["--only-binary", canonical(pin.name)]
    words += ["--break-system-packages"] if job.target.system and job.target.externally_managed else []
    words += ["--offline"] if job.offline or job.settings.offline else []
    words += ["--no-index"] if job.settings.no_index else []
    words += ["--index-strategy", _strategy(job, default_url)]
    return words


def environment(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for uv: the caller's, without what would redirect it, with pip's settings added.

    pip's index and certificate go to uv only where uv has none of its own. URLs may hold credentials, which
    is why they travel in the environment and not as arguments.
    """
    settings = job.settings
    env = {name: value for name, value in environ.items() if name not in CLEARED}
    for name, value in settings.passed.items():
        env.setdefault(name, value)
    # A uv.toml may name another target, platform or backend: uv sees none, and gets what is harmless in it.
    env["UV_NO_CONFIG"] = "1"
    default = _variables(settings, UV, DEFAULT_INDEX) or _without_files(settings, DEFAULT_INDEX)
    if default:
        env["UV_DEFAULT_INDEX"] = default[0]
    extra = _variables(settings, UV, EXTRA_INDEX) or _without_files(settings, EXTRA_INDEX)
    if extra:
        env["UV_INDEX"] = " ".join(extra)
    if links := find_links(settings):
        env["UV_FIND_LINKS"] = ",".join(_without_comma(link) for link in links)
    if settings.cert and not env.get("SSL_CERT_FILE"):
        env["SSL_CERT_FILE"] = settings.cert
    return env


def find_links(settings: Settings) -> list[str]:
    """Return the find-links to hand to uv: those of its variables, or pip's where uv has none at all."""
    return _variables(settings, UV, FIND_LINKS) or _without_files(settings, FIND_LINKS)


def _variables(settings: Settings, tool: str, name: str) -> list[str]:
    """Return what is set, named where it has a name: uv finds credentials under that."""
    return [f"{entry.label}={entry.value}" if entry.label else entry.value for entry in settings.of(tool, name)]


def _without_files(settings: Settings, name: str) -> list[str]:
    if settings.of(UV, name):
        return []
    return [entry.value for entry in settings.of(PIP, name)]


def _without_comma(link: str) -> str:
    """Escape commas: uv takes several locations in one word, separated by them."""
    if "," not in link:
        return link
    path = local_path(link)
    return (link if path is None else file_url(path)).replace(",", "%2C")


def _dependency(pin: Pin) -> str:
    extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
    return f"{pin.name}{extras}" if pin.kind == "url" else f"{pin.name}{extras}=={pin.version}"


def _place(url: str, kind: str, cwd: Path) -> tuple[str, str]:
    """Return how uv names a source: a folder by its path, a simple index in a folder by its URL."""
    path = local_path(url)
    if path is None:
        return url, kind
    return (str(cwd / path), kind) if kind == "flat" else ((cwd / path).as_uri(), kind)


def _absolute_requirement(text: str, cwd: Path) -> str:
    text = text.strip()
    option = _OPTION.fullmatch(text)
    if option:
        return f"{option[1]} {absolute(option[2].strip(), cwd)}"
    is_path = text.startswith((".", "/", "~")) or (not re.search(r"[<>=!@;\[]", text) and "/" in text)
    return absolute(text, cwd) if is_path and "://" not in text else text


def _quoted(text: str) -> str:
    # A JSON string with non-ASCII kept is a TOML basic string, but for DEL, which no URL has.
    return json.dumps(text, ensure_ascii=False)
