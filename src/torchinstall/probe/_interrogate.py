"""Tells what the Python that runs it is, and what is installed in it: ``python -I _interrogate.py COOKIE``.

Stands alone, in the syntax of Python 3.6, and prints one JSON object between two cookies. torch isn't
imported: that takes seconds, and may crash in the very environment that is to be mended.
"""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH123, PTH208
import json
import os
import re
import struct
import sys
import sysconfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DISTRIBUTION = re.compile(r"(?P<name>[^-]+(?:-[^-]+)*?)-(?P<version>\d[^-]*)(?:-py\d[\d.]*)?\.(?:dist|egg)-info$")
_VERSION = re.compile(r"^__version__\s*(?::\s*str\s*)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_VERSION_FILES = ("torch", "torchvision", "torchaudio")
"""Packages whose own version file tells the variant that their metadata hides."""


def python_facts() -> "dict[str, Any]":
    """Return what the interpreter is."""
    base = str(getattr(sys, "real_prefix", None) or getattr(sys, "base_prefix", sys.prefix))
    stdlib = sysconfig.get_path("stdlib") or ""
    marker = os.path.join(stdlib, "EXTERNALLY-MANAGED")
    return {
        "version": sys.version.split()[0].rstrip("+"),
        "implementation": sys.implementation.name,
        "bits": struct.calcsize("P") * 8,
        "free_threaded": sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
        "environment": environment_kind(base),
        # The marker binds the installation itself; environments made from it are free (PEP 668).
        "externally_managed": base == sys.prefix and os.path.isfile(marker),
        "path": sys.executable,
        "prefix": sys.prefix,
        "arch": architecture(),
        "purelib": sysconfig.get_path("purelib"),
        "platlib": sysconfig.get_path("platlib"),
        "scripts": sysconfig.get_path("scripts"),
    }


def environment_kind(base: str) -> str:
    """Return tool (uv tool, pipx), venv, conda or system."""
    for receipt in ("uv-receipt.toml", "pipx_metadata.json"):
        if os.path.isfile(os.path.join(sys.prefix, receipt)):
            return "tool"
    if base != sys.prefix:
        return "venv"
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        return "conda"
    return "system"


def architecture() -> str:
    """Return the architecture that wheels for this interpreter have, not always the machine's own."""
    name = sysconfig.get_platform().rpartition("-")[2]
    if hasattr(os, "uname") and name in ("universal2", "fat64", "intel", ""):
        return os.uname().machine
    return name


def site_folders() -> "list[str]":
    """Return the folders in which packages are found, in the order of import."""
    folders = [path for path in sys.path if os.path.isdir(path)]
    if sys.prefix == getattr(sys, "base_prefix", sys.prefix):
        # -I leaves the user's own packages out; programs that this Python runs find them.
        import site

        user = site.getusersitepackages()
        if os.path.isdir(user) and user not in folders:
            folders.insert(0, user)
    return folders


def looked_at() -> "list[str]":
    """Return every place that decides what is found, those that don't exist included."""
    places = list(sys.path)
    if sys.prefix == getattr(sys, "base_prefix", sys.prefix):
        import site

        places.append(site.getusersitepackages())
    return places


def installed(folders: "list[str]") -> "tuple[dict[str, str], dict[str, str]]":
    """Return versions and installers of all distributions; of two with one name the first is imported."""
    versions = {}  # type: dict[str, str]
    installers = {}  # type: dict[str, str]
    places = {}  # type: dict[str, str]
    for folder in folders:
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        for entry in sorted(entries):
            match = _DISTRIBUTION.match(entry)
            if match is None:
                continue
            name = re.sub(r"[-_.]+", "-", match.group("name")).lower()
            if name in versions:
                continue
            versions[name] = match.group("version")
            installers[name] = installer(folder, entry)
            places[name] = folder
        for package in _VERSION_FILES:
            real = own_version(folder, package)
            # Metadata from the default index lacks the local part. A package without any metadata is a
            # half-removed one, and is imported all the same.
            if real and places.setdefault(package, folder) == folder:
                versions[package] = real
    return versions, installers


def own_version(folder: str, package: str) -> "str | None":
    """Return the version in the package's version file, local part included."""
    text = read(os.path.join(folder, package, "version.py"))
    match = _VERSION.search(text) if text else None
    return match.group(1) if match else None


def installer(folder: str, entry: str) -> str:
    """Return who installed a distribution: pip, uv, conda, or the system's own package manager."""
    name = (read(os.path.join(folder, entry, "INSTALLER")) or "").strip()
    if name:
        return name
    if os.path.basename(folder) == "dist-packages" and folder.startswith("/usr/lib/"):
        return "distribution"
    return "unknown"


def read(path: str) -> "str | None":
    """Return a text file's content, None where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(65536)
    except OSError:
        return None


def main(cookie: str) -> None:
    """Print the facts."""
    versions, installers = installed(site_folders())
    facts = {"python": python_facts(), "installed": versions, "installed_by": installers, "folders": looked_at()}
    sys.stdout.write("\n" + cookie + json.dumps(facts) + cookie + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
