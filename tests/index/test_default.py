"""The default index is the constant of pypi-simple, read without the cost of importing that package."""

from __future__ import annotations

import subprocess
import sys

import pypi_simple

from torchinstall.index import default


def test_read_from_the_source_it_is_what_the_package_says(monkeypatch):
    monkeypatch.delitem(sys.modules, "pypi_simple")
    assert default._from_source() == pypi_simple.PYPI_SIMPLE_ENDPOINT


def test_reading_it_loads_nothing_heavy():
    code = (
        "import sys; from torchinstall.index.default import default_index; print(default_index());"
        "print(*{'pypi_simple', 'pydantic', 'bs4', 'requests'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{pypi_simple.PYPI_SIMPLE_ENDPOINT}\n\n"


def test_without_a_source_to_read_the_package_is_imported(monkeypatch):
    monkeypatch.setattr(default, "_from_source", lambda: None)
    assert default.default_index() == pypi_simple.PYPI_SIMPLE_ENDPOINT


def test_a_source_that_says_it_otherwise_is_no_reason_to_guess(monkeypatch, tmp_path):
    (tmp_path / "pypi_simple.py").write_text("PYPI_SIMPLE_ENDPOINT = 'a' + 'b'\n", "utf-8")
    monkeypatch.delitem(sys.modules, "pypi_simple")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert default._from_source() is None
