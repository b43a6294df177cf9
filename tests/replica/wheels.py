"""Stub wheels: valid by every rule that an installer checks, and a few kilobytes small."""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import io
import random
import re
import zipfile
from typing import TYPE_CHECKING

from replica.stubs import Behaviour, package_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EPOCH = (2020, 1, 1, 0, 0, 0)


def normalised(name: str) -> str:
    """Return a project name as indexes spell it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclasses.dataclass(frozen=True)
class StubWheel:
    """One wheel, built when its bytes or its hash are first asked for; the same fields give the same bytes.

    ``version`` is that of name and metadata. ``variant`` is what the package inside says of itself; without
    one it is the local part of the version. ``python``: cp311, cp313t, py3. ``filler`` adds so many bytes.
    """

    name: str
    version: str
    python: str = "cp311"
    platform: str = "manylinux_2_28_x86_64"
    requires: tuple[str, ...] = ()
    variant: str | None = None
    behaviour: Behaviour | str | None = None
    requires_python: str | None = None
    yanked: str | None = None
    extras: tuple[str, ...] = ()
    filler: int = 0
    files: tuple[tuple[str, str], ...] = ()

    @property
    def project(self) -> str:
        return normalised(self.name)

    @property
    def stem(self) -> str:
        return f"{re.sub(r'[-.]', '_', self.name)}-{self.version}"

    @property
    def tag(self) -> str:
        if not self.python.startswith("cp"):
            return f"{self.python}-none-{self.platform}"
        return f"{self.python.rstrip('t')}-{self.python}-{self.platform}"

    @property
    def filename(self) -> str:
        return f"{self.stem}-{self.tag}.whl"

    @property
    def metadata(self) -> bytes:
        """The METADATA file, which the index also serves beside the wheel (PEP 658)."""
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}", "Summary: A stub"]
        if self.requires_python:
            lines.append(f"Requires-Python: {self.requires_python}")
        lines += [f"Requires-Dist: {requirement}" for requirement in self.requires]
        lines += [f"Provides-Extra: {extra}" for extra in self.extras]
        return ("\n".join(lines) + "\n\nA stub for tests.\n").encode()

    @functools.cached_property
    def content(self) -> bytes:
        """The wheel itself."""
        return build(self)

    @functools.cached_property
    def _identity(self) -> tuple[str, int]:
        content = self.__dict__.get("content") or build(self)
        return hashlib.sha256(content).hexdigest(), len(content)

    @property
    def sha256(self) -> str:
        """The hash; the bytes aren't kept for it, so that a page of a thousand wheels stays small."""
        return self._identity[0]

    @property
    def size(self) -> int:
        return self._identity[1]

    @property
    def metadata_sha256(self) -> str:
        return hashlib.sha256(self.metadata).hexdigest()


def wheel_files(wheel: StubWheel) -> Mapping[str, bytes]:
    """Return every file of the wheel but RECORD, by path."""
    variant = wheel.variant or (wheel.version.split("+", 1)[1] if "+" in wheel.version else None)
    files = package_files(wheel.name, wheel.version, variant, wheel.behaviour)
    files.update({path: text.encode() for path, text in wheel.files})
    if wheel.filler:
        module = re.sub(r"[-.]", "_", wheel.name)
        files[f"{module}/filler.bin"] = random.Random(wheel.filler).randbytes(wheel.filler)
    info = f"{wheel.stem}.dist-info"
    pure = "true" if wheel.platform == "any" else "false"
    python, abi, platforms = wheel.tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    files[f"{info}/METADATA"] = wheel.metadata
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: {pure}\n{tags}".encode()
    return files


def build(wheel: StubWheel) -> bytes:
    """Return the bytes of the wheel, the same ones for the same fields on every machine."""
    files = dict(wheel_files(wheel))
    record = f"{wheel.stem}.dist-info/RECORD"
    lines = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in files.items()]
    files[record] = ("\n".join([*lines, f"{record},,"]) + "\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def install(wheel: StubWheel, site_packages: Path) -> None:
    """Put the wheel into an environment as an installer would (quick, for tests of other rooms)."""
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        archive.extractall(site_packages)


@functools.lru_cache(maxsize=512)
def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
