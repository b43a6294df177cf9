"""``detect --report`` and ``plan --report``: what a tool printed in place of the machine."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from torchinstall.cli.main import main

CAPTURES = Path(__file__).resolve().parent / "captures"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Call the command line in an empty folder; returns code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def test_detect(run):
    code, out, _ = run("detect", "--report", CAPTURES / "smi.csv")
    assert code == 0
    assert "NVIDIA TITAN V (compute capability 7.0, 12 GiB)" in out
    assert "NVIDIA driver 570.86.15" in out


def test_detect_json_can_be_read_again(run, tmp_path):
    code, out, _ = run("detect", "--json", "--report", CAPTURES / "npu-smi-a3.txt")
    assert code == 0
    assert [gpu["soc"] for gpu in json.loads(out)["gpus"]] == ["910C", "910C"]
    (tmp_path / "machine.json").write_text(out)
    code, again, _ = run("detect", "--json", "--machine", "machine.json")
    assert (code, json.loads(again)) == (0, json.loads(out))


def test_several_files_of_text_are_one_machine(run):
    code, out, _ = run(
        "detect", "--json", "--report", CAPTURES / "smi-table-mig.txt", "--report", CAPTURES / "proc-version.txt"
    )
    machine = json.loads(out)
    assert code == 0
    assert len(machine["gpus"]) == 2
    assert machine["drivers"]["nvidia"]["version"] == "580.95.05"
    assert machine["drivers"]["nvidia"]["kernel_module"] == "open"


def test_a_fleet_is_a_machine_a_line(run):
    code, out, _ = run("detect", "--json", "--report", CAPTURES / "kubectl-nodes.json")
    assert code == 0
    assert [len(json.loads(line)["gpus"]) for line in out.splitlines()] == [2, 8, 8, 4, 0]


def test_plan_of_a_fleet_ends_with_the_worst_answer(run):
    code, out, _ = run("plan", "--offline", "--json", "--report", CAPTURES / "slurm-nodes.json")
    outcomes = [json.loads(line)["outcome"] for line in out.splitlines()]
    assert outcomes[1:] == ["undetermined", "install"]
    assert code == 4


def test_plan(run):
    code, out, _ = run("plan", "--offline", "--json", "--report", CAPTURES / "smi-q-610.txt")
    plan = json.loads(out)
    assert (code, plan["outcome"]) == (0, "install")
    assert [device["runs"] for device in plan["devices"]] == ["yes", "yes"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_files_of_powershell(run, tmp_path, encoding):
    (tmp_path / "smi.txt").write_bytes((CAPTURES / "smi-table-610-windows.txt").read_text().encode(encoding))
    code, out, _ = run("detect", "--json", "--report", "smi.txt")
    assert (code, json.loads(out)["os"]["name"]) == (0, "windows")


def test_standard_input(run):
    code, out, _ = run("detect", "--report", "-", stdin=(CAPTURES / "rocminfo-override.txt").read_bytes())
    assert code == 0
    assert "gfx1031" in out
    assert "HSA_OVERRIDE_GFX_VERSION is at work" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--report", "absent.txt"], "absent.txt can't be read"),
        (["--report", "."], "can't be read"),
        (["--report", "nonsense.txt"], "tells of a machine"),
        (["--report", "nonsense.txt", "--machine", "x.json"], "together"),
        (["--report", "broken.json"], "compute_capability"),
    ],
)
@pytest.mark.parametrize("command", ["detect", "plan"])
def test_bad_reports_are_usage_errors(run, tmp_path, command, arguments, words):
    (tmp_path / "nonsense.txt").write_bytes(b"\x00\xff nothing here\n")
    (tmp_path / "broken.json").write_text('{"gpus": [{"vendor": "nvidia", "compute_capability": 8.9}]}')
    code, out, err = run(command, *arguments)
    assert code == 2
    assert words in " ".join((out + err).split())
    assert "Traceback" not in out + err
