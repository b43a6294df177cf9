"""A world on the loopback, and environments that other tools fill from exported files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from world import World

UV = str(Path(sys.executable).with_name("uv"))


class Place:
    """A world, and environments in it that other tools fill from exported files."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.folder = folder
        self.environ = {"UV_DEFAULT_INDEX": self.world.replica.default_url, "UV_CACHE_DIR": str(folder / "uv-cache")}

    def export(self, kind: str, *words: str, code: int = 0) -> str:
        done = self.world.run("export", "--format", kind, "--python", sys.executable, *words)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr if code else done.stdout

    def environment(self, name: str) -> Path:
        path = self.folder / name
        self.tool(UV, "venv", "-q", "--clear", "--python", sys.executable, str(path))
        return path

    def tool(self, *words: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        import os

        env = {**os.environ, **self.environ, **environ}
        done = subprocess.run(
            words, env=env, cwd=cwd or self.folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, " ".join(words) + "\n" + done.stdout + done.stderr
        return done

    def pip(self, environment: Path, *words: str) -> None:
        python = str(environment / "bin" / "python")
        self.tool(
            sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-cache-dir",
            "--disable-pip-version-check", "--index-url", self.world.replica.default_url, *words,
        )  # fmt: skip

    def uv(self, environment: Path, *words: str) -> None:
        self.tool(UV, "pip", "install", "-q", "--python", str(environment), *words)

    def family(self, environment: Path) -> dict[str, str]:
        """What the packages in an environment say of themselves inside."""
        self.world.venv = environment
        found = self.world.versions()
        return {name: found[name] for name in ("torch", "torchvision", "torchaudio", "transformers") if name in found}
