"""Whole answers in Chinese: no English sentence is left in them but what tools have written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchinstall.cli.main import main

MACHINES = Path(__file__).resolve().parents[1] / "machines"
CLOSED = str(MACHINES / "rtx5090-closed-no-devices")
SENTENCE = re.compile(r"(?<![\w/.`-])(?:[a-z']{2,}[ ,;:]+){3,}[a-z']{2,}(?![\w/-])")
COMMAND = re.compile(
    r"^ *(?:torchinstall|uv|pip|python|sudo|docker|unset|export|source|rm|mv|set) .*$|`[^`]*`", re.MULTILINE
)
OUTPUT = re.compile(r"^输出 .*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def english(text: str) -> list[str]:
    """Return the English sentences in a text, tools' output and commands left out."""
    return SENTENCE.findall(COMMAND.sub("", OUTPUT.sub("", text)))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Return a function that runs a command in an empty folder, and returns what it has said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCHINSTALL_LANG", "")  # what --lang sets there is taken back

    def run(*words: str) -> str:
        main(words)
        said = capsys.readouterr()
        return said.out + said.err

    return run


def test_the_check_sees_english() -> None:
    assert english("错误 the file can't be read here")
    assert not english("处理 torchinstall plan\n          uv pip install torch torchvision and others\n")
    assert not english(
        "错误      无法读取\n输出      error: no such thing was found\n          anywhere in all of this\n"
    )


@pytest.mark.parametrize("machine", sorted(path.name for path in MACHINES.iterdir() if path.is_dir()))
def test_a_diagnosis_and_a_plan(told, machine: str) -> None:
    said = told("doctor", "--lang", "zh", "--offline", "--sysroot", str(MACHINES / machine))
    assert CHINESE.search(said)
    assert not english(said), said
    said = told("plan", "--lang", "zh", "--offline", "--sysroot", str(MACHINES / machine))
    assert CHINESE.search(said)
    assert not english(re.sub(r"以及 .*", "", said)), said  # names of packages


@pytest.mark.parametrize(
    "words",
    [
        ("--python", "nope"),
        ("--frobnicate",),
        ("--variant",),
        ("plan", "--machine", "nofile"),
        ("plan", "--gpu", "RTX 40"),
        ("plan", "--gpu", "none", "--gpu", "H100"),
        ("plan", "--driver", "old"),
        ("plan", "--cpu", "--variant", "cu130"),
        ("plan", "torch @ file:///x"),
        ("plan", "-r", "nofile.txt"),
        ("instal", "torch"),
        ("verify",),
        ("verify", "--venv", "nowhere"),
        ("restore",),
        ("doctor", "--report", "nofile"),
        ("export", "--check"),
        ("bundle", "--offline", "d"),
        ("install", "--from", "d"),
        ("catalog", "show", "nothing"),
        ("catalog", "refresh", "--offline"),
        ("advise", "--to", "99", "--gpu", "H100", "--offline"),
        ("explain", "xyz"),
        ("detect", "--sysroot", "nowhere"),
        ("--mirror", "ftp://x", "--gpu", "H100"),
    ],
    ids=" ".join,
)
def test_an_error(told, words: tuple[str, ...]) -> None:
    said = told(*words, "--lang", "zh")
    assert CHINESE.search(said), said
    assert not english(said), said


def test_verify_without_torch(told, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    said = told("verify", "--lang", "zh", "--venv", "v")
    assert "没有安装 torch" in said
    assert not english(said)


def test_an_install_that_fails(told, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    words = ("--offline", "--venv", "v", "--yes", "--cpu", "no-such-package-anywhere")
    said = told(*words, "--lang", "zh")
    assert CHINESE.search(said)
    assert not english(said), said


def test_json_stays_english(told) -> None:
    said = told(
        "doctor", "--json", "--lang", "zh", "--offline", "--sysroot", str(MACHINES / "rtx5090-closed-no-devices")
    )
    assert all(ord(letter) < 128 for letter in said)
    assert not CHINESE.search(json.dumps(json.loads(said), ensure_ascii=False))
    error = json.loads(told("plan", "--json", "--machine", "nofile", "--lang", "zh"))
    assert error["error"]["what"] == "the machine file nofile can't be read"


def test_the_locale_counts_for_errors_of_arguments_too(told, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "无法识别的参数：--frobnicate" in told("--frobnicate")
    assert "unrecognized arguments: --frobnicate" in told("--frobnicate", "--lang=en")


def test_wide_letters_count_twice_when_lines_are_wrapped(told, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchinstall.output.wrap import columns

    monkeypatch.setenv("COLUMNS", "60")
    said = told("doctor", "--lang", "zh", "--offline", "--sysroot", CLOSED)
    assert max(map(columns, said.splitlines())) <= 61  # a closing mark may hang over
