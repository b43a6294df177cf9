"""Bad input: one screen that says what was seen and what to do, the right exit code, nothing changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {
    "schema": 1,
    "os": {"name": "linux", "glibc": "2.35"},
    "arch": "x86_64",
    "python": {"version": "3.12.4"},
    "gpus": [{"vendor": "nvidia", "name": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9"}],
    "drivers": {"nvidia": {"version": "580.95.05", "state": "ok"}},
}


def run(*words: str, cwd: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TORCHINSTALL_INDEX_DATA": str(ROOT / "index_data"), **environ}
    return subprocess.run(
        [sys.executable, "-m", "torchinstall", *words],
        cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--no-such-option"], 2, "--no-such-option"),
        (["plan", "--offline", "torch=="], 2, "isn't a requirement"),
        (["plan", "--offline", "pytorch"], 2, "called torch"),
        (["plan", "--offline", "torch==" + "1" * 5000], 2, "a thousand digits"),
        (["explain", "--offline", "torch==" + "1" * 5000], 2, "a thousand digits"),
        (["plan", "--offline", "torch @ http://127.0.0.1/torch.whl"], 2, "address"),
        (["plan", "--offline", "-r", "missing.txt"], 2, "missing.txt"),
        (["plan", "--offline", "--python", "/no/such/python"], 2, "/no/such/python"),
        (["plan", "--offline", "--python", "threepointtwelve"], 2, "isn't a Python"),
        (["plan", "--offline", "--gpu", "RTX 9999 Ultra"], 2, "no such card"),
        (["plan", "--offline", "--gpu", "RTX 4090", "--driver", "abc"], 2, "abc"),
        (["plan", "--offline", "--os", "beos"], 2, "beos"),
        (["plan", "--offline", "--arch", "z80"], 2, "z80"),
        (["plan", "--offline", "--glibc", "new"], 2, "new"),
        (["plan", "--offline", "--cpu", "--variant", "cu126"], 2, "contradict"),
        (["plan", "--offline", "--machine", "missing.json"], 2, "missing.json"),
        (["plan", "--offline", "--mirror", "somewhere"], 2, "somewhere"),
        (["plan", "--offline", "--sysroot", "nowhere"], 2, "nowhere"),
        (["install", "torch"], 2, "--venv"),
        (["verify"], 2, "--venv"),
        (["detct"], 2, "did you mean"),
        (["--dry-run", "verfy"], 2, "did you mean"),
        (["verify", "--venv", "nope"], 2, "nope"),
        (["doctor", "--venv", "nope"], 2, "nope"),
        (["bundle"], 2, "are required: DIR\n"),
    ],
)
def test_a_bad_call_is_explained(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    done = run(*words, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) < 24, "one screen"
    assert not list(tmp_path.iterdir()), "nothing was written"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not json", "isn't JSON"),
        ("[1, 2]", "object"),
        ('{"schema": 99}', "schema"),
        ('{"gpus": "many"}', "gpus"),
        ('{"gpus": [{"vendor": "nvidia", "memory_mib": "a lot"}]}', "memory_mib"),
        ('{"gpus": [{"name": "RTX"}]}', "vendor"),
        ('{"os": {"name": "beos"}}', "beos"),
        ('{"arch": "z80"}', "z80"),
        ('{"os": []}', "os"),
        ("\x00\x01", "JSON"),
    ],
)
def test_an_invalid_machine_file_is_named_with_its_field(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(text, "utf-8")
    done = run("plan", "--offline", "--machine", "machine.json", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    as_json = run("plan", "--offline", "--json", "--machine", "machine.json", cwd=tmp_path)
    assert json.loads(as_json.stdout)["error"]["exit"] == 2


def test_a_binary_machine_file(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_bytes(b"\xff\xfe\x00")
    done = run("plan", "--offline", "--machine", "machine.json", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_a_broken_catalogue_file_is_named_with_its_row(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(ROOT / "index_data", data)
    path = data / "releases" / "torch-2.15.json"
    path.write_text(path.read_text("utf-8").replace('"status": "measured"', '"status": "guessed"', 1), "utf-8")
    done = run("plan", "--offline", cwd=tmp_path, TORCHINSTALL_INDEX_DATA=str(data))
    assert done.returncode == 2
    assert "torch-2.15.json" in done.stderr
    assert "guessed" in done.stderr
    path.write_text("{", "utf-8")
    done = run("plan", "--offline", cwd=tmp_path, TORCHINSTALL_INDEX_DATA=str(data))
    assert (done.returncode, "torch-2.15.json" in done.stderr) == (2, True)
    done = run("plan", "--offline", cwd=tmp_path, TORCHINSTALL_INDEX_DATA=str(tmp_path / "empty"))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_no_network_at_all_is_no_obstacle_to_a_plan(tmp_path: Path) -> None:
    nowhere = {
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    done = run("plan", "--gpu", "RTX 5090", "--driver", "570.86", "--json", cwd=tmp_path, **nowhere)
    plan = json.loads(done.stdout)
    assert done.returncode == 0
    assert (plan["torch"], plan["variant"], plan["catalog"]["live"]) == ("2.11.0", "cu128", False)
    assert any(row["rule"] == "covers" and "sm_120" in row["text"] for row in plan["why"])
    assert plan["unreachable"]


def test_many_machines_a_line_each(tmp_path: Path) -> None:
    lines = [
        json.dumps(MACHINE),
        json.dumps({"id": "b", "machine": MACHINE, "request": {"requirements": ["torch==2.12.*"]}}),
        "not json",
        json.dumps({"id": "c", "machine": {"gpus": "x"}}),
        json.dumps({"id": 7, "machine": {**MACHINE, "gpus": []}, "request": {"variant": None}}),
    ]
    done = run("plan", "--machine", "-", "--json", cwd=tmp_path, stdin="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2, "a bad line was among them"
    assert [answer["id"] for answer in answers] == [None, "b", None, "c", 7]
    assert [answer.get("torch") for answer in answers] == ["2.15.0", "2.12.1", None, None, "2.14.1"]
    assert "error" in answers[2]
    assert len({row["variant"] for row in answers[0]["rejected"]}) == len(answers[0]["rejected"])


def test_many_machines_for_people(tmp_path: Path) -> None:
    lines = [json.dumps({"id": "a", "machine": MACHINE}), "not json"]
    done = run("plan", "--machine", "-", cwd=tmp_path, stdin="\n".join(lines))
    assert done.stdout.splitlines()[0] == "a: torch 2.15.0 (cu132)"
    assert done.stdout.splitlines()[1].startswith("2: ")


def test_one_bad_line_spoils_no_other(tmp_path: Path) -> None:
    good = json.dumps({"id": "good", "machine": MACHINE})
    deep = '{"id": "deep", "machine": ' + "[" * 100000 + "]" * 100000 + "}"
    odd = json.dumps({"id": "\ud800", "machine": MACHINE})
    for first in ("not json", "", "[1]", deep, odd, '{"id": NaN}', "\ufeff" + good):
        done = run("plan", "--machine", "-", "--json", cwd=tmp_path, stdin=f"{first}\n{good}\n{good}\n")
        answers = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
        assert [answer.get("torch") for answer in answers][-2:] == ["2.15.0", "2.15.0"], (first[:20], done.stderr)
        assert "Traceback" not in done.stderr
    (tmp_path / "lines.jsonl").write_bytes(b"\xff\xfe\n" + good.encode() + b"\n")
    done = run("plan", "--machine", "lines.jsonl", "--json", cwd=tmp_path)
    assert json.loads(done.stdout.splitlines()[1])["torch"] == "2.15.0"


def test_a_request_beside_a_machine_counts_in_any_layout(tmp_path: Path) -> None:
    document = {"id": "x", "machine": MACHINE, "request": {"requirements": ["torch==2.12.*; python_version>'3'"]}}
    for indent in (None, 2):
        stdin = json.dumps(document, indent=indent)
        done = run("plan", "--offline", "--machine", "-", "--json", cwd=tmp_path, stdin=stdin)
        assert json.loads(done.stdout)["torch"] == "2.12.1"
    document["request"]["requirements"] = ["torch==2.12.*; python_version<'3'"]
    done = run("plan", "--machine", "-", "--json", cwd=tmp_path, stdin=json.dumps(document))
    assert json.loads(done.stdout)["torch"] == "2.15.0", "a marker that excludes this Python takes the wish away"


def test_nothing_of_this_machine_leaks_into_another(tmp_path: Path) -> None:
    (tmp_path / "limit.txt").write_text("torch<2.10\n", "utf-8")
    machine = ROOT / "tests" / "machines" / "rtx4090-580-open"
    env = {"PIP_CONSTRAINT": str(tmp_path / "limit.txt"), "PIP_CONFIG_FILE": os.devnull}
    done = run("plan", "--offline", "--upgrade", "--sysroot", str(machine), "--json", cwd=tmp_path, **env)
    assert json.loads(done.stdout)["torch"] == "2.15.0"
    done = run(
        "plan", "--offline", "--machine", "-", "--json", cwd=tmp_path, stdin=json.dumps(MACHINE, indent=1), **env
    )
    assert json.loads(done.stdout)["torch"] == "2.15.0"
    done = run("plan", "--offline", "--gpu", "RTX 4090", "--json", cwd=tmp_path, **env)
    assert json.loads(done.stdout)["torch"].startswith("2.9."), "for this machine it counts"


def test_errors_are_json_by_variable_too(tmp_path: Path) -> None:
    done = run("plan", "--gpu", "Nonsense", cwd=tmp_path, TORCHINSTALL_JSON="1")
    assert json.loads(done.stdout)["error"]["exit"] == 2


def test_a_glued_short_option_wins_over_its_variable(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("torch==2.12.*\n", "utf-8")
    (tmp_path / "b.txt").write_text("torch==2.11.*\n", "utf-8")
    done = run(
        "plan", "--offline", "--gpu", "RTX 4090", "--json", "-ra.txt", cwd=tmp_path, TORCHINSTALL_REQUIREMENT="b.txt"
    )
    assert json.loads(done.stdout)["torch"] == "2.12.1"


def test_one_machine_from_stdin_keeps_its_id(tmp_path: Path) -> None:
    text = json.dumps({"id": "x", "machine": MACHINE})
    done = run("plan", "--offline", "--machine", "-", "--json", cwd=tmp_path, stdin=text + "\n")
    assert json.loads(done.stdout)["id"] == "x"
    pretty = json.dumps(MACHINE, indent=2)
    done = run("plan", "--offline", "--machine", "-", "--json", cwd=tmp_path, stdin=pretty)
    assert json.loads(done.stdout)["torch"] == "2.15.0"


def test_options_have_variables(tmp_path: Path) -> None:
    env = {"TORCHINSTALL_GPU": "GTX 1080 Ti", "TORCHINSTALL_DRIVER": "580.95.05", "TORCHINSTALL_OFFLINE": "1"}
    plan = json.loads(run("plan", "--json", cwd=tmp_path, **env).stdout)
    assert (plan["torch"], plan["variant"]) == ("2.14.1", "cu126")
    plan = json.loads(run("plan", "--json", "--gpu", "RTX 4090", cwd=tmp_path, **env).stdout)
    assert plan["variant"] == "cu132", "the option wins"
    done = run("plan", cwd=tmp_path, TORCHINSTALL_OFFLINE="perhaps")
    assert (done.returncode, "TORCHINSTALL_OFFLINE" in done.stderr) == (2, True)


def test_version_and_help(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).stdout.startswith("torchinstall ")
    assert "plan" in run("--help", cwd=tmp_path).stdout
    assert "--driver" in run("plan", "--help", cwd=tmp_path).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_closed_and_full_streams_are_no_bugs(tmp_path: Path) -> None:
    for ending, code in ((">&-", 0), ("> /dev/full", 7), ("2>&-", 0)):
        command = f"{sys.executable} -m torchinstall plan --offline --gpu 'RTX 4090' {ending}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), (ending, done.stderr)


def test_the_command_may_stand_behind_options(tmp_path: Path) -> None:
    done = run("--offline", "--gpu", "RTX 4090", "--json", "plan", "torch", cwd=tmp_path)
    assert json.loads(done.stdout)["variant"] == "cu132"


def test_a_closed_pipe_is_no_crash(tmp_path: Path) -> None:
    command = f"{sys.executable} -m torchinstall plan --offline -v --gpu 'RTX 4090' | head -n 1"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr


def test_what_a_machine_file_says_does_not_forge_lines(tmp_path: Path) -> None:
    evil = {**MACHINE, "gpus": [{**MACHINE["gpus"][0], "name": "\x1b[31mEvil\nChoice    torch 9 \ud800\u202e"}]}
    (tmp_path / "evil.json").write_text(json.dumps(evil), "utf-8")
    done = run("plan", "--offline", "--machine", "evil.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert len([line for line in done.stdout.splitlines() if line.startswith("Choice")]) == 1
    as_json = run("plan", "--offline", "--machine", "evil.json", "--json", cwd=tmp_path)
    assert as_json.returncode == 0
    json.loads(as_json.stdout)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_requirements_as_a_windows_shell_writes_them(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE), "utf-8")
    (tmp_path / "r.txt").write_bytes("torch==2.12.0\r\n".encode(encoding))
    done = run("plan", "--offline", "--machine", "machine.json", "--json", "-r", "r.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["torch"] == "2.12.0"


def test_an_unknowable_target_says_what_to_add_in_json_too(tmp_path: Path) -> None:
    done = run("plan", "--offline", "--json", "--sysroot", str(ROOT / "tests/machines/buildkit-build"), cwd=tmp_path)
    assert done.returncode == 4
    assert any("RUN torchinstall" in step for step in json.loads(done.stdout)["todo"])
