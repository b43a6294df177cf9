# ruff: noqa: RUF001 - Chinese has marks of its own
"""The command: what it says, in text, JSON and SARIF, and how it ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchinstall.model.advice import Finding, Scan, Skipped
from torchinstall.output.advice import place, progress_bar, scan_lines
from torchinstall.output.sarif import to_sarif

ROOT = Path(__file__).resolve().parents[2]
MACHINE: dict[str, Any] = {
    "schema": 1,
    "os": {"name": "linux", "glibc": "2.35"},
    "arch": "x86_64",
    "python": {"version": "3.12.4"},
    "gpus": [{"vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0"}],
    "drivers": {"nvidia": {"version": "580.95.05", "state": "ok"}},
    "installed": {"torch": "2.5.1+cu124"},
}
PASCAL = {**MACHINE, "gpus": [{"vendor": "nvidia", "name": "GTX 1080", "compute_capability": "6.1"}], "installed": {}}
CODE = "import torch\nmodel = torch.load('m.pt')\nq = torch.qr(model)\ntorch.cuda.amp.autocast()\n"


def run(
    *words: str, cwd: Path, machine: dict[str, Any] | None = MACHINE, **environ: str
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TORCHINSTALL_INDEX_DATA": str(ROOT / "index_data"), **environ}
    given = ["--machine", "-"] if machine is not None else []
    return subprocess.run(
        [sys.executable, "-m", "torchinstall", "advise", "--offline", *given, *words],
        cwd=cwd, env=env, input=json.dumps(machine), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_screen_has_verdict_reasons_sources_and_the_command(tmp_path: Path) -> None:
    done = run("--to", "2.12", "--uses", "stable_training", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "Verdict   upgrade now: from torch 2.5.1 to 2.12.1"
    text = " ".join(done.stdout.split())
    for part in ("CVE-2025-32434", "mostly in tools", "source: ", "corrected since: ", "torchinstall 'torch==2.12.1'"):
        assert part in text, part
    assert "by hand: uv pip install torch==2.12.1" in text
    assert len(lines) < 60


def test_a_reason_for_another_verdict_says_so(tmp_path: Path) -> None:
    done = run("--to", "2.12", "--uses", "stable_training,custom_processgroup", "--from", "2.11", cwd=tmp_path)
    assert done.stdout.startswith("Verdict   wait:")
    text = " ".join(done.stdout.split())
    assert "Why a customised ProcessGroup should wait" in text
    assert "worth it, no hurry: for training that runs on Ampere" in text


def test_must_not_ends_with_3_and_the_way_out(tmp_path: Path) -> None:
    done = run(cwd=tmp_path, machine=PASCAL)
    assert done.returncode == 3
    assert done.stdout.startswith("Verdict   must not: torch 2.15.0\n")
    text = " ".join(done.stdout.split())
    assert "torch 2.14.1 (cu126) is the newest that may be had here" in text
    assert "torchinstall 'torch==2.14.1'" in text


def test_json_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    done = run("--json", "--to", "2.14.1", "--scan", "a.py", "--uses", "new_project,mx_export", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert (document["verdict"], document["installed"], document["target"]) == ("upgrade_now", "2.5.1", "2.14.1")
    assert {"X01", "X06", "E2.14-a"} <= {reason["rule"] for reason in document["reasons"]}
    assert all(reason["source"] for reason in document["reasons"])
    assert set(document["uses"]) == {"new_project", "mx_export"}
    assert document["plan"]["torch"] == "2.14.1"
    assert document["plan"]["commands"]["uv"]
    scan = document["scan"]
    assert [(one["rule"], one["line"], one["severity"]) for one in scan["findings"]] == [
        ("LOAD001", 2, "behavior"), ("LA003", 3, "error"),
    ]  # fmt: skip
    assert scan["findings"][0]["since"] == "2.6"
    assert (scan["files"], scan["lines"], scan["silenced"]) == (1, 4, 0)
    assert document["best"] is None


def test_what_stood_before_is_told_with_all(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    found = json.loads(run("--json", "--scan", ".", "--all", cwd=tmp_path).stdout)["scan"]["findings"]
    assert [one["rule"] for one in found] == ["LOAD001", "LA003", "AMP001"]
    found = json.loads(run("--json", "--scan", ".", "--from", "2.10", cwd=tmp_path).stdout)["scan"]["findings"]
    assert [one["rule"] for one in found] == ["LA003"]


@pytest.mark.parametrize(
    ("code", "level", "ends"),
    [
        (CODE, "error", 3),
        (CODE, "info", 3),
        ("import torch\ntorch.load(f)\n", "error", 0),
        ("import torch\ntorch.load(f)\n", "behavior", 3),
        ("import torch\ntorch.qr(a)  # torchinstall: ignore[LA003]\n", "error", 0),
        ("import torch\nif hasattr(torch, 'qr'): torch.qr(a)\n", "error", 0),
        ("print('nothing')\n", "info", 0),
    ],
)
def test_fail_on(code: str, level: str, ends: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(code)
    assert run("--to", "2.14.1", "--scan", ".", "--fail-on", level, cwd=tmp_path).returncode == ends


def test_a_scan_judges_what_the_code_uses(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch.distributed as dist\ndist.init_process_group('nccl')\n")
    document = json.loads(run("--json", "--from", "2.14.1", "--scan", ".", cwd=tmp_path).stdout)
    assert document["verdict"] == "wait"
    assert document["uses"]["distributed_nccl"] == "found in a.py, line 2"
    assert document["reasons"][0]["rule"] == "E2.15-d"


def test_a_scan_has_an_answer_where_the_machine_is_unknown(tmp_path: Path) -> None:
    unknown = {name: value for name, value in MACHINE.items() if name not in {"gpus", "drivers"}}
    (tmp_path / "a.py").write_text("x = 1\n")
    assert run("--json", cwd=tmp_path, machine=unknown).returncode == 4
    done = run("--json", "--scan", ".", cwd=tmp_path, machine=unknown)
    assert done.returncode == 0
    assert json.loads(done.stdout)["verdict"] == "unknown"


def test_a_declared_machine(tmp_path: Path) -> None:
    done = run("--gpu", "GTX 1080", "--driver", "580.95.05", "--to", "2.12", cwd=tmp_path, machine=None)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Verdict   wait: torch 2.12.1\n")
    assert "stays True" in " ".join(done.stdout.split())


def test_nobody_is_told_to_stay_with_what_cannot_run(tmp_path: Path) -> None:
    done = run("--gpu", "GTX 1080", "--driver", "580.95.05", "--from", "2.15.0", cwd=tmp_path)
    assert done.returncode == 3
    assert "stay with torch 2.15.0" not in done.stdout
    assert "torch 2.14.1 (cu126) is the newest that may be had here" in " ".join(done.stdout.split())


def test_a_report_of_another_machine(tmp_path: Path) -> None:
    (tmp_path / "env.txt").write_text(
        "PyTorch version: 2.5.1+cu124\nOS: Ubuntu 22.04.4 LTS (x86_64)\nLibc version: glibc-2.35\n"
        "Python version: 3.11.9 (64-bit runtime)\nIs CUDA available: True\n"
        "GPU models and configuration: GPU 0: NVIDIA GeForce GTX 1080 Ti\nNvidia driver version: 550.54.15\n"
    )
    done = run("--report", "env.txt", "--json", cwd=tmp_path, machine=None)
    assert done.returncode == 3, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert (document["installed"], document["reasons"][0]["rule"]) == ("2.5.1", "H01")
    assert document["best"]["variant"] == "cu126"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "9.9"], "no such torch"),
        (["--to", "new"], "no such torch"),
        (["--to", "2."], "no such torch"),
        (["--from", "old"], "isn't a version"),
        (["--uses", "magic"], "new_project: a project that starts now"),
        (["--report", "nowhere.txt"], "nowhere.txt"),
        (["--scan", "nowhere"], "nowhere"),
        (["--fail-on", "error"], "--scan"),
        (["--scan", ".", "--fail-on", "all"], "invalid choice"),
        (["--scan", ".", "--sarif", "-", "--json"], "standard output"),
        (["--scan", ".", "--sarif", "no/such/folder.sarif"], "can't be written"),
        (["--machine", "nowhere.json"], "nowhere.json"),
    ],
)
def test_a_bad_call_is_explained(words: list[str], said: str, tmp_path: Path) -> None:
    done = run(*words, cwd=tmp_path, machine=None if {"--machine", "--report"} & set(words) else MACHINE)
    assert done.returncode == 2, done.stdout + done.stderr
    text = done.stdout if "--json" in words else done.stderr
    assert said in text
    assert "Traceback" not in done.stderr


# -- SARIF ---------------------------------------------------------------------


def test_sarif_for_code_hosts(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a b.py").write_text(CODE)
    (tmp_path / "src" / "old.py").write_text("import torch\nprint 'x'\n")
    done = run("--to", "2.14.1", "--scan", "src", "--sarif", "out.sarif", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    log = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    tool = log["runs"][0]["tool"]["driver"]
    load, qr = log["runs"][0]["results"]
    assert (load["ruleId"], load["level"]) == ("LOAD001", "warning")
    assert (qr["ruleId"], qr["level"]) == ("LA003", "error")
    assert tool["rules"][qr["ruleIndex"]]["id"] == "LA003"
    assert tool["rules"][qr["ruleIndex"]]["helpUri"].startswith("https://")
    place = qr["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/a%20b.py"
    assert place["region"] == {"startLine": 3, "startColumn": 5}
    assert "torch.linalg.qr" in qr["message"]["text"]
    (note,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert "Python 2" in note["message"]["text"]


def test_sarif_on_standard_output_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    done = run("--scan", ".", "--sarif", "-", cwd=tmp_path)
    assert json.loads(done.stdout)["version"] == "2.1.0"
    assert "Verdict" in done.stderr


def test_a_finding_in_a_notebook_has_no_line_in_sarif() -> None:
    finding = Finding(rule="X1", severity="info", file="n.ipynb", line=2, column=1, seen="a", text="b", cell=3)
    (result,) = to_sarif(Scan(findings=(finding,)), (), "1")["runs"][0]["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert "cell 3, line 2" in result["message"]["text"]
    assert result["level"] == "note"
    assert place(finding) == "n.ipynb:cell 3:2:1"


# -- screens -------------------------------------------------------------------


def finding(number: int, severity: str) -> Finding:
    return Finding(rule="R1", severity=severity, file="a.py", line=number, column=1, seen="x", text="y")


def test_the_worst_comes_first_and_a_screen_is_a_screen() -> None:
    findings = (*(finding(n, "warning") for n in range(1, 100)), finding(200, "error"), finding(300, "info"))
    scan = Scan(findings=findings, files=1, skipped=tuple(Skipped(file=f"{n}.py", why="no") for n in range(9)))
    lines = [line.text for line in scan_lines(scan)]
    assert lines[:2] == ["error R1: y", "  a.py:200:1 x"]
    assert lines[2] == "warning R1: y"
    assert len(lines) < 25
    assert not any(":300:" in line for line in lines)
    assert "  and at 93 more places" in lines
    assert "94 more are shown with -v" in lines
    assert "and 3 more" in lines
    whole = [line.text for line in scan_lines(scan, verbose=True)]
    assert sum(line.startswith("  a.py:") for line in whole) == 101


def test_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.qr(a)\n")
    done = run("--to", "2.15", "--scan", "a.py", "--lang", "zh", cwd=tmp_path, machine=PASCAL)
    assert done.returncode == 3
    assert done.stdout.startswith("结论")
    text = "".join(done.stdout.split())
    for words in (
        "不能升：torch2.15.0",
        "这张卡没有任何二进制可用",
        "此后更正：",
        "torch2.14.1（cu126）",
        "1个文件，2行Python",
    ):
        assert words in text, words
    same = run("--to", "2.15", "--json", "--lang", "zh", cwd=tmp_path, machine=PASCAL)
    assert "no binary" in json.loads(same.stdout)["reasons"][0]["text"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_for_large_trees_on_a_terminal() -> None:
    assert progress_bar(io.StringIO(), {}) is None
    assert progress_bar(Terminal(), {"TERM": "dumb"}) is None
    stream = Terminal()
    show = progress_bar(stream, {})
    assert show is not None
    for done in range(1, 101):
        show(done, 100)
    assert stream.getvalue() == ""  # small: over before anyone could read it
    for done in range(1, 1001):
        show(done, 1000)
    assert "500/1000 files" in stream.getvalue()
    assert stream.getvalue().endswith(" \r")
