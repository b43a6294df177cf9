"""The documentation: its commands are commands, its links lead somewhere, its matrix is what the data says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from torchinstall.cli.parser import parse

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
_INLINE = re.compile(r"`((?:TORCHINSTALL_\w+=\S+ )?torchinstall [^`]+)`")


def commands(text: str) -> list[str]:
    """Every command of ours in code, in blocks and in lines."""
    found = []
    for block in re.findall(r"```(?:sh|console|dockerfile|bash)\n(.*?)```", text, re.DOTALL):
        joined = block.replace("\\\n", " ")
        found += [line.strip().removeprefix("$ ") for line in joined.splitlines()]
    found += _INLINE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    words = [re.split(r"\s#\s|\s&&\s|\s\|\s", line)[0] for line in found]
    return [line for line in words if re.match(r"(?:RUN )?(?:\S+/)?torchinstall\s", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_command_is_one(page: Path) -> None:
    for line in commands(page.read_text("utf-8")):
        if "..." in line or "[" in line or "COMMAND" in line or "|" in line:
            continue
        words = shlex.split(line.removeprefix("RUN "))[1:]
        if "--help" in words or "--version" in words:
            continue
        parse(words, {})


def test_the_pages_have_commands_at_all() -> None:
    assert len(commands((ROOT / "docs" / "quickstart.md").read_text("utf-8"))) > 15


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_both_languages_have_the_same_commands() -> None:
    english, chinese = ((ROOT / "docs" / name).read_text("utf-8") for name in ("quickstart.md", "quickstart.zh.md"))
    assert set(re.findall(r"^#+ .*(uv|conda|Dockerfile)", chinese, re.MULTILINE)) == {"uv", "conda", "Dockerfile"}
    assert [line for line in commands(chinese) if line not in english and "|" not in line] == []


class TestMatrix:
    def make(self, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, str(ROOT / "scripts" / "make_matrix.py"), "--into", str(folder), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def test_it_says_what_a_plan_says_and_knows_when_it_is_old(self, tmp_path: Path) -> None:
        import torchinstall

        assert self.make(tmp_path, "--write").returncode == 0
        page = (tmp_path / "matrix.md").read_text("utf-8")
        row = next(line for line in page.splitlines() if "GTX 1080 Ti |" in line)
        head = next(line for line in page.splitlines() if "driver 580" in line)
        cell = dict(zip(head.split("|"), row.split("|"), strict=True))[" driver 580 "].strip()
        machine = {"os": {"name": "linux", "glibc": "2.35"}, "arch": "x86_64", "python": {"version": "3.12.4"}}
        plan = torchinstall.plan("torch", machine=machine, gpu="GTX 1080 Ti", driver="580", offline=True)
        assert cell == f"{plan.torch} {plan.variant}"
        assert self.make(tmp_path, "--check").returncode == 0
        (tmp_path / "matrix.md").write_text(page.replace(cell, "1.0.0 cu90"), "utf-8")
        assert self.make(tmp_path, "--check").returncode == 3

    def test_the_picture_has_every_cell(self, tmp_path: Path) -> None:
        from xml.etree import ElementTree as ET

        self.make(tmp_path, "--write")
        tree = ET.parse(tmp_path / "matrix.svg")
        titles = [node.text or "" for node in tree.iter("{http://www.w3.org/2000/svg}title")]
        page = (tmp_path / "matrix.md").read_text("utf-8")
        cards = [line for line in page.splitlines() if line.count("|") > 8][2:]
        assert len([title for title in titles if "driver " in title]) == len(cards) * 8
