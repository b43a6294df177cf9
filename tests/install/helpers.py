"""Environments made by the real uv, jobs for them, and what is in them afterwards."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from torchinstall.install.backend import Job
from torchinstall.install.settings import read_settings
from torchinstall.install.target import Target
from torchinstall.install.trees import STATE_DIR
from torchinstall.install.uv import Uv
from torchinstall.model.plan import CatalogInfo, Pin, Plan

ROOT = Path(__file__).resolve().parents[2]
INDEX_DATA = ROOT / "index_data"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
LINUX = ("manylinux_2_17_x86_64",)


def make_target(prefix: Path, uv_binary: str, **fields) -> Target:
    subprocess.run([uv_binary, "venv", "-q", "--python", sys.executable, str(prefix)], check=True)
    return target_at(prefix, **fields)


def target_at(prefix: Path, **fields) -> Target:
    site = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    return Target(
        python=str(prefix / "bin" / "python"),
        prefix=str(prefix),
        origin="test",
        purelib=str(site),
        platlib=str(site),
        scripts=str(prefix / "bin"),
        **fields,
    )


def pin(name: str, version: str, index: str, **fields) -> Pin:
    return Pin(name=name, version=version, index=index, **fields)


def job(target: Target, *pins: Pin, others=(), cwd: Path | None = None, **fields) -> Job:
    where = cwd or Path(target.prefix).parent
    return Job(
        plan=Plan(outcome="install", packages=pins, others=tuple(others), catalog=CatalogInfo(date="2026-11-30")),
        target=target,
        settings=fields.pop("settings", None) or read_settings(os.environ, cwd=where, root=where / "no-system"),
        cwd=where,
        **fields,
    )


def uv() -> Uv:
    return Uv(dict(os.environ), index_data=INDEX_DATA)


def site(target: Target) -> Path:
    return Path(target.purelib)


def versions(target: Target) -> dict[str, str]:
    """What metadata says is installed."""
    found = {}
    for info in site(target).glob("*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").partition("-")
        found[name] = version
    return found


def inner_variant(target: Target) -> str:
    """What torch/version.py says."""
    scope: dict[str, str] = {}
    exec((site(target) / "torch" / "version.py").read_text(), scope)
    return scope["__version__"]


def contents(prefix: Path) -> dict[str, tuple[str, int, str]]:
    """Every file and folder of an environment: kind, mode, hash or link target."""
    found = {}
    for folder, folders, files in os.walk(prefix):
        folders[:] = [name for name in folders if name not in {"__pycache__", STATE_DIR}]
        for name in [*folders, *files]:
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if path.is_symlink():
                found[str(path)] = ("link", mode, str(path.readlink()))
            elif path.is_dir():
                found[str(path)] = ("folder", mode, "")
            else:
                found[str(path)] = ("file", mode, hashlib.sha256(path.read_bytes()).hexdigest())
    return found
