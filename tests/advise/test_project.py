"""Requirement and project files, in the ways that people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchinstall.advise.requirement import kind_of, pin
from torchinstall.advise.scan_file import scan_file
from torchinstall.advise.table import Table
from torchinstall.model.advice import Finding

Look = Callable[..., list[Finding]]


@pytest.fixture
def look(table: Callable[..., Table]) -> Look:
    def look(name: str, text: str, **more: object) -> list[Finding]:
        kind = kind_of(name)
        assert kind is not None
        return list(scan_file(name, text.encode(), kind, table(**more)).findings)

    return look


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", "python"), ("a.pyi", "python"), ("a.ipynb", "notebook"), ("requirements.txt", "requirements"),
        ("requirements-dev.txt", "requirements"), ("dev-requirements.in", "requirements"),
        ("constraints.txt", "requirements"), ("pyproject.toml", "toml"), ("Pipfile", "toml"), ("setup.cfg", "cfg"),
        ("environment.yml", "yaml"), ("Dockerfile", "shell"), ("Dockerfile.cuda", "shell"), ("gpu.Dockerfile", "shell"),
        ("install.sh", "shell"), ("README.md", None), ("notes.txt", None), ("uv.lock", None), ("Cargo.toml", None),
    ],
)  # fmt: skip
def test_kinds_of_files(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("text", "name", "parts"),
    [
        ("torch", "torch", ()),
        ("Torch_NPU==2.9.0", "torch-npu", (("==", "2.9.0"),)),
        ("torch[opt-einsum]>=2.1,<2.6 ; python_version < '3.12'", "torch", ((">=", "2.1"), ("<", "2.6"))),
        ("torch (>=2.0)", "torch", ((">=", "2.0"),)),
        ("torch==2.6.0+cu124 --hash=sha256:00", "torch", (("==", "2.6.0+cu124"),)),
        ("torch~=2.6.0 \\", "torch", (("~=", "2.6.0"),)),
        ("-r other.txt", None, ()),
        ("--index-url https://example.com", None, ()),
        ("torch = 2", None, ()),
        ("this is no requirement", None, ()),
        ("", None, ()),
    ],
)
def test_requirements_are_read(text: str, name: str | None, parts: tuple[tuple[str, str], ...]) -> None:
    read = pin(text)
    assert (read.name if read else None, read.parts if read else ()) == (name, parts)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements.txt", "numpy\ntorchtext==0.18.0  # old\n", 2),
        ("requirements.txt", "TorchText\n", 1),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = [\n "torchtext>=0.6",\n]\n', 4),
        ("pyproject.toml", '[project.optional-dependencies]\nnlp = ["torchtext", "nltk"]\n', 2),
        ("pyproject.toml", "[dependency-groups]\ndev = ['torchtext>=0.6']\n", 2),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.10"\ntorchtext = "^0.14"\n', 3),
        ("pyproject.toml", '[tool.poetry.group.dev.dependencies]\ntorchtext = {version = "^0.14"}\n', 2),
        ("pyproject.toml", '[build-system]\nrequires = ["torchtext"]\n', 2),
        ("pyproject.toml", '[tool.uv]\nconstraint-dependencies = ["torchtext<1"]\n', 2),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torchtext>=0.6\n", 4),
        ("setup.py", "setup(\n  install_requires=['torchtext>=0.6'])\n", 2),
        ("environment.yml", "dependencies:\n  - python=3.10\n  - torchtext=0.14\n", 3),
        ("environment.yml", "dependencies:\n  - pip:\n    - torchtext==0.14\n", 3),
        ("Dockerfile", "FROM x\nRUN apt-get update && pip install --no-cache-dir numpy torchtext\n", 2),
        ("Dockerfile", "RUN pip install numpy \\\n    'torchtext==0.14' \\\n    scipy\n", 2),
        ("ci.yml", "steps:\n  - run: uv pip install torchtext\n", 2),
        ("install.sh", "uv add torchtext\n", 1),
    ],
)
def test_a_requirement_is_found_however_it_is_written(look: Look, name: str, text: str, line: int) -> None:
    assert [(finding.rule, finding.line) for finding in look(name, text)] == [("TT001", line)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "# torchtext==0.18.0\nmytorchtext\n"),
        ("pyproject.toml", '[project]\nname = "torchtext"\nkeywords = ["torchtext"]\ndescription = "torchtext"\n'),
        ("pyproject.toml", '[tool.ruff.lint.isort]\nknown-third-party = ["torchtext"]\n'),
        ("setup.py", "setup(name='torchtext', description='torchtext is old')\n"),
        ("environment.yml", "name: torchtext\n"),
        ("Dockerfile", "RUN echo torchtext\nCOPY torchtext /src\n"),
        ("ci.yml", "name: torchtext\non:\n  - push\n"),
    ],
)
def test_a_name_that_is_no_requirement_is_not(look: Look, name: str, text: str) -> None:
    assert look(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("requirements.txt", "torch==2.6.0", True),
        ("requirements.txt", "torch>=2.6,<2.8", True),
        ("requirements.txt", "torch==2.15.0+cu132", False),
        ("requirements.txt", "torch>=2.6", False),
        ("requirements.txt", "torchvision~=0.21.0", True),
        ("requirements.txt", "torchaudio==2.11.1", False),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.6"\n', False),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorchvision = "^0.21"\n', True),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "~2.6"\n', True),
        ("environment.yml", "dependencies:\n - torch=2.6\n", True),
    ],
)
def test_pins_that_keep_the_target_out(look: Look, name: str, text: str, told: bool) -> None:
    assert ("PIN001" in {finding.rule for finding in look(name, text)}) is told


def test_indexes_without_wheels_follow_the_catalogue(look: Look) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu128\n"
    assert [finding.rule for finding in look("requirements.txt", text, to="2.12.1")] == ["IDX001"]
    assert look("requirements.txt", text, to="2.11.0") == []
    cu126 = '[[tool.uv.index]]\nurl = "https://download.pytorch.org/whl/cu126"\n'
    assert look("pyproject.toml", cu126, to="2.14.1") == []
    (finding,) = look("pyproject.toml", cu126, to="2.15.0")
    assert (finding.rule, finding.line, finding.severity) == ("IDX001", 2, "error")
    assert look("pyproject.toml", cu126.replace("whl/cu126", "whl/nightly/cu126"), to="2.15.0") == []


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("environment.yml", "channels:\n  - pytorch\n", True),
        ("environment.yml", "channels: [pytorch, defaults]\n", True),
        ("environment.yaml", "dependencies:\n  - pytorch\n", False),
        ("Dockerfile", "RUN conda install -y pytorch -c pytorch -c nvidia", True),
        ("Dockerfile", "RUN conda install -y pytorch-cuda=12.4", True),
        ("Dockerfile", "RUN conda install -y -c conda-forge pytorch", False),
        ("Dockerfile", "RUN conda install -c pytorch-lts-of-mine x", False),
    ],
)
def test_the_conda_channel_that_ended(look: Look, name: str, text: str, told: bool) -> None:
    assert ("CONDA001" in {finding.rule for finding in look(name, text)}) is told


def test_cu12_packages_are_gone_with_2_15_only(look: Look) -> None:
    text = "nvidia-cudnn-cu12==9.1.0\n"
    assert [f.severity for f in look("requirements.txt", text, to="2.14.1")] == ["risk"]
    assert [f.severity for f in look("requirements.txt", text, to="2.15.0")] == ["error"]
    assert look("requirements.txt", text, to="2.10.0") == []


def test_comments_silence_here_too(look: Look) -> None:
    assert look("requirements.txt", "torchtext  # torchinstall: ignore[TT001]\n") == []
