"""A bundle: every wheel of a plan in a folder, with a manifest of hashes, for machines without a network.

The folder holds ``wheels/``, ``manifest.json``, ``requirements.txt`` (all
pinned, with hashes, so that plain pip can read it) and ``install.py``, which
needs nothing but Python. The manifest is written last: a folder without one is
a bundle that isn't finished, and making it again goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json

from torchinstall.errors import IndexUnreachableError, InstallError, TargetError, UsageError
from torchinstall.index.location import local_path, redact
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from torchinstall.index.http import Client

SCHEMA = 1
MANIFEST = "manifest.json"
WHEELS = "wheels"
REQUIREMENTS = "requirements.txt"
SCRIPT = "install.py"

_CHUNK = 1 << 16
_TRIES = 4
_PARTIAL = 206
_BEHIND_THE_END = 416
_TIMEOUT = (5.0, 30.0)


class BundleFile(Value):
    """One wheel. ``size`` in bytes; ``url`` is where it is taken from and isn't kept in the manifest."""

    name: str
    version: str
    filename: str
    sha256: str | None = None
    size: int | None = None
    url: str = ""


class Manifest(Value):
    """What a bundle holds. ``python`` such as 3.11, ``platform`` such as linux_x86_64, ``glibc`` the lowest one."""

    made: str
    torch: str
    variant: str
    python: str
    platform: str
    glibc: str | None
    catalog: str
    requirements: tuple[str, ...]
    files: tuple[BundleFile, ...]
    plan: Mapping[str, Any]


def fill(
    folder: Path, files: Iterable[BundleFile], session: Client, told: Callable[[str], None]
) -> tuple[BundleFile, ...]:
    """Download what isn't there yet, whole and with the right hash; return the files with hash and size.

    A download that breaks off goes on where it stopped. Raises ``IndexUnreachableError`` where a server doesn't
    answer, ``InstallError`` for a file of another hash, ``TargetError`` where the folder can't be written.
    """
    wheels = folder / WHEELS
    try:
        wheels.mkdir(parents=True, exist_ok=True)
        return tuple(_one(wheels, file, session, told) for file in files)
    except OSError as error:
        raise TargetError(
            f"the bundle {folder} can't be written",
            why=f"{error.filename or folder}: {error.strerror or error}",
            todo=["make room or give permission there; what is there already is used again"],
        ) from error


def finish(folder: Path, manifest: Mapping[str, Any], files: Sequence[BundleFile], tool: str) -> None:
    """Write requirements, script and, last and in one step, the manifest; remove wheels that it doesn't name."""
    names = {file.filename for file in files}
    for path in (folder / WHEELS).iterdir():
        if path.name not in names:
            path.unlink()
    lines = [f"{file.name}=={file.version} --hash=sha256:{file.sha256}\n" for file in files]
    (folder / REQUIREMENTS).write_text("".join(lines), "utf-8")
    (folder / SCRIPT).write_text(tool, "utf-8")
    document = {
        "schema": SCHEMA,
        **manifest,
        "files": [
            {
                "name": file.name,
                "version": file.version,
                "filename": file.filename,
                "sha256": file.sha256,
                "size": file.size,
            }
            for file in files
        ],
    }
    part = folder / f"{MANIFEST}.part"
    part.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    part.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> Manifest:
    """Return what a bundle says that it holds. Raises ``UsageError`` where it isn't a finished bundle."""
    try:
        data = json.loads((folder / MANIFEST).read_text("utf-8"))
        if data["schema"] != SCHEMA:
            raise UsageError(
                f"{folder} is a bundle of schema {data['schema']!r}",
                why=f"this torchinstall reads schema {SCHEMA}",
                todo=["make the bundle with the same torchinstall"],
            )
        return Manifest(
            made=str(data["made"]),
            torch=str(data["torch"]),
            variant=str(data["variant"]),
            python=str(data["python"]),
            platform=str(data["platform"]),
            glibc=data.get("glibc"),
            catalog=str(data["catalog"]),
            requirements=tuple(map(str, data["requirements"])),
            files=tuple(
                BundleFile(
                    name=str(row["name"]),
                    version=str(row["version"]),
                    filename=_plain(str(row["filename"])),
                    sha256=str(row["sha256"]),
                    size=int(row["size"]),
                )
                for row in data["files"]
            ),
            plan=data["plan"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder} isn't a finished bundle",
            why=f"its {MANIFEST} can't be used: {error}",
            todo=["make it with: torchinstall bundle DIR", "a bundle that was stopped goes on with the same call"],
        ) from None


def check(folder: Path, manifest: Manifest) -> None:
    """Read every file of a bundle and compare. Raises ``InstallError`` for one that is missing or another."""
    for file in manifest.files:
        path = folder / WHEELS / file.filename
        found = _sha256(path)
        if found != file.sha256:
            raise InstallError(
                f"{path} {'is missing' if found is None else 'is not the file that was bundled'}",
                why="a part of the bundle was lost, or changed on its way",
                todo=["copy the bundle again, or make it anew: torchinstall bundle DIR"],
            )


def _plain(filename: str) -> str:
    if not filename or filename in {".", ".."} or set(filename) & set("/\\:"):
        raise ValueError(f"{filename!r} isn't the name of a file")
    return filename


def _one(wheels: Path, file: BundleFile, session: Client, told: Callable[[str], None]) -> BundleFile:
    path = wheels / _plain(file.filename)
    if path.is_file() and (found := _sha256(path)) is not None and found == (file.sha256 or found):
        return file.replace(sha256=found, size=path.stat().st_size)
    told(file.filename)
    part = path.with_name(f"{path.name}.part")
    source = local_path(file.url)
    if source is not None:
        import shutil

        shutil.copyfile(source, part)
    else:
        _download(file, part, session)
    found = _sha256(part)
    if file.sha256 is not None and found != file.sha256:
        part.unlink()
        raise InstallError(
            f"{file.filename} isn't the file that was expected: its hash differs",
            why=f"expected was {file.sha256}, and {redact(file.url)} gave {found}",
            todo=["try again; if it fails again, don't take it from this source"],
        )
    part.replace(path)
    return file.replace(sha256=found, size=path.stat().st_size)


def _download(file: BundleFile, part: Path, session: Client) -> None:
    import time

    import requests

    error: Exception | None = None
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(0.3 * attempt)
        try:
            if _once(file, part, session):
                return
            error = None
        except (requests.RequestException, ValueError) as failure:
            error = failure
    raise IndexUnreachableError(
        f"{file.filename} couldn't be downloaded",
        why=redact(str(error)) if error else f"{redact(file.url)} breaks off every time",
        todo=["the same call goes on where this one stopped", "--mirror takes the torch family from another server"],
    )


def _once(file: BundleFile, part: Path, session: Client) -> bool:
    """Read on from what is there; tell whether the file is complete."""
    have = part.stat().st_size if part.exists() else 0
    if file.size is not None and have > file.size:
        part.unlink()
        have = 0
    if file.size is not None and have == file.size:
        return True
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with session.session().get(file.url, headers=headers, timeout=_TIMEOUT, stream=True) as answer:
        if have and answer.status_code == _BEHIND_THE_END:
            return True  # all of it is there; the hash tells
        answer.raise_for_status()
        going_on = have > 0 and answer.status_code == _PARTIAL
        before = have if going_on else 0
        announced = answer.headers.get("Content-Length", "")
        with part.open("ab" if going_on else "wb") as out:
            for chunk in answer.iter_content(_CHUNK):
                out.write(chunk)
            size = out.tell()
    wanted = before + int(announced) if announced.isdigit() else file.size
    return wanted is None or size >= wanted


def _sha256(path: Path) -> str | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()
