"""A large file of machines is answered by several processes: the same lines, in order, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from torchinstall.app import side_by_side
from torchinstall.cli import cmd_plan
from torchinstall.cli.main import main

BAD = ["nonsense\n", "[1]\n", '{"machine": {"os": {"name": "plan9"}}}\n']


def machine(number: int) -> dict[str, object]:
    return {
        "os": {"name": "linux", "glibc": f"2.{28 + number % 12}"}, "arch": "x86_64",
        "python": {"version": f"3.{11 + number % 4}.{number % 7}"},
        "gpus": [{"vendor": "nvidia", "name": f"GPU {number % 40}", "compute_capability": "8.9"}],
        "drivers": {"nvidia": {"version": "580.95.05"}},
    }  # fmt: skip


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """700 machines, some named and some not, with bad lines and empty ones between them."""
    lines = []
    for number in range(700):
        lines.append(json.dumps({"id": f"m{number}", "machine": machine(number)} if number % 3 else machine(number)))
        lines[-1] += "\n\n" if number % 50 == 0 else "\n"
        lines += [BAD[number % 3]] if number % 97 == 5 else []
    path = tmp_path / "fleet.jsonl"
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.mark.parametrize("more", [["--json"], []])
@pytest.mark.parametrize("processes", [2, 3])
def test_the_output_is_that_of_one_process(fleet, capsys, monkeypatch, more, processes):
    command = ["plan", "--offline", "--machine", str(fleet), *more]
    code_of_one = main(command)
    one = capsys.readouterr()
    monkeypatch.setattr(cmd_plan, "_LARGE", 1)
    monkeypatch.setattr(side_by_side, "processors", lambda: processes)
    started = []
    real = side_by_side.side_by_side
    monkeypatch.setattr(side_by_side, "side_by_side", lambda *a: started.append(a[2]) or real(*a))
    assert main(command) == code_of_one == 2
    assert started == [processes]
    several = capsys.readouterr()
    assert several == one
    assert len(one.out.splitlines()) == 708


def test_a_file_of_one_machine_is_no_batch_however_large(tmp_path, capsys, monkeypatch):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({**machine(1), "notes": ["x" * 2_000_000]}), "utf-8")
    monkeypatch.setattr(side_by_side, "side_by_side", None)
    assert main(["plan", "--offline", "--machine", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "install"


def fail_at(bad: str, lines):
    for line in lines:
        if line == bad:
            raise LookupError(line)
        yield line.upper()


def test_lines_come_back_in_order_and_each_once():
    lines = [f"line {number}" for number in range(3 * side_by_side.CHUNK + 7)]
    found = list(side_by_side.side_by_side(partial(fail_at, ""), iter(lines), 4))
    assert found == [line.upper() for line in lines]
    assert list(side_by_side.side_by_side(partial(fail_at, ""), iter(()), 2)) == []


def test_a_bug_in_another_process_is_raised_in_this_one():
    lines = [f"line {number}" for number in range(2 * side_by_side.CHUNK)]
    with pytest.raises(LookupError, match="line 300"):
        list(side_by_side.side_by_side(partial(fail_at, "line 300"), iter(lines), 2))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_whatever_ends_the_first_process_ends_the_others(tmp_path, number):
    code = (
        "import sys, time\n"
        "from torchinstall.app.side_by_side import side_by_side\n"
        "def slow(lines):\n"
        "    for line in lines:\n"
        "        time.sleep(0.001)\n"
        "        yield line\n"
        "if __name__ == '__main__':\n"
        "    for line in side_by_side(slow, iter(map(str, range(10**9))), 2):\n"
        "        print(line, flush=True)\n"
    )
    script = tmp_path / "endless.py"
    script.write_text(code, "utf-8")
    running = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert running.stdout is not None
    assert running.stdout.readline() == b"0\n"
    children = children_of(running.pid)
    assert len(children) >= 2
    running.send_signal(number)
    running.stdout.close()
    running.wait(20)
    until = time.monotonic() + 20
    while (left := [pid for pid in children if alive(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == []


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
    return [int(word) for word in text.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
