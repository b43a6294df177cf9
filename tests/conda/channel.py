"""A conda channel on disk with two small packages that are real enough: a Python, and the pip of this environment."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

SUBDIR = "linux-64"
VERSION = ".".join(map(str, sys.version_info[:3]))
SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def make(channel: Path) -> None:
    """Write the packages; the index is made by rattler."""
    base = Path(sys.base_prefix)
    real = base / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    # With a pyvenv.cfg the link to this machine's Python has the conda prefix as its own.
    files: dict[str, bytes | str] = {
        "pyvenv.cfg": f"home = {base / 'bin'}\ninclude-system-site-packages = false\nversion = {VERSION}\n".encode(),
        "bin/python": str(real),
        "bin/python3": str(real),
        f"{SITE}/README.txt": b"Site packages.\n",
    }
    write(channel, "python", VERSION, files)
    import pip

    folder = Path(pip.__file__).parent
    inside = {
        f"{SITE}/pip/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    write(channel, "pip", pip.__version__, inside, depends=("python",))


def write(channel: Path, name: str, version: str, files: dict[str, bytes | str], depends: tuple[str, ...] = ()) -> Path:
    """Write one package; a file that is a string is a link there."""
    index = {
        "name": name, "version": version, "build": "0", "build_number": 0, "depends": list(depends), "subdir": SUBDIR,
        "arch": "x86_64", "platform": "linux", "license": "test", "timestamp": 1_700_000_000_000,
    }  # fmt: skip
    paths = []
    for path, content in files.items():
        entry: dict[str, object] = {"_path": path, "path_type": "softlink" if isinstance(content, str) else "hardlink"}
        data = Path(content).read_bytes() if isinstance(content, str) else content
        entry |= {"sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
        paths.append(entry)
    info = {
        "info/index.json": json.dumps(index).encode(),
        "info/files": "".join(f"{path}\n" for path in files).encode(),
        "info/paths.json": json.dumps({"paths_version": 1, "paths": paths}).encode(),
    }
    target = channel / SUBDIR / f"{name}-{version}-0.tar.bz2"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w:bz2", compresslevel=1) as archive:
        for path, content in {**info, **files}.items():
            member = tarfile.TarInfo(path)
            member.mode = 0o755 if path.startswith("bin/") else 0o644
            member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "1700000000"))
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return target
