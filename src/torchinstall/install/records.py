"""What is really there of installed packages: the sizes in RECORD against the disk.

A killed installer or a full disk leaves half a tree with complete metadata, and
uv and pip then say that nothing is to be done. So metadata is never believed.
"""

from __future__ import annotations

import os
from pathlib import Path

from torchinstall.index.location import canonical
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_OURS = frozenset({"uv", "pip"})
"""Installers whose RECORD tells true sizes; conda rewrites prefixes inside the files that it lists."""


class Damage(Value):
    """One package that isn't whole. ``missing`` and ``wrong`` count files; ``example`` is one of them."""

    name: str
    version: str
    files: int
    missing: int
    wrong: int
    example: str

    def words(self) -> str:
        """Return what is wrong in one line."""
        lost = [f"{self.missing} missing"] if self.missing else []
        lost += [f"{self.wrong} of another size"] if self.wrong else []
        return f"{self.name} {self.version}: of {self.files} files {' and '.join(lost)} (such as {self.example})"


def damaged(roots: Iterable[str | Path], names: Collection[str] | None = None) -> tuple[Damage, ...]:
    """Return the packages in these folders that aren't whole, by name; ``names`` limits the look to some.

    Byte code and files without a size in RECORD don't count, nor do packages that another program than uv
    and pip installed. An environment that can't be read counts as whole: somebody else will say so.
    """
    wanted = None if names is None else {canonical(name) for name in names}
    found: dict[str, Damage] = {}
    for root in dict.fromkeys(os.path.realpath(root) for root in roots):
        for name, version, info in installed(root):
            if wanted is not None and name not in wanted:
                continue
            if _installer(info) in _OURS and (damage := _damage(name, version, info, root)) is not None:
                found[name] = damage
    return tuple(found[name] for name in sorted(found))


def installed(root: str | Path) -> list[tuple[str, str, Path]]:
    """Return name (as indexes spell it), version and metadata folder of what lies in one folder."""
    try:
        entries = [entry.name for entry in os.scandir(root) if entry.name.endswith(".dist-info")]
    except OSError:
        return []
    found = []
    for entry in sorted(entries):
        name, dash, version = entry.removesuffix(".dist-info").partition("-")
        if dash:
            found.append((canonical(name), version, Path(root, entry)))
    return found


def _installer(info: Path) -> str:
    try:
        return (info / "INSTALLER").read_text("utf-8", "replace").strip()
    except OSError:
        return "uv"  # the last file that uv writes: without it the installation was cut off


def _damage(name: str, version: str, info: Path, root: str) -> Damage | None:
    try:
        text = (info / "RECORD").read_text("utf-8", "replace")
    except FileNotFoundError:
        return Damage(name=name, version=version, files=1, missing=1, wrong=0, example=f"{info.name}/RECORD")
    except OSError:
        return None
    files = missing = wrong = 0
    example = ""
    stat = os.stat
    # Split by hand: neither hash nor size has a comma in it, and csv takes longer than the disk.
    for line in text.splitlines():
        path, _, told = [*line.rsplit(",", 2), "", ""][:3]
        if not told.isdigit() or "__pycache__" in path:
            continue
        if path[:1] == '"':
            path = path[1:-1].replace('""', '"')
        files += 1
        try:
            size = stat(f"{root}{os.sep}{path}").st_size
        except OSError:
            missing += 1
            example = example or path
            continue
        if size != int(told):
            wrong += 1
            example = example or path
    if not missing and not wrong:
        return None
    return Damage(name=name, version=version, files=files, missing=missing, wrong=wrong, example=example)
