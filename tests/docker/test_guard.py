"""The guard before an image's program: it proves first, and says how it was told to go on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

DOCKER = Path(__file__).resolve().parents[2] / "scripts" / "docker"


def guard(tmp_path: Path, code: int, *, setting: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the guard with a torchinstall that ends so."""
    tool = tmp_path / "torchinstall"
    tool.write_text(f'#!/bin/sh\necho "asked: $*"\nexit {code}\n', "utf-8")
    tool.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    if setting is not None:
        env["TORCHINSTALL_GUARD"] = setting
    words = ["sh", str(DOCKER / "entrypoint.sh"), "echo", "a  b", "*"]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)


@pytest.mark.parametrize(
    ("code", "setting", "ends", "starts"),
    [
        (0, None, 0, True),
        (6, None, 6, False),
        (9, "strict", 9, False),
        (9, "warn", 0, True),
        (6, "off", 0, True),
        (0, "perhaps", 2, False),
    ],
)
def test_the_program_starts_only_on_proof(
    tmp_path: Path, code: int, setting: str | None, ends: int, starts: bool
) -> None:
    done = guard(tmp_path, code, setting=setting)
    assert done.returncode == ends
    # Words of the command stay whole, and what the proof prints isn't the program's output.
    assert done.stdout == ("a  b *\n" if starts else "")


def test_the_proof_is_asked_for_unless_it_is_off(tmp_path: Path) -> None:
    assert "asked: verify" in guard(tmp_path, 0).stderr
    assert "asked" not in guard(tmp_path, 0, setting="off").stderr


def test_no_secret_default_hides_in_the_dockerfile() -> None:
    """What the image is for has no default: who says nothing gets exit code 4, not somebody's card."""
    lines = (DOCKER / "Dockerfile").read_text("utf-8").splitlines()
    for name in ("GPU", "DRIVER", "VARIANT", "CPU", "MIRROR"):
        assert f"ARG TORCHINSTALL_{name}" in lines
