"""Images built from the repository's Dockerfile by buildah, on a root filesystem that debootstrap makes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "scripts" / "docker"
SUITE, PYTHON = "bookworm", "3.11"
PACKAGES = "python3,python3-venv"
READY = "TORCHINSTALL_TEST_ROOTFS"
"""Names a folder with such a root filesystem, so that it isn't made anew for each run."""

_DEAD_WEIGHT = (
    "usr/share/doc", "usr/share/locale", "usr/share/man", "usr/share/zoneinfo", "var/cache/apt", "var/lib/apt/lists",
)  # fmt: skip


def missing() -> str:
    """Return what this machine lacks for building images, in words; ``""`` for nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "building images needs root on Linux"
    tools = [tool for tool in ("buildah", "debootstrap") if shutil.which(tool) is None]
    return f"not installed: {', '.join(tools)} (both are in apt)" if tools else ""


def wheelhouse(folder: Path, environ: dict[str, str]) -> Path:
    """Fill a folder with the wheel of this checkout and all that it requires."""
    uv = str(Path(sys.executable).with_name("uv"))
    words = [uv, "build", "--wheel", "--quiet", "--no-build-isolation", "--python", sys.executable]
    _run([*words, "--out-dir", str(folder), str(ROOT)], environ)
    own = next(folder.glob("torchinstall-*.whl"))
    # Found ready here, and so without a network, where the machine has a folder of wheels; else downloaded.
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--python-version", PYTHON]
    _run([*words, "--dest", str(folder), str(own)], environ)
    return folder


class Builder:
    """A store of images in a folder; ``close`` removes all of it."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        self.folder = folder
        self.wheels = wheels
        self._buildah = self._with("overlay")
        # Inside a container, or on an overlay already, only the driver that copies works; it takes minutes longer.
        if self.call("info", check=False).returncode != 0:
            self._buildah = self._with("vfs")

    def _with(self, driver: str) -> list[str]:
        store = self.folder / driver
        return ["buildah", "--storage-driver", driver, "--root", str(store / "store"), "--runroot", str(store / "run")]

    def make_base(self, tag: str) -> None:
        """Make the base image: Debian with Python, as small as it gets, since each step copies it."""
        ready = os.environ.get(READY)
        root = Path(ready) if ready else self.folder / "root"
        if not ready:
            _run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root)], dict(os.environ))
            for name in _DEAD_WEIGHT:
                shutil.rmtree(root / name, ignore_errors=True)
        container = self.call("from", "scratch").stdout.strip()
        self.call("copy", "--quiet", container, f"{root}/", "/")
        self.call("commit", "--quiet", "--rm", container, tag)

    def build(
        self, tag: str, base: str, *, file: Path = DOCKER / "Dockerfile", **arguments: str
    ) -> subprocess.CompletedProcess[str]:
        """Build the example, or another file; the exit code is that of the step that failed."""
        arguments = {
            "BASE": base,
            "TORCHINSTALL": "--no-index --find-links /wheelhouse torchinstall",
            **arguments,
        }
        words = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        volume = f"{self.wheels}:/wheelhouse:ro"
        words += ["--file", str(file), str(DOCKER)]
        return self.call("bud", "--isolation", "chroot", "--volume", volume, "--tag", tag, *words, check=False)

    def run(self, image: str, script: str) -> subprocess.CompletedProcess[str]:
        """Run a shell script in a container of an image, as in the image itself: no variables of a build."""
        container = self.call("from", image).stdout.strip()
        try:
            return self.call("run", "--isolation", "chroot", container, "--", "sh", "-c", script, check=False)
        finally:
            self.call("rm", container)

    def call(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self._buildah, *words], capture_output=True, text=True, check=False, timeout=280, stdin=subprocess.DEVNULL
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def close(self) -> None:
        # The store has mount points of its own, which only buildah lets go of.
        self.call("rm", "--all", check=False)
        self.call("rmi", "--all", "--force", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def _run(words: list[str], environ: dict[str, str]) -> None:
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, f"{words[0]}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
