"""An environment looked at from outside: metadata, version files, folders and libraries; torch isn't imported."""

from __future__ import annotations

import os
import re

from torchinstall.model.inspection import Copy, Gap, Inspection
from torchinstall.verify.libraries import Libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torchinstall.verify.look import ImportPath

FAMILY = ("torch", "torchvision", "torchaudio")
_BUILT_AGAINST = ("nvidia", "triton", "pytorch-triton", "torch", "cuda-")
_PLAIN = frozenset({"pip", "uv"})
_FOLDERS = {"torch": "torch", "torchvision": "torchvision", "torchaudio": "torchaudio", "torch-npu": "torch_npu"}
_INFO = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.]*(?:-[A-Za-z_][\w.]*)*)-(?P<version>\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info$"
)
_VERSION = re.compile(r"^__version__\s*(?::\s*str\s*)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_CUDA_OF = re.compile(r"(?P<base>nvidia-[a-z0-9-]+?|nvidia-[a-z]+)-cu(?P<major>\d{2})$")
_REQUIRES = re.compile(r"^Requires-Dist:\s*(.+)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_VARIABLES = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "DYLD_LIBRARY_PATH", "CONDA_PREFIX",
    "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy",
)  # fmt: skip
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
_LONGEST = 262144
_FIRST_PART = 400_000


class Package(str):
    """A normalised project name with the folder of its metadata."""

    __slots__ = ("info", "version")
    info: str
    version: str


def survey(
    path: ImportPath,
    roots: Sequence[str],
    environ: Mapping[str, str],
    *,
    markers: Mapping[str, str] | None = None,
    cwd: str | None = None,
    linux: bool = True,
) -> Inspection:
    """Return what was seen of an environment.

    ``path``: where its Python imports from; ``roots``: its own folders of packages (purelib, platlib), which
    count alone where the path isn't known. ``markers``: the marker values of the target, for requirements.
    ``cwd``: the folder that programs are started in. Nothing raises: what can't be read isn't there.
    """
    folders = list(dict.fromkeys([*path.folders, *roots]))
    copies, half, debris = [], [], []
    packages: dict[str, Package] = {}
    for folder in folders:
        here = _packages(folder)
        for package in here:
            packages.setdefault(package, package)
        copies += _copies(folder, here, _why(folder, path, roots, environ))
        if folder in roots:
            half += _half(folder, here)
            debris += _debris(folder)
    copies = _distinct(copies)
    versions = {str(name): package.version for name, package in packages.items()}
    site = next((copy.folder for copy in copies if copy.name == "torch"), next(iter(roots), ""))
    libraries = Libraries(site, environ, versions) if linux and site else None
    return Inspection(
        path=tuple(folders),
        copies=tuple(copies),
        files=_files(cwd, path.folders, roots),
        half=tuple(dict.fromkeys(half)),
        debris=tuple(dict.fromkeys(debris)),
        gaps=tuple(_gaps(packages, versions, markers or {})),
        unresolved=libraries.unresolved() if libraries else (),
        shadows=libraries.shadows() if libraries else (),
        clashes=_clashes(versions),
        stale=_stale(packages, versions),
        free_mib=_free(site),
        temporary=_temporary(environ),
        lost=tuple((name, environ[name]) for name in _CERTIFICATES if environ.get(name) and not _there(environ[name])),
        variables={name: environ[name] for name in _VARIABLES if environ.get(name)},
        cann_missing=_cann_missing(versions, environ),
    )


def requiring(roots: Iterable[str], name: str = "torch") -> tuple[str, ...]:
    """Return the packages that require ``name``: who pulled it in."""
    found = []
    for root in dict.fromkeys(map(os.path.realpath, roots)):
        for package in _packages(root):
            for text in _requirements(package.info):
                wanted = _NAME.match(text)
                if wanted and _normal(wanted[0]) == name and "extra ==" not in text:
                    found.append(f"{package} {package.version}")
                    break
    return tuple(dict.fromkeys(found))


# Packages


def _packages(folder: str) -> list[Package]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []
    found = []
    for name in names:
        if not name.endswith("-info") or name.startswith("~"):
            continue
        match = _INFO.match(name)
        if match is None:
            continue
        package = Package(_normal(match["name"]))
        package.info, package.version = f"{folder}/{name}", match["version"]
        found.append(package)
    return found


def _copies(folder: str, packages: Iterable[Package], why: str) -> list[Copy]:
    known = {str(package): package for package in packages}
    found = []
    for name, place in _FOLDERS.items():
        if not os.path.isfile(f"{folder}/{place}/__init__.py"):  # noqa: PTH113
            continue
        package = known.get(name)
        found.append(
            Copy(
                name=name, folder=folder, version=package.version if package is not None else None,
                inner=_inner(f"{folder}/{place}/version.py"), why=why,
            )
        )  # fmt: skip
    return found


def _distinct(copies: Iterable[Copy]) -> list[Copy]:
    """Return each place once: lib64 is often a link to lib, and a path may name a folder twice."""
    kept: dict[tuple[str, str], Copy] = {}
    for copy in copies:
        kept.setdefault((copy.name, os.path.realpath(copy.folder)), copy)
    return list(kept.values())


def _inner(path: str) -> str | None:
    match = _VERSION.search(_text(path))
    return match[1] if match else None


def _half(folder: str, packages: Sequence[Package]) -> list[str]:
    """Return packages of the family whose code or whose metadata is missing."""
    named = {str(package) for package in packages}
    found = []
    for name in FAMILY:
        place = f"{folder}/{_FOLDERS[name]}"
        code = os.path.isfile(f"{place}/__init__.py")  # noqa: PTH113
        if name in named and not code:
            found.append(f"{name}: its metadata is there, its code isn't")
        elif name not in named and os.path.isdir(place) and (code or _has_files(place)):  # noqa: PTH112
            found.append(f"{name}: remains of its code are there, its metadata isn't")
    return found


def _has_files(place: str) -> bool:
    files = (name for _root, _folders, names in os.walk(place) for name in names)
    return any(not name.endswith((".pyc", ".pyo")) for name in files)


def _debris(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("~")]  # noqa: PTH208
    except OSError:
        return []


def _files(cwd: str | None, path: Iterable[str], roots: Sequence[str]) -> tuple[str, ...]:
    """Return files that programs would import instead of torch."""
    own = set(map(os.path.realpath, roots))
    places = ([cwd] if cwd else []) + [entry for entry in path if os.path.realpath(entry) not in own]
    found = [f"{place}/torch.py" for place in places if place and os.path.isfile(f"{place}/torch.py")]  # noqa: PTH113
    return tuple(dict.fromkeys(found))


def _why(folder: str, path: ImportPath, roots: Sequence[str], environ: Mapping[str, str]) -> str:
    real = os.path.realpath(folder)
    if real in {os.path.realpath(root) for root in roots}:
        return "environment"
    if path.user and real == os.path.realpath(path.user):
        return "user site"
    given = [os.path.realpath(part) for part in environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return "PYTHONPATH" if real in given else "path"


# Requirements


def lacking(folders: Iterable[str], markers: Mapping[str, str] | None) -> tuple[Gap, ...]:
    """Return what the torch family in these folders requires and what isn't in them in any version.

    Without ``markers`` (too little is known of the target) nothing is known to be missing.
    """
    packages = {str(package): package for folder in folders for package in _packages(os.path.realpath(folder))}
    versions = {name: package.version for name, package in packages.items()}
    gaps = _gaps(packages, versions, markers) if markers is not None else ()
    return tuple(gap for gap in gaps if gap.found is None)


def _gaps(packages: Mapping[str, Package], versions: Mapping[str, str], markers: Mapping[str, str]) -> list[Gap]:
    """Return the requirements of torch and its companions that aren't met.

    Of what they are built against every version counts; of the rest (sympy, networkx) only what isn't there at
    all, and only where pip or uv installed them: conda brings what its builds need in its own way.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    found = []
    for name in FAMILY:
        package = packages.get(name)
        if package is None:
            continue
        plain = _text(f"{package.info}/INSTALLER").strip() in _PLAIN
        for text in _requirements(package.info):
            built_against = text.lower().startswith(_BUILT_AGAINST)
            here = versions.get(_normal(match[0])) if (match := _NAME.match(text)) else None
            if not built_against and (here is not None or not plain):
                continue
            try:
                wanted = Requirement(text)
                if wanted.marker is not None and not wanted.marker.evaluate({"extra": "", **markers}):
                    continue
            except (InvalidRequirement, ValueError, KeyError):
                continue
            if here is None or (wanted.specifier and not _admits(str(wanted.specifier), here)):
                found.append(
                    Gap(package=name, version=package.version, wanted=f"{wanted.name}{wanted.specifier}",
                        name=_normal(wanted.name), found=here, built_against=built_against)
                )  # fmt: skip
    return found


def _admits(specifier: str, version: str) -> bool:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion

    try:
        # A local part (+cu126) belongs to the same release, unless the pin names another.
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidVersion:
        return True


def _requirements(info: str) -> list[str]:
    text = _text(f"{info}/METADATA") or _text(f"{info}/PKG-INFO")
    head = text.partition("\n\n")[0]
    return [line.strip() for line in _REQUIRES.findall(head)]


def _clashes(versions: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of nvidia packages of two CUDA majors: they write the very same folder."""
    by_base: dict[str, list[str]] = {}
    for name in versions:
        if match := _CUDA_OF.match(name):
            by_base.setdefault(match["base"], []).append(name)
    return tuple((names[0], other) for names in map(sorted, by_base.values()) for other in names[1:])


def _stale(packages: Mapping[str, Package], versions: Mapping[str, str]) -> tuple[str, ...]:
    """Return nvidia packages of a CUDA major that the installed torch doesn't ask for, and another one it does."""
    torch = packages.get("torch")
    if torch is None:
        return ()
    wanted = {_normal(match[0]) for text in _requirements(torch.info) if (match := _NAME.match(text))}
    majors = {match["major"] for name in wanted if (match := _CUDA_OF.match(name))}
    if not majors:
        return ()
    return tuple(name for name in sorted(versions) if (match := _CUDA_OF.match(name)) and match["major"] not in majors)


def _cann_missing(versions: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Tell whether torch_npu is here and nothing in the environment says that CANN's set_env.sh was sourced."""
    if "torch-npu" not in versions:
        return False
    named = any(environ.get(name) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_OPP_PATH"))
    return not named and "Ascend" not in environ.get("LD_LIBRARY_PATH", "")


def _free(folder: str) -> int | None:
    import shutil

    try:
        return shutil.disk_usage(folder).free >> 20
    except (OSError, ValueError):
        return None


def _there(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110


def _temporary(environ: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the folder for temporary files, as Python chooses it, and the MiB that are free there."""
    named = (environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name))
    folder = next((path for path in (*named, "/tmp", "/var/tmp") if os.path.isdir(path)), None)  # noqa: S108, PTH112
    free = _free(folder) if folder is not None else None
    return (folder, free) if folder is not None and free is not None else None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            return stream.read(_FIRST_PART)
    except OSError:
        return ""


__all__ = ["FAMILY", "lacking", "requiring", "survey"]
