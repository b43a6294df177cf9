"""The command: reports in any shape, machines, exit codes, and what goes into an issue."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from torchinstall.output.findings import private_removed

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "machines"
COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.6.0+cu126
Is debug build: False
CUDA used to build PyTorch: 12.6
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Libc version: glibc-2.35

Python version: 3.12.4 (main, Jun  8 2026, 18:29:57) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090
Nvidia driver version: 570.124.04
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] numpy==2.2.6
[pip3] torch==2.6.0+cu126
[pip3] torchvision==0.21.0+cu126
"""


def run(*words: str, stdin: str | bytes = "", cwd: Path | None = None, **environ: str):
    env = {**os.environ, "TORCHINSTALL_INDEX_DATA": str(ROOT / "index_data"), **environ}
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "torchinstall", "doctor", *words],
        cwd=cwd, env=env, input=data, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def answer(*words: str, **more):
    code, out, err = run("--json", *words, **more)
    assert out, err
    return code, json.loads(out)


def test_collect_env_tells_machine_installed_and_cause(tmp_path):
    (tmp_path / "env.txt").write_text(COLLECT_ENV)
    code, found = answer("--report", "env.txt", cwd=tmp_path)
    assert (code, found["action"]) == (3, "reinstall-with-variant")
    assert found["findings"][0]["id"] == "no-kernel-image"
    assert found["machine"]["installed"]["torch"] == "2.6.0+cu126"
    assert found["machine"]["gpus"][0]["name"].endswith("RTX 5090")
    assert (found["plan"]["torch"], found["plan"]["variant"]) == ("2.11.0", "cu128")
    assert {way["torch"] for way in found["plan"]["alternatives"]} >= {"2.15.0"}


def test_several_machines_in_one_text(tmp_path):
    other = COLLECT_ENV.replace("RTX 5090", "RTX 4090").replace("570.124.04", "580.95.05")
    code, out, _err = run("--json", "--report", "-", stdin=COLLECT_ENV + "\n" + other, cwd=tmp_path)
    first, second = (json.loads(line) for line in out.splitlines())
    assert code == 3
    assert (first["action"], second["action"]) == ("reinstall-with-variant", "none")
    assert second["machine"]["gpus"][0]["name"].endswith("RTX 4090")


def test_several_reports_are_one_machine(tmp_path):
    (tmp_path / "env.txt").write_text(COLLECT_ENV)
    (tmp_path / "log.txt").write_text("Error 802: system not yet initialized")
    code, found = answer("--report", "env.txt", "--report", "log.txt", cwd=tmp_path)
    assert (code, found["action"], found["findings"][0]["id"]) == (3, "fix-environment", "err802")
    assert found["reinstalling_helps"] is False


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_reports_in_the_encodings_of_consoles(encoding, tmp_path):
    text = "\x1b[31mRuntimeError\x1b[0m: operator torchvision::nms does not exist\r\n"
    code, found = answer("--report", "-", stdin=text.encode(encoding), cwd=tmp_path)
    assert (code, found["findings"][0]["id"]) == (3, "tv-nms") or found["findings"][0]["id"] == "companion-mismatch"


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00" * 5000, bytes(range(256)) * 40, b"{" * 5000, "エラーが発生しました".encode("shift-jis"), b"%PDF-1.7"],
)
def test_what_is_no_report_gets_a_way_on(data, tmp_path):
    code, found = answer("--report", "-", stdin=data, cwd=tmp_path)
    assert code == 4
    assert "collect_env" in found["findings"][0]["remedy"]


def test_a_log_of_fifty_megabytes(tmp_path):
    line = "2026-11-30 12:00:00 INFO downloading a part of something large, all is well\n"
    with (tmp_path / "big.log").open("w") as file:
        for number in range(50):
            file.write(line * (1_000_000 // len(line)))
            if number == 25:
                file.write("CUDA error: no kernel image is available for execution on the device\n")
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    code, found = answer("--report", "big.log", cwd=tmp_path)
    # Of the processor's time: the machine may be busy with other tests.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin < 10
    assert (code, found["findings"][0]["id"]) == (3, "no-kernel-image")


def test_a_report_that_isn_t_there(tmp_path):
    code, found = answer("--report", "nowhere.txt", cwd=tmp_path)
    assert code == 2
    assert "nowhere.txt" in found["error"]["what"]


def test_batch_lines(tmp_path):
    machine = {"schema": 1, "os": {"name": "linux"}, "arch": "x86_64", "gpus": [], "installed": {"torch": "2.8.0+cpu"}}
    lines = [
        json.dumps({"id": "a", "machine": machine, "error": "[Errno 28] No space left on device"}),
        "not json",
        json.dumps({"id": "b", "machine": machine}),
    ]
    code, out, _err = run("--machine", "-", "--json", stdin="\n".join(lines) + "\n", cwd=tmp_path)
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert [a["id"] for a in answers] == ["a", None, "b"]
    assert answers[0]["action"] == "fix-environment"
    assert "error" in answers[1]
    assert answers[2]["action"] == "none"


def test_the_document_is_the_contract_s(tmp_path):
    _code, found = answer("--report", "-", stdin=COLLECT_ENV, cwd=tmp_path)
    assert {"schema", "id", "action", "findings", "reinstalling_helps", "machine", "plan"} <= set(found)
    assert {"id", "severity", "cause", "evidence", "remedy", "command"} <= set(found["findings"][0])


def test_people_read_cause_evidence_and_command(tmp_path):
    code, out, _err = run("--report", "-", stdin=COLLECT_ENV, cwd=tmp_path)
    assert code == 3
    assert out.startswith("Cause ")
    assert "torchinstall --upgrade torch==2.11.0" in out
    assert "Reinstall helps" in out


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("rtx4090-580-open", 0, "Healthy"),
        ("rtx4090-module-not-loaded", 3, "will not help"),
        ("buildkit-build", 4, "image is being built"),
        ("hgx-no-fabric-manager", 3, "fabric manager"),
        ("rtx5090-closed-no-devices", 3, "install the open kernel module"),
        ("docker-cuda-image", 3, "--gpus all"),
        ("h100-mask-empty", 3, "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_machines(name, code, said, tmp_path):
    assert run("--sysroot", str(MACHINES / name), cwd=tmp_path)[0] == code
    assert said in run("--sysroot", str(MACHINES / name), cwd=tmp_path, COLUMNS="500")[1]


def test_fix_is_refused_for_a_described_machine(tmp_path):
    code, _out, err = run("--fix", "--yes", "--report", "-", stdin=COLLECT_ENV, cwd=tmp_path)
    assert code == 2
    assert "another machine" in err


def test_what_goes_into_an_issue_has_nothing_private(tmp_path):
    text = COLLECT_ENV + '\nFile "/home/jane.doe/app/x.py"\nCUDA error: no kernel image is available\n'
    code, out, _err = run("--report", "-", "--bundle-report", stdin=text, cwd=tmp_path)
    assert code == 3
    assert out.startswith("### torchinstall doctor")
    assert "2.6.0+cu126" in out
    assert "jane.doe" not in out


def test_private_data_is_removed():
    text = (
        "/home/jane/x C:\\Users\\Jane Doe\\y https://u:p@host/x GPU-1a2b3c4d-1111-2222-3333-444455556666 "
        "hf_abcdefghijklmnopqrstuvwxyz jane@example.org 192.168.1.7 driver 570.124.04"
    )
    clean = private_removed(text)
    for secret in ("jane", "u:p", "1a2b3c4d", "abcdefghij", "192.168", "example.org"):
        assert secret not in clean.replace("Jane", "jane" if "Jane" in clean.split("USER")[0] else "")
    assert "570.124.04" in clean
