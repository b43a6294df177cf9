from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from torchinstall.errors import MachineFileError
from torchinstall.probe import process
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system
from torchinstall.probe.process import Child
from torchinstall.probe.system import real_system

posix = pytest.mark.skipif(os.name != "posix", reason="process groups and shells")


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@posix
def test_a_process_that_hangs_ends_with_everything_it_started(tmp_path):
    pids = tmp_path / "pids"
    path = script(tmp_path / "hang", f"#!/bin/sh\nsleep 60 &\necho $! > {pids}\necho started\nwait\n")
    start = time.monotonic()
    result = Child([path], {"PATH": os.defpath}, 0.5).collect()
    assert time.monotonic() - start < 2
    assert result.timed_out
    assert result.out == "started\n"
    assert result.ending() == "no answer in time"
    sleeper = int(pids.read_text())
    for _ in range(50):
        try:
            os.kill(sleeper, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{sleeper}/stat").exists() and ") Z " in Path(f"/proc/{sleeper}/stat").read_text():
            return  # ended, and not yet taken note of by its new parent
        time.sleep(0.02)
    pytest.fail("the grandchild still runs")


@posix
def test_much_output_on_both_pipes_is_read(tmp_path):
    code = "import sys; sys.stderr.write('e' * 300000); sys.stdout.write('o' * 300000)"
    result = Child([sys.executable, "-I", "-c", code], {}, 10).collect()
    assert (result.rc, len(result.out), len(result.err)) == (0, 300000, 300000)


@posix
@pytest.mark.parametrize(("text", "ending"), [("kill -SEGV $$", "signal SIGSEGV"), ("exit 3", "exit status 3")])
def test_endings(tmp_path, text, ending):
    path = script(tmp_path / "end", f"#!/bin/sh\n{text}\n")
    assert Child([path], {"PATH": os.defpath}, 5).collect().ending() == ending


def test_what_cannot_be_started_is_an_answer(tmp_path):
    result = Child([str(tmp_path / "none")], {}, 5).collect()
    assert result.rc is None
    assert result.err


@posix
def test_commands_come_from_absolute_folders_of_path_only(tmp_path, monkeypatch):
    script(tmp_path / "here" / "tool", "#!/bin/sh\necho wrong\n")
    script(tmp_path / "there" / "tool", "#!/bin/sh\necho right\n")
    monkeypatch.chdir(tmp_path / "here")
    assert real_system({"PATH": f":.:{tmp_path / 'there'}"}).run(["tool"]).out == "right\n"
    assert real_system({"PATH": ":.:relative"}).run(["tool"]) is None


@posix
def test_commands_get_only_what_they_need(tmp_path):
    script(tmp_path / "tool", "#!/bin/sh\nenv\n")
    environ = {
        "PATH": f"{tmp_path}:{os.defpath}",
        "CUDA_VISIBLE_DEVICES": "3",
        "TOKEN": "x",
        "LD_LIBRARY_PATH": "/opt/x",
    }
    names = {line.partition("=")[0] for line in real_system(environ).run(["tool"]).out.splitlines()}
    assert {"PATH", "LD_LIBRARY_PATH"} <= names
    assert not names & {"CUDA_VISIBLE_DEVICES", "TOKEN"}


@posix
def test_commands_share_one_budget(tmp_path):
    script(tmp_path / "tool", "#!/bin/sh\nsleep 60\n")
    system = real_system({"PATH": f"{tmp_path}:{os.defpath}"})
    system.deadline = time.monotonic() + 0.3
    start = time.monotonic()
    assert system.run(["tool"]).timed_out
    assert system.run(["tool"]).timed_out
    assert time.monotonic() - start < 1.5


def test_reading(tmp_path):
    system = real_system({})
    (tmp_path / "text").write_text("first\nsecond\n")
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "huge").write_text("x" * 200)
    assert system.read_line(str(tmp_path / "text")) == "first"
    assert system.read_text(str(tmp_path / "none")) is None
    assert system.read_text(str(tmp_path)) is None
    assert system.listdir(str(tmp_path / "none")) == ()
    assert system.notes == []
    assert system.read_text(str(tmp_path / "binary")) is None
    assert system.read_text(str(tmp_path / "huge"), limit=100) is None
    assert [word for note in system.notes for word in ("binary", "larger") if word in note] == ["binary", "larger"]


@posix
def test_a_pipe_in_place_of_a_file_does_not_stop_the_probe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert real_system({}).read_text(str(tmp_path / "pipe")) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_is_noted(tmp_path):
    (tmp_path / "closed").write_text("x")
    (tmp_path / "closed").chmod(0)
    system = real_system({})
    assert system.read_text(str(tmp_path / "closed")) is None
    assert "closed" in system.notes[0]


def test_links_of_a_fake_machine_end_inside_it(machine_folder):
    links = {"etc/absolute": "/etc/file", "etc/up": "../../../../../etc/file", "etc/loop": "loop", "deep": "/etc"}
    root = machine_folder({"etc/file": "inside\n"}, links=links)
    system = fake_system(root)
    assert [system.read_line(f"/etc/{name}") for name in ("absolute", "up")] == ["inside", "inside"]
    assert system.read_line("/deep/up") == "inside"
    assert system.read_line("/etc/loop") is None
    assert any("loop" in note for note in system.notes)
    assert system.readlink("/etc/absolute") == "/etc/file"


def test_nothing_of_the_real_machine_is_in_a_fake_one(machine_folder, monkeypatch, cards):
    monkeypatch.setenv("NVIDIA_VISIBLE_DEVICES", "all")
    system = fake_system(machine_folder(arch="aarch64", glibc=None))
    assert system.which("sh") is None
    assert system.run(["/bin/sh", "-c", "true"]).rc is None
    assert system.libraries("libc.so.6", ["/lib", "/usr/lib"]) == ()
    machine = detect(system, cards=cards)
    assert machine.arch == "aarch64"
    assert machine.os.glibc is None
    assert dict(machine.environment) == {}
    assert machine.python.version is None


@pytest.mark.parametrize(
    ("text", "word"),
    [("{", "can't be read"), ("[]", "no object"), ('{"os": {"name": 5}}', "os.name"), ('{"kernel": 6}', "kernel")],
)
def test_broken_system_json_is_named(tmp_path, text, word):
    (tmp_path / "system.json").write_text(text)
    with pytest.raises(MachineFileError) as caught:
        fake_system(tmp_path)
    assert word in str(caught.value)


def test_fake_machine_that_is_no_folder(tmp_path):
    with pytest.raises(MachineFileError):
        fake_system(tmp_path / "none")


def test_folder_without_system_json_is_linux(tmp_path, cards):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text("NAME=Fedora\nVERSION_ID=41\n")
    machine = detect(fake_system(tmp_path), cards=cards)
    assert (machine.os.name, machine.os.version, machine.arch) == ("linux", "Fedora 41", None)


def test_machine_without_accelerator_starts_no_process(machine_folder, cards, monkeypatch):
    def refuse(*arguments):
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr(process.Child, "__init__", refuse)
    machine = detect(fake_system(machine_folder({".dockerenv": ""})), cards=cards)
    assert (machine.gpus, machine.notes) == ((), ())


def test_a_table_of_cards_that_fails_is_noted(machine_folder, nvidia_files):
    def broken(pci_id):
        raise RuntimeError("no table")

    machine = detect(fake_system(machine_folder(nvidia_files)), cards=broken)
    assert [gpu.pci_id for gpu in machine.gpus] == ["10de:2684"]
    assert any("no table" in note for note in machine.notes)


def test_looking_at_a_machine_without_accelerator_imports_nothing_heavy():
    """Start-up is a feature: no subprocess, no JSON, no pathlib for a machine on which there is nothing to ask."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from torchinstall.probe.detect import detect\n"
        "from torchinstall.probe.system import System\n"
        "detect(System(environ={}, os_name='linux', arch='x86_64', kernel_release='6.8'), cards=lambda pci_id: None)\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = Child([sys.executable, "-c", code], dict(os.environ), 20).collect()
    assert done.rc == 0, done.err
    loaded = set(done.out.split())
    assert "torchinstall.probe.nvidia" in loaded
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is something to ask here")
    assert not loaded & {"subprocess", "json", "pathlib", "dataclasses", "typing", "ctypes", "socket", "requests"}
