"""A whole world on the loopback: the replica filled from the shipped catalogue, and the command line run against it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from replica import Replica, StubWheel, publish
from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.catalog.rows import CHOSEN_OFFLINE, UNADVERTISED

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "machines"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
PLATFORM = "linux_x86_64"


def fill(replica: Replica, catalog: Catalog, behaviour, *, unadvertised: bool = False) -> None:
    """Publish what the catalogue says is published for this Python on Linux x86_64.

    ``behaviour`` is what every torch acts out, or a function from a build to that.
    """
    allowed = CHOSEN_OFFLINE | ({UNADVERTISED} if unadvertised else frozenset())
    once: set[tuple[str, str]] = set()
    # Oldest first: a companion on the default index is of the variant that was default when it came out.
    for build in reversed(catalog.builds(PLATFORM)):
        if build.status not in allowed or not _here(build.wheels):
            continue
        row = [(build.torch, build.variant, (TAG,), ("manylinux_2_17_x86_64",))]
        acting = behaviour(build) if callable(behaviour) else behaviour
        publish(replica, row, behaviour=acting, default=build.default)
        for name in catalog.joint[1:]:
            for companion in catalog.companions(name, build):
                if companion.status not in CHOSEN_OFFLINE or (build.default and (name, companion.version) in once):
                    continue
                if build.default:
                    once.add((name, companion.version))
                tag = "py3" if any("py3" in wheel.pythons for wheel in companion.wheels) else TAG
                row = [(companion.version, build.variant, (tag,), ("manylinux_2_17_x86_64",))]
                publish(replica, row, name=name, default=build.default)
    replica.add_default(StubWheel(name="transformers", version="4.60.0", python="py3", platform="any"))


def _here(wheels) -> bool:
    return any(TAG in wheel.pythons for wheel in wheels)


class World:
    """One replica, one folder, one command line."""

    def __init__(self, folder: Path, behaviour=None, *, unadvertised: bool = False) -> None:
        self.folder = folder
        self.replica = Replica()
        self.replica.start()
        fill(self.replica, load_catalog(ROOT / "index_data"), behaviour, unadvertised=unadvertised)
        self.data = folder / "index_data"
        shutil.copytree(ROOT / "index_data", self.data)
        self.point_at(self.replica.index_base)
        self.environ = {
            "TORCHINSTALL_INDEX_DATA": str(self.data),
            "UV_DEFAULT_INDEX": self.replica.default_url,
            "UV_CACHE_DIR": str(folder / "uv-cache"),
            # A new environment has the first Python on PATH, and the replica has wheels for this one.
            "PATH": f"{Path(sys.base_prefix, 'bin')}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        self.venv = folder / "venv"

    def point_at(self, base: str) -> None:
        """Let the data name another server as the PyTorch index."""
        path = self.data / "indexes.json"
        document = json.loads(path.read_text("utf-8"))
        for row in document["indexes"]:
            if row["name"] == "pytorch":
                row["url"] = base
        path.write_text(json.dumps(document), "utf-8")

    def close(self) -> None:
        self.replica.stop()

    def run(self, *words: str, timeout: float = 120, **environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "torchinstall", *words]
        env = {**os.environ, **self.environ, **environ}
        return subprocess.run(
            command, env=env, cwd=self.folder, capture_output=True, text=True, timeout=timeout, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def install(self, machine: str, *words: str, command: str = "", **more) -> subprocess.CompletedProcess[str]:
        """Run an install, or another command on the same environment."""
        first = [command] if command else []
        return self.run(*first, "--venv", str(self.venv), "--sysroot", str(MACHINES / machine), *words, **more)

    def versions(self) -> dict[str, str]:
        """What the packages in the environment say of themselves inside."""
        site = next(self.venv.glob("lib/python*/site-packages"))
        found = {}
        for name in ("torch", "torchvision", "torchaudio"):
            path = site / name / "version.py"
            if path.is_file():
                scope: dict[str, object] = {"Optional": None}
                exec(path.read_text("utf-8").replace(": Optional[str]", ""), scope)
                found[name] = str(scope["__version__"])
        for info in site.glob("*.dist-info"):
            name, _, version = info.name.removesuffix(".dist-info").partition("-")
            found.setdefault(name, version)
        return found


def tree(folder: Path) -> dict[str, bytes | str]:
    """Return every file below a folder with its contents, byte code aside."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if (path.is_symlink() or path.is_file()) and "__pycache__" not in path.parts
    }
