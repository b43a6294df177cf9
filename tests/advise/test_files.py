"""The files of a scan: notebooks, .gitignore, and everything that a tree of files can do to a scanner."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchinstall.advise.gitignore import is_ignored, read_ignores
from torchinstall.advise.notebook import read_notebook
from torchinstall.advise.requirement import kind_of
from torchinstall.advise.scan_file import scan_file
from torchinstall.advise.table import Table
from torchinstall.app import scan as scanning
from torchinstall.app.scan import check_file, find_files, scan
from torchinstall.errors import UsageError
from torchinstall.model.advice import Scan

OLD = "import torch\ntorch.qr(a)\n"


@pytest.fixture
def rules(table: Callable[..., Table]) -> Table:
    return table()


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def names(folder: Path, *paths: str) -> list[str]:
    return [file.name for file in find_files(paths or (".",), folder)[0]]


# -- notebooks -----------------------------------------------------------------


def notebook(*cells: str | tuple[str, str]) -> str:
    document = {
        "nbformat": 4,
        "cells": [
            {"cell_type": kind, "source": text.splitlines(keepends=True)}
            for kind, text in (cell if isinstance(cell, tuple) else ("code", cell) for cell in cells)
        ],
    }
    return json.dumps(document)


def in_notebook(rules: Table, *cells: str | tuple[str, str]) -> list[tuple[str, int | None, int]]:
    result = scan_file("n.ipynb", notebook(*cells).encode(), "notebook", rules)
    return [(finding.rule, finding.cell, finding.line) for finding in result.findings]


def test_names_go_from_cell_to_cell(rules: Table) -> None:
    cells = [("markdown", "# torch.qr"), "import torch\n", "", "x = 1\n\ntorch.qr(a)"]
    assert in_notebook(rules, *cells) == [("LA003", 4, 3)]


@pytest.mark.parametrize(
    "magics",
    [
        "%matplotlib inline\n!nvidia-smi\nfiles = !ls\nx = %timeit -o f()\n?torch\ntorch.qr?\n",
        "for f in fs:\n    !rm {f}\n",
        "%%time\nx = 1\n",
        "await something()\n",
        "x = ('%d'\n     % 5)\n",
    ],
)
def test_magics_are_no_trouble(rules: Table, magics: str) -> None:
    lines = magics.count("\n")
    assert in_notebook(rules, "import torch", magics + "torch.qr(a)") == [("LA003", 2, lines + 1)]


def test_long_lines_take_no_time(rules: Table) -> None:
    for name, text in (
        ("a.sh", "pip " * 200_000),
        ("a.yml", "- " + "a" * 500_000),
        ("requirements.txt", " " * 900_000),
        ("pyproject.toml", "\"'" * 400_000),
    ):
        assert scan_file(name, text.encode(), kind_of(name) or "", rules).findings == ()
    for text in (" " * 300_000 + "!x", "?" * 100_000 + "x", "a" * 300_000 + " = !x"):
        assert in_notebook(rules, "import torch", text, "torch.qr(a)") == [("LA003", 3, 1)]


@pytest.mark.parametrize("first", ["%%bash", "%%javascript", "%%html"])
def test_cells_of_another_language_are_passed_over(rules: Table, first: str) -> None:
    assert in_notebook(rules, "import torch", f"{first}\nthis is : no python", "torch.qr(a)") == [("LA003", 3, 1)]


def test_a_faulty_cell_is_told_and_the_rest_goes_on(rules: Table) -> None:
    result = scan_file("n.ipynb", notebook("import torch", "print 'two'", "torch.qr(a)").encode(), "notebook", rules)
    assert [(finding.rule, finding.cell) for finding in result.findings] == [("LA003", 3)]
    assert len(result.skipped) == 1
    assert "cell 2" in result.skipped[0].why
    assert "Python 2" in result.skipped[0].why


def test_installs_in_a_notebook_are_seen(rules: Table) -> None:
    cells = ["!pip install -q torchtext\nimport os", "%%bash\npip install torchtext"]
    assert in_notebook(rules, *cells) == [("TT001", 1, 1), ("TT001", 2, 2)]


def test_comments_silence_a_line_of_a_cell(rules: Table) -> None:
    cells = ["import torch", "x = 1\ntorch.qr(a)  # torchinstall: ignore", "torch.qr(a)"]
    assert in_notebook(rules, *cells) == [("LA003", 3, 1)]


def test_the_old_format_is_read() -> None:
    text = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["import torch\n", "x"]}]}]})
    assert read_notebook(text).places == ((1, 1), (1, 2))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"cells": 3}', '{"cells": [1, {"cell_type": "code", "source": 5}]}']
)
def test_what_is_no_notebook_is_told(rules: Table, text: str) -> None:
    result = scan_file("n.ipynb", text.encode(), "notebook", rules)
    assert result.findings == ()
    assert bool(result.skipped) is not text.startswith('{"cells": [')


def test_columns_are_counted_in_characters(rules: Table) -> None:
    for code in ("import torch\n'ü€😀'; torch.qr(a)", "\ufeffimport torch\n'ü€😀'; torch.qr(a)"):
        (finding,) = scan_file("a.py", code.encode(), "python", rules).findings
        assert (finding.line, finding.column) == (2, 8)
    latin = b"# coding: latin-1\nimport torch\n'\xfc'; torch.qr(a)"
    assert [finding.column for finding in scan_file("a.py", latin, "python", rules).findings] == [6]
    result = scan_file("n.ipynb", notebook("import torch\n'ü€😀'; torch.qr(a)").encode(), "notebook", rules)
    assert [finding.column for finding in result.findings] == [8]


# -- .gitignore ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "folder", "ignored"),
    [
        ("*.py", "a.py", False, True),
        ("*.py", "deep/a.py", False, True),
        ("/a.py", "deep/a.py", False, False),
        ("/a.py", "a.py", False, True),
        ("build/", "build", True, True),
        ("build/", "build", False, False),
        ("build", "src/build", True, True),
        ("docs/*.py", "docs/a.py", False, True),
        ("docs/*.py", "docs/deep/a.py", False, False),
        ("docs/**/a.py", "docs/a.py", False, True),
        ("docs/**/a.py", "docs/x/y/a.py", False, True),
        ("**/gen", "x/gen", True, True),
        ("gen/**", "gen/a.py", False, True),
        ("a?.py", "ab.py", False, True),
        ("a[bc].py", "ac.py", False, True),
        ("a[!bc].py", "ac.py", False, False),
        ("# a.py", "a.py", False, False),
        ("\\#a.py", "#a.py", False, True),
        ("a.py   ", "a.py", False, True),
        ("", "a.py", False, False),
        ("*.py\n!keep.py", "keep.py", False, False),
        ("!keep.py\n*.py", "keep.py", False, True),
    ],
)
def test_gitignore_as_git_has_it(pattern: str, path: str, folder: bool, ignored: bool) -> None:
    assert is_ignored(path, [read_ignores(pattern, "")], is_folder=folder) is ignored


def test_a_deeper_gitignore_wins() -> None:
    levels = [read_ignores("*.py", ""), read_ignores("!a.py", "src")]
    assert not is_ignored("src/a.py", levels, is_folder=False)
    assert is_ignored("src/b.py", levels, is_folder=False)


def test_a_tree_is_walked_with_its_gitignore_files(tmp_path: Path) -> None:
    write(
        tmp_path, _dot_git__HEAD="", _dot_gitignore="generated/\n*_pb2.py\n", a_dot_py=OLD, x_pb2_dot_py=OLD,
        generated__b_dot_py=OLD, src___dot_gitignore="/local.py", src__local_dot_py=OLD, src__c_dot_py=OLD,
        src__deep__local_dot_py=OLD, _dot_venv__d_dot_py=OLD, env__pyvenv_dot_cfg="", env__e_dot_py=OLD,
        __pycache____f_dot_py=OLD,
    )  # fmt: skip
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "g.py").write_text(OLD)
    assert names(tmp_path) == ["a.py", "src/c.py", "src/deep/local.py"]


def test_the_gitignore_above_a_named_folder_counts(tmp_path: Path) -> None:
    write(tmp_path, _dot_git__HEAD="", _dot_gitignore="*_pb2.py\n", src__a_pb2_dot_py=OLD, src__b_dot_py=OLD)
    assert names(tmp_path, "src") == ["src/b.py"]
    assert names(tmp_path, "src/a_pb2.py") == ["src/a_pb2.py"]  # named by itself: meant


# -- what a tree can do --------------------------------------------------------


def test_a_scan_reports_what_it_passes_over(tmp_path: Path, rules: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(scanning.LARGEST, "python", 2000)
    write(
        tmp_path, good_dot_py=OLD, two_dot_py="import torch\nprint 'x'\n", broken_dot_py="import torch\ndef (\n",
        huge_dot_py=OLD + "x = 1\n" * 1000, empty_dot_py="", bom_dot_py=b"\xef\xbb\xbf" + OLD.encode(),
        latin_dot_py=b"# -*- coding: latin-1 -*-\nimport torch\ns = '\xe9'\ntorch.qr(s)\n",
        bad_dot_py=b"import torch\ns = '\xe9'\n", utf16_dot_py=OLD.encode("utf-16"), nul_dot_py=b"import torch\n\x00",
        odd_dot_py=b"# coding: no-such\nimport torch\n",
        binary_dot_py=bytes(range(256)) + b"torch",
    )  # fmt: skip
    result = scan([str(tmp_path)], tmp_path, rules)
    assert {finding.file for finding in result.findings} == {"bom.py", "good.py", "latin.py"}
    why = {one.file: one.why for one in result.skipped}
    assert set(why) == {"two.py", "broken.py", "huge.py", "bad.py", "nul.py", "odd.py", "binary.py"}
    assert "Python 2" in why["two.py"]
    assert "line 2" in why["broken.py"]
    assert "generated" in why["huge.py"]
    assert result.files == 11


def test_a_table_of_numbers_is_not_taken_apart(rules: Table) -> None:
    result = scan_file("table.py", b"import torch\nx = [" + b"1," * 200_000 + b"]\n", "python", rules)
    assert "generated" in result.skipped[0].why
    assert scan_file("table.py", b"x = [" + b"1," * 200_000 + b"]\n", "python", rules).skipped == ()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_broken_and_in_circles(tmp_path: Path, rules: Table) -> None:
    write(tmp_path, real__a_dot_py=OLD)
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "circle.py").symlink_to(tmp_path / "circle.py")
    (tmp_path / "real" / "again.py").symlink_to(tmp_path / "real" / "a.py")
    (tmp_path / "real" / "up").symlink_to(tmp_path, target_is_directory=True)
    result = scan(["."], tmp_path, rules)
    assert [finding.file for finding in result.findings] == ["real/a.py"]
    assert {one.file: one.why for one in result.skipped} == {
        "broken.py": "is a broken link",
        "circle.py": "is a broken link",
    }


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is kept from root")
def test_what_may_not_be_read(tmp_path: Path, rules: Table) -> None:
    write(tmp_path, a_dot_py=OLD, shut__b_dot_py=OLD)
    (tmp_path / "a.py").chmod(0)
    (tmp_path / "shut").chmod(0)
    result = scan(["."], tmp_path, rules)
    (tmp_path / "shut").chmod(0o700)
    assert [one.file for one in result.skipped] == ["a.py", "shut"]


def test_odd_names(tmp_path: Path, rules: Table) -> None:
    (tmp_path / "ein Name mit ü.py").write_text(OLD)
    if sys.platform == "linux":
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py"))).write_text(OLD)
    result = scan(["."], tmp_path, rules)
    assert len(result.findings) == (2 if sys.platform == "linux" else 1)
    for finding in result.findings:
        finding.file.encode()


def test_a_path_that_is_not_there(tmp_path: Path, rules: Table) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        scan(["nowhere"], tmp_path, rules)


def test_a_file_given_twice_is_scanned_once(tmp_path: Path, rules: Table) -> None:
    write(tmp_path, a_dot_py=OLD)
    assert scan([".", "a.py", "./"], tmp_path, rules).files == 1


def test_a_folder_that_vanishes(tmp_path: Path, rules: Table) -> None:
    write(tmp_path, a_dot_py=OLD)
    files, _ = find_files(["."], tmp_path)
    (tmp_path / "a.py").unlink()
    assert "can't be read" in scanning.check_file(files[0], rules).skipped[0].why


def test_many_processes_say_what_one_says(tmp_path: Path, rules: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        write(tmp_path, **{f"m{number:02}_dot_py": OLD + "x = 1\n" * number})
    one = scan(["."], tmp_path, rules)
    monkeypatch.setattr(scanning, "_WORTH_A_POOL", 0)
    monkeypatch.setattr(scanning, "_cores", lambda: 2)
    seen: list[tuple[int, int]] = []
    many = scan(["."], tmp_path, rules, progress=lambda done, total: seen.append((done, total)))
    assert many == one
    assert len(one.findings) == 40
    assert seen == [(done, 40) for done in range(1, 41)]


def deadly(file: scanning.File) -> Scan:
    """Check a file, unless it is the one that no process survives."""
    if file.name == "m07.py":
        os.kill(os.getpid(), signal.SIGKILL)
    return check_file(file, scanning._tables[0])


@pytest.mark.skipif(
    multiprocessing.get_context().get_start_method() != "fork", reason="the stand-in reaches the workers by fork"
)
def test_a_process_that_is_killed_costs_one_file(tmp_path: Path, rules: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        write(tmp_path, **{f"m{number:02}_dot_py": OLD})
    monkeypatch.setattr(scanning, "_WORTH_A_POOL", 0)
    monkeypatch.setattr(scanning, "_cores", lambda: 2)
    monkeypatch.setattr(scanning, "_work", deadly)
    result = scan(["."], tmp_path, rules)
    assert [one.file for one in result.skipped] == ["m07.py"]
    assert "killed" in result.skipped[0].why
    assert len(result.findings) == 19
    assert result.files == 20
