"""What a plan may import, and how much it may do: start-up is a feature, and counted, not timed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchinstall.catalog.load import load_catalog
from torchinstall.catalog.prepare import FILE, prepare

ROOT = Path(__file__).resolve().parent.parent
SITE = next(path for path in sys.path if path.endswith("site-packages"))
MACHINE = {
    "schema": 1,
    "os": {"name": "linux", "glibc": "2.35"},
    "arch": "x86_64",
    "python": {"version": "3.12.4"},
    "gpus": [{"vendor": "nvidia", "name": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9"}],
    "drivers": {"nvidia": {"version": "580.95.05", "state": "ok"}},
}
HEAVY = {
    "asyncio", "concurrent", "configparser", "contextlib", "ctypes", "dataclasses", "email", "filelock", "http",
    "importlib.metadata", "importlib.resources", "inspect", "logging", "packaging", "pathlib", "platform",
    "platformdirs", "pydantic", "pypi_simple", "requests", "resolvelib", "rich", "socket", "ssl", "subprocess",
    "tempfile", "threading", "tomlkit", "tomllib", "typing", "typing_extensions", "urllib", "urllib3",
    "torchinstall.index.http", "torchinstall.probe", "torchinstall.verify", "torchinstall.diagnose",
    "torchinstall.catalog.parse_releases", "torchinstall.catalog.backend_rows", "torchinstall.catalog.names",
}  # fmt: skip
MOST_MODULES = 140
"""After a plan, the interpreter's own forty included; 128 when this was written."""
MOST_INSTRUCTIONS = 6.5 if sys.version_info >= (3, 11) else 7.5
"""A plan in units of bare Python (both without site), counted by cachegrind; 5.7 when this was written.

A bare Python 3.10 takes a quarter less than a 3.11, and a plan no less.
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package as a wheel has it: data inside, prepared."""
    folder = tmp_path_factory.mktemp("installed")
    package = folder / "torchinstall"
    shutil.copytree(ROOT / "src" / "torchinstall", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "index_data", package / "_index_data")
    data = package / "_index_data"
    (data / FILE).write_bytes(prepare(load_catalog(data), str(data)))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(package)], check=True)
    return folder


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(MACHINE), "utf-8")
    return path


def modules_after(installed: Path, *words: str) -> set[str]:
    """Return the modules that are loaded when a command has been answered."""
    code = (
        f"import sys; sys.path[:0] = [{str(installed)!r}, {SITE!r}]; from torchinstall.cli.main import main; "
        f"code = main({list(words)!r}); sys.stderr.write('LOADED ' + ' '.join(sys.modules)); sys.exit(code)"
    )
    # Without site: what path files of the test environment import is nobody's fault here.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("LOADED ")[2].split())


def heavy(loaded: set[str]) -> set[str]:
    return {name for name in loaded if any(name == part or name.startswith(f"{part}.") for part in HEAVY)}


def test_the_version_imports_nothing(installed: Path) -> None:
    loaded = modules_after(installed, "--version")
    assert "argparse" not in loaded
    assert "re" not in loaded
    assert not heavy(loaded)


@pytest.mark.parametrize("form", [("--json",), ()], ids=["json", "text"])
def test_a_plan_for_a_machine_from_a_file_stays_light(installed: Path, machine: Path, form: tuple[str, ...]) -> None:
    loaded = modules_after(installed, "plan", "--offline", "--machine", str(machine), *form)
    assert "torchinstall.resolve.resolve" in loaded
    assert heavy(loaded) == set()
    assert len(loaded) <= MOST_MODULES


def test_the_other_language_is_read_only_where_it_is_spoken(installed: Path, machine: Path) -> None:
    words = ("plan", "--offline", "--machine", str(machine))
    other = {"torchinstall.output.messages", "torchinstall.output.phrases_zh", "torchinstall.model.sentences_zh"}
    assert not other & modules_after(installed, *words, "--lang", "en")
    assert other <= modules_after(installed, *words, "--lang", "zh")


def test_the_guard_sees_what_is_heavy(installed: Path) -> None:
    """The same guard must fail for a command that really needs more."""
    loaded = modules_after(installed, "catalog", "show", "--json")
    assert heavy(loaded)


def test_companions_are_chosen_without_the_network_stack(installed: Path, machine: Path) -> None:
    words = ("plan", "--offline", "--json", "--machine", str(machine), "torch", "torchvision", "torchaudio")
    found = heavy(modules_after(installed, *words))
    assert {name.partition(".")[0] for name in found} <= {"contextlib", "resolvelib", "typing"}


def test_nothing_of_a_plan_needs_byte_code_that_is_written_later(installed: Path, machine: Path) -> None:
    """On a read-only disk the answer is the same, and nothing is tried to be written beside the package."""
    before = set(installed.rglob("*"))
    plain = subprocess.run(
        [sys.executable, "-B", "-m", "torchinstall", "plan", "--offline", "--json", "--machine", str(machine)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert json.loads(plain.stdout)["outcome"] == "install"
    assert set(installed.rglob("*")) == before


def started(installed: Path, before: str, words: list[str], **streams: object) -> subprocess.CompletedProcess[str]:
    """Run the console script's function after some code."""
    code = (
        f"import sys; sys.path[:0] = [{str(installed)!r}, {SITE!r}]; {before}; "
        f"sys.argv = {['torchinstall', *words]!r}; from torchinstall.__main__ import run; run()"
    )
    return subprocess.run([sys.executable, "-I", "-c", code], text=True, check=False, **streams)  # type: ignore[call-overload,no-any-return]


def test_what_is_registered_for_the_end_is_run(installed: Path) -> None:
    """The console script ends at once, but nothing that was promised is left out."""
    before = "import atexit; atexit.register(print, 'at the end')"
    done = started(installed, before, ["--version"], capture_output=True)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "at the end"


@pytest.mark.parametrize("words", [["--version"], ["plan", "--gpu", "nothing-of-this-name"]])
def test_the_exit_code_is_the_commands(installed: Path, words: list[str]) -> None:
    done = started(installed, "pass", words, capture_output=True)
    assert done.returncode == (0 if words == ["--version"] else 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told(installed: Path, machine: Path) -> None:
    with Path("/dev/full").open("w") as full:
        words = ["plan", "--offline", "--json", "--machine", str(machine)]
        done = started(installed, "pass", words, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 7
    assert "can't be written" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind isn't here")
def test_a_plan_takes_few_instructions(installed: Path, machine: Path, tmp_path: Path) -> None:
    start = f"import sys; sys.path[:0] = [{str(installed)!r}, {SITE!r}]; "
    words = ["torchinstall", "plan", "--offline", "--json", "--machine", str(machine)]
    plan = start + f"sys.argv = {words!r}; from torchinstall.__main__ import run; run()"
    bare, planned = (_instructions(code, tmp_path) for code in ("pass", plan))
    assert planned / bare <= MOST_INSTRUCTIONS, f"{planned / 1e6:.0f} M against {bare / 1e6:.0f} M of bare Python"


def _instructions(code: str, folder: Path) -> int:
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={folder / 'out'}"]
    done = subprocess.run(
        [*tool, sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))
