"""How much an installation takes: sizes from the indexes, summed with dependencies.

uv resolves the whole set into a pylock file (nothing is installed); sizes that
no index page tells are asked of the server that has the file.
"""

from __future__ import annotations

import os

from torchinstall.index.location import canonical, local_path
from torchinstall.install.preflight import Space, cache_dir, target_paths, temp_dir
from torchinstall.install.records import installed
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from torchinstall.index.http import Client
    from torchinstall.install.backend import Job

AMPLE = 40 * 10**9
"""Bytes: where this much is free everywhere, no installation of torch can fill the disk, and nothing is summed.

The largest set, torch of CUDA 13 with its libraries, is 3.0 GB of wheels: 23 GB unpacked in cache and environment
at the worst rate.
"""

AMPLE_SMALL = 10 * 10**9
"""The same for builds without GPU libraries: the largest, of 0.2 GB, with all that it needs is below 2 GB unpacked."""
_SMALL = frozenset({"cpu", "mps"})

UNPACKED = 3.8
"""Bytes on disk a byte of wheel, at most: torch 2.13.0+cpu has 3.7, the nvidia-* packages 1.2 to 2."""

_FILE_LIMIT_S = 2.0


class Wheel(Value):
    """One file that an installation takes. ``size`` in bytes, ``None`` where nobody says it."""

    name: str
    version: str
    url: str
    sha256: str | None = None
    size: int | None = None
    requires_index: str | None = None

    @property
    def filename(self) -> str:
        """The last part of the address."""
        from urllib.parse import unquote

        return unquote(self.url.partition("#")[0].rpartition("/")[2])


def ample(job: Job, environ: Mapping[str, str]) -> bool:
    """Tell whether there is so much room everywhere that sizes don't matter."""
    import shutil

    enough = AMPLE_SMALL if job.plan.variant in _SMALL and not job.plan.others else AMPLE
    places = [*target_paths(job.target)[:1], cache_dir(environ), temp_dir(environ)]
    for place in places:
        path = place
        while not path.exists() and path != path.parent:
            path = path.parent
        if shutil.disk_usage(path).free < enough:
            return False
    return True


def pinned_bytes(job: Job, session: Client) -> int | None:
    """Return the size of the torch family's own wheels in bytes, ``None`` where nobody says it."""
    wheels = [Wheel(name=pin.name, version=pin.version, url=pin.url or "", size=pin.size) for pin in job.plan.packages]
    known = with_sizes([wheel for wheel in wheels if wheel.url or wheel.size is not None], session)
    sizes = [wheel.size for wheel in known if wheel.size is not None]
    return sum(sizes) if sizes and len(sizes) == len(wheels) else None


def space_of(job: Job, wheels: Iterable[Wheel], installer: str) -> Space:
    """Return what these wheels take, less what is installed already at the same version.

    uv unpacks into its cache while it reads; pip keeps the file in its cache and a copy among temporary files.
    """
    roots = dict.fromkeys(os.path.realpath(path) for path in target_paths(job.target))
    here = {(name, version) for root in roots for name, version, _ in installed(root)}
    names = {canonical(name) for name in job.reinstall}
    fresh = [wheel for wheel in wheels if (wheel.name, wheel.version) not in here or wheel.name in names]
    download = sum(wheel.size or 0 for wheel in fresh)
    unpacked = int(download * UNPACKED)
    if installer == "pip":
        return Space(target=unpacked, cache=download, temp=download)
    return Space(target=unpacked, cache=unpacked)


def with_sizes(wheels: Iterable[Wheel], session: Client) -> list[Wheel]:
    """Return the wheels with sizes that were missing asked of their servers, side by side and within seconds."""
    from concurrent.futures import ThreadPoolExecutor

    rows = list(wheels)
    missing = [number for number, wheel in enumerate(rows) if wheel.size is None]
    if not missing:
        return rows
    with ThreadPoolExecutor(max_workers=min(8, len(missing))) as pool:
        sizes = pool.map(lambda number: _size(rows[number].url, session), missing)
        for number, size in zip(missing, sizes, strict=True):
            rows[number] = rows[number].replace(size=size)
    return rows


def _size(url: str, session: Client) -> int | None:
    path = local_path(url)
    if path is not None:
        try:
            return path.stat().st_size
        except OSError:
            return None
    if session.offline:
        return None
    import requests

    try:
        answer = session.session().head(url, timeout=_FILE_LIMIT_S, allow_redirects=True)
    except (requests.RequestException, OSError, ValueError):
        return None
    length = answer.headers.get("Content-Length", "")
    return int(length) if answer.ok and length.isdigit() else None


def wheels_of_lock(document: Mapping[str, Any], folder: Path) -> list[Wheel]:
    """Return the wheels that a pylock document (PEP 751) names, the first of each package.

    uv writes the wheels that fit the platform it was asked about, best first. Paths are relative to ``folder``.
    """
    found = []
    for row in document.get("packages", ()):
        files = row.get("wheels") or ([row["archive"]] if "archive" in row else [])
        if not files and "sdist" in row:
            files = [row["sdist"]]
        if not files:
            continue
        best = files[0]
        url = best.get("url") or (folder / str(best.get("path", ""))).absolute().as_uri()
        found.append(
            Wheel(
                name=canonical(str(row["name"])),
                version=str(row.get("version", "")),
                url=url,
                sha256=(best.get("hashes") or {}).get("sha256"),
                size=best.get("size"),
                requires_index=row.get("index"),
            )
        )
    return found


def words(size: int) -> str:
    """Return a size as people say it."""
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{max(1, round(size / 1e6))} MB"
