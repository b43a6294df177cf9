"""What is worth a word or a question before an environment is changed: whose it is, and who is using it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from torchinstall.index.location import canonical
from torchinstall.install.records import installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packaging.requirements import Requirement

    from torchinstall.install.target import Target

LOCKS = (
    ("uv.lock", "uv sync"),
    ("poetry.lock", "poetry install"),
    ("pdm.lock", "pdm sync"),
    ("Pipfile.lock", "pipenv sync"),
    ("pixi.lock", "pixi install"),
)
"""Lock files, each with the command that brings the environment back to it."""

_STORES = re.compile(r"[\\/](?:pypoetry|pdm|virtualenvs|hatch|\.pixi)[\\/]", re.IGNORECASE)
"""Folders in which project managers keep environments apart from their projects."""

LOW_MEMORY = 1 << 30
"""Bytes. pip holds a wheel in memory while it caches it, and uv unpacks several at once."""

WINDOWS_PATH = 260
LONGEST_INSIDE = 175
"""Characters of the longest path below site-packages in a torch wheel, with room for the next release."""


def lock_manager(target: Target, cwd: Path) -> str | None:
    """Return the question that a project's lock file asks, ``None`` where no lock rules the environment."""
    if target.prefix is None:
        return None
    prefix = cwd / target.prefix
    folders = [prefix.parent]
    if _STORES.search(str(prefix)):
        folders += [cwd, *cwd.parents]
    for folder in folders:
        for name, command in LOCKS:
            if (folder / name).is_file():
                return (
                    f"{target.prefix} belongs to the project of {folder / name}: the next `{command}` would take "
                    "this change back"
                )
    return None


def is_conda_base(prefix: Path) -> bool:
    """Tell whether this is the environment that conda itself runs from."""
    return (prefix / "conda-meta").is_dir() and (prefix / "condabin").is_dir()


def using_torch(roots: Iterable[str | Path], proc: Path = Path("/proc")) -> list[tuple[int, str]]:
    """Return the processes that have libraries of these folders' torch loaded, as number and name.

    Linux only; elsewhere, and of other users' processes, nothing is known.
    """
    marks = [f"{os.path.realpath(root)}/{name}/".encode() for root in roots for name in ("torch", "nvidia")]
    try:
        numbers = sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())
    except OSError:
        return []
    found = []
    for number in numbers:
        maps = _read(proc / str(number) / "maps")
        if number != os.getpid() and any(mark in maps for mark in marks):
            found.append((number, _read(proc / str(number) / "comm").decode("utf-8", "replace").strip()))
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # gone meanwhile, or another user's
        return b""


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that a new process may take here, ``None`` where that isn't known.

    The least of what the kernel has to give (with half of the swap) and what a container allows.
    """
    values: dict[str, int] = {}
    try:
        for line in (root / "proc/meminfo").read_text("ascii", "replace").splitlines():
            name, _, rest = line.partition(":")
            values[name] = int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    if "MemAvailable" not in values:
        return None
    free = values["MemAvailable"] + values.get("SwapFree", 0) // 2
    for most, used in (
        ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            limit = int((root / most).read_text("ascii")) - int((root / used).read_text("ascii"))
        except (OSError, ValueError):  # "max": no limit
            continue
        free = min(free, max(0, limit))
    return free


def sparing(environ: Mapping[str, str]) -> dict[str, str]:
    """Return settings for uv and pip that need little memory; what the user has set stays."""
    spare = {"UV_CONCURRENT_DOWNLOADS": "1", "UV_CONCURRENT_INSTALLS": "1", "PIP_NO_CACHE_DIR": "1"}
    return {name: value for name, value in spare.items() if name not in environ}


def path_too_long(site: str, *, windows: bool, long_paths: bool) -> str | None:
    """Return the warning for a Windows folder in which torch's longest paths don't fit, else ``None``."""
    if not windows or long_paths or len(site) + 1 + LONGEST_INSIDE < WINDOWS_PATH:
        return None
    most = WINDOWS_PATH - LONGEST_INSIDE - 1
    return (
        f"{site} is {len(site)} characters long, and Windows paths end at {WINDOWS_PATH}: torch fits where it is at "
        f"most {most}; use an environment nearer to the root (--venv C:\\torch), or switch long paths on "
        "(LongPathsEnabled)"
    )


def windows_long_paths() -> bool:
    """Tell whether this Windows allows paths above 260 characters; true elsewhere."""
    if os.name != "nt":
        return True
    import winreg

    try:
        with winreg.OpenKey(  # type: ignore[attr-defined,unused-ignore]
            winreg.HKEY_LOCAL_MACHINE,  # type: ignore[attr-defined,unused-ignore]
            r"SYSTEM\CurrentControlSet\Control\FileSystem",
        ) as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False


def broken_by(roots: Iterable[str | Path], new: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Return the installed packages that the new versions would break, in words.

    ``new``: name to version of what will be put in. ``environment``: the target's values for markers
    (PEP 508). Packages that are replaced themselves, or that are at odds already, don't count.
    """
    wanted = {canonical(name): version for name, version in new.items()}
    everything = [row for root in dict.fromkeys(os.path.realpath(root) for root in roots) for row in installed(root)]
    now = {name: version for name, version, _ in everything}
    found = []
    for name, version, info in everything:
        if name in wanted:
            continue
        for text in requirements_of(info):
            other = _name_in(text)
            requirement = _requirement(text) if other in wanted else None
            if requirement is None or not requirement.specifier:
                continue
            if requirement.marker is not None and not requirement.marker.evaluate({**environment, "extra": ""}):
                continue
            admits = requirement.specifier.contains
            fitted = other not in now or admits(now[other], prereleases=True)
            if fitted and not admits(wanted[other], prereleases=True):
                found.append(f"{name} {version} requires {other}{requirement.specifier}, and gets {wanted[other]}")
    return found


def _name_in(text: str) -> str:
    """Return the name that a requirement begins with; the rest is parsed only where the name matters."""
    match = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", text)
    return canonical(match[0]) if match else ""


def _requirement(text: str) -> Requirement | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def requirements_of(info: Path) -> list[str]:
    """Return the Requires-Dist lines of an installed package by its metadata folder."""
    try:
        header = (info / "METADATA").read_text("utf-8", "replace").partition("\n\n")[0]
    except OSError:
        return []
    rows = (line.partition(":") for line in header.splitlines())
    return [value.strip() for key, _, value in rows if key.lower() == "requires-dist"]


_NVIDIA = re.compile(r"nvidia-[a-z0-9-]+-cu(\d+)|(?:cuda-bindings|cuda-toolkit)-cu(\d+)")


def orphans(roots: Iterable[str | Path], variant: str | None) -> list[str]:
    """Return the nvidia-* packages of another CUDA major than the variant's that nothing installed requires.

    They stay behind when torch changes its CUDA, some gigabytes each time.
    """
    everything = [row for root in dict.fromkeys(os.path.realpath(root) for root in roots) for row in installed(root)]
    if not any(_NVIDIA.fullmatch(name) for name, _, _ in everything):
        return []
    required = set()
    for name, _, info in everything:
        for text in requirements_of(info):
            other = _name_in(text)
            if not _NVIDIA.fullmatch(name) or _NVIDIA.fullmatch(other):
                required.add((name, other))
    major = (re.match(r"cu(\d+)\d$", variant or "") or [None, ""])[1]
    old = {}
    for name, _, _ in everything:
        match = _NVIDIA.fullmatch(name)
        if match and (match[1] or match[2]) != major:
            old[name] = True
    # What only other orphans require is one too.
    needed = {other for name, other in required if name not in old}
    return sorted(name for name in old if name not in needed)
