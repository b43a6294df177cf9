"""The one-line script: on a machine with uv, with pipx, with Python alone, with curl alone, with nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replica import Replica, StubWheel

SCRIPT = Path(__file__).parents[2] / "scripts" / "install.sh"
TOOLS = (
    "sh",
    "cat",
    "cksum",
    "tr",
    "mkdir",
    "rm",
    "tail",
    "env",
    "chmod",
    "cp",
    "dirname",
    "readlink",
    "realpath",
    "uname",
)
MAIN = (
    "import sys\ndef run():\n    print('ran', *sys.argv[1:], 'in', sys.prefix)\nif __name__ == '__main__':\n    run()\n"
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a script for sh")


class Host:
    """A machine with few programs, and an index that has a small torchinstall."""

    def __init__(self, folder: Path, replica: Replica) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)
        self.environ = {
            "PATH": str(self.bin), "HOME": str(folder / "home"), "TORCHINSTALL_HOME": str(folder / "tool home"),
            "PIP_INDEX_URL": replica.default_url, "UV_DEFAULT_INDEX": replica.default_url,
            "UV_CACHE_DIR": str(folder / "uv-cache"), "UV_PYTHON": sys.executable, "LC_ALL": "C.UTF-8",
        }  # fmt: skip

    def has(self, name: str, target: str | None = None, *, script: str = "") -> None:
        path = self.bin / name
        if target:
            path.write_text(f'#!/bin/sh\nexec "{target}" "$@"\n')
        else:
            path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run(self, *words: str, piped: bool = False, **environ: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-s", "--", *words] if piped else ["sh", str(SCRIPT), *words]
        return subprocess.run(
            command, env={**self.environ, **environ}, cwd=self.folder, capture_output=True, text=True, check=False,
            timeout=120, input=SCRIPT.read_text("utf-8") if piped else None,
        )  # fmt: skip


@pytest.fixture
def host(tmp_path: Path):
    replica = Replica()
    replica.start()
    entry = (
        "torchinstall-0.9.dist-info/entry_points.txt",
        "[console_scripts]\ntorchinstall = torchinstall.__main__:run\n",
    )
    files = (("torchinstall/__main__.py", MAIN), entry)
    replica.add_default(StubWheel(name="torchinstall", version="0.9", python="py3", platform="any", files=files))
    yield Host(tmp_path, replica)
    replica.stop()


@pytest.mark.parametrize("piped", [False, True])
def test_with_python_alone(host: Host, piped: bool) -> None:
    host.has("python3", sys.executable)
    done = host.run("--venv", "my env", "torch", piped=piped)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ran --venv my env torch in ")
    prefix = Path(done.stdout.strip().split(" in ")[1])
    assert prefix.parent == host.folder / "tool home"
    assert (prefix / "torchinstall-private").is_file(), "so that torchinstall never takes it for somebody's environment"
    again = host.run("verify")
    assert "preparing" not in again.stderr
    assert again.stdout.startswith("ran verify in ")


def test_with_uv(host: Host, uv_binary: str) -> None:
    host.has("uv", uv_binary)
    host.has("python3", script="echo never >&2; exit 1")
    done = host.run("plan", "--gpu", "RTX 4090")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ran plan --gpu RTX 4090 in ")


def test_with_pipx(host: Host) -> None:
    host.has("pipx", script='printf "%s|" "$@"')
    done = host.run("--venv", "my env", TORCHINSTALL_FROM="torchinstall==0.9")
    assert done.stdout == "run|--spec|torchinstall==0.9|torchinstall|--venv|my env|"


def test_with_curl_alone(host: Host) -> None:
    host.has("curl", script='while [ "$1" != -o ]; do url=$1; shift; done; echo "fetched $url" >&2; cp "$FETCHED" "$2"')
    installer = host.folder / "installer.sh"
    uv = '#!/bin/sh\nprintf "%s|" "$@"\n'
    script = f'cat >"$UV_UNMANAGED_INSTALL/uv" <<\'END\'\n{uv}END\nchmod +x "$UV_UNMANAGED_INSTALL/uv"\n'
    installer.write_text(script)
    done = host.run("torch", FETCHED=str(installer), TORCHINSTALL_UV_INSTALLER="https://mirror.example/uv.sh")
    assert done.returncode == 0, done.stderr
    assert "fetched https://mirror.example/uv.sh" in done.stderr
    assert done.stdout == "tool|run|--from|torchinstall|torchinstall|torch|"


def test_a_python_that_is_too_old_or_cannot_make_environments(host: Host) -> None:
    host.has(
        "python3",
        script='case "$*" in *version_info*) exit 0;; *"-m venv"*) echo no ensurepip; exit 1;; *) echo 3.12;; esac',
    )
    done = host.run("torch")
    assert done.returncode == 7
    assert "no ensurepip" in done.stderr
    assert "neither curl nor wget" in done.stderr
    assert not [path for path in (host.folder / "tool home").glob("one-line-*") if path.is_dir()]


def test_with_nothing(host: Host) -> None:
    done = host.run("torch")
    assert done.returncode == 7
    assert "install Python" in done.stderr


def test_half_a_download_runs_nothing(host: Host) -> None:
    host.has("uv", script="echo ran")
    text = SCRIPT.read_text("utf-8")
    for part in (0.3, 0.6, 0.9):
        half = text[: int(len(text) * part)]
        done = subprocess.run(["sh", "-s"], input=half, env=host.environ, capture_output=True, text=True, check=False)
        assert "ran" not in done.stdout


def test_both_scripts_know_the_same_variables() -> None:
    import re

    names = [
        set(re.findall(r"TORCHINSTALL_[A-Z_]+", SCRIPT.with_suffix(suffix).read_text("utf-8")))
        for suffix in (".sh", ".ps1")
    ]
    assert names[0] == names[1]
