"""Broken environments, made for real: each gets its finding, from outside and without importing torch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from replica import Behaviour

ROOT = Path(__file__).resolve().parents[2]

CPU = {"variant": "cpu"}


def ids(document) -> list[str]:
    return [finding["id"] for finding in document["findings"] if finding["severity"] != "note"]


def test_a_whole_environment_is_healthy(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    environment.add("torchvision", "0.28.0+cpu", **CPU)
    code, found = environment.doctor()
    assert (code, found["action"], ids(found)) == (0, "none", [])
    assert found["machine"]["installed"]["torch"] == "2.13.0+cpu"
    assert found["plan"]["outcome"] == "satisfied"


def test_no_torch_at_all(environment):
    code, found = environment.doctor()
    assert (code, found["action"], ids(found)) == (3, "install", ["not-installed"])
    assert found["findings"][0]["command"].startswith("torchinstall torch==")
    assert f" --python {environment.python}" in found["findings"][0]["command"], "as printed, it mends this environment"


def test_torch_isn_t_imported(environment):
    """A torch that kills its Python is diagnosed all the same."""
    environment.add("torch", "2.13.0+cpu", behaviour=Behaviour("segfault-import"), **CPU)
    code, found = environment.doctor()
    assert (code, found["action"]) == (0, "none")
    code, found = environment.doctor("--verify")
    assert (code, ids(found)) == (3, ["verify-crash"])
    assert found["verdict"]["outcome"] == "failed"


def test_a_companion_of_another_torch(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    environment.add("torchvision", "0.27.0+cpu", **CPU)
    code, found = environment.doctor()
    assert (code, found["action"], ids(found)) == (3, "reinstall-with-variant", ["companion-mismatch"])
    assert found["reinstalling_helps"] is True
    assert "torch==2.13.0 torchvision" in found["findings"][0]["command"]


def test_files_that_are_gone_or_cut_off(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    victims = sorted((environment.site / "torch").rglob("*.py"))
    victims[-1].unlink()
    victims[-2].write_bytes(victims[-2].read_bytes()[:-1])
    code, found = environment.doctor()
    assert (code, found["action"], ids(found)) == (3, "reinstall-with-variant", ["damaged-files"])
    assert "1 missing and 1 of another size" in found["findings"][0]["evidence"][0]


@pytest.mark.parametrize("lost", ["metadata", "code"])
def test_half_a_torch(environment, lost):
    environment.add("torch", "2.13.0+cpu", **CPU)
    folder = next(environment.site.glob("torch-*.dist-info")) if lost == "metadata" else environment.site / "torch"
    shutil.rmtree(folder)
    code, found = environment.doctor()
    assert code == 3
    assert ids(found)[0] == "half-installed"
    assert found["action"] == "reinstall-with-variant"


def test_two_torches_on_the_path(environment, tmp_path):
    environment.add("torch", "2.13.0+cpu", **CPU)
    other = tmp_path / "other"
    (other / "torch").mkdir(parents=True)
    (other / "torch" / "__init__.py").write_text("")
    (other / "torch" / "version.py").write_text("__version__ = '1.9.0'\n")
    code, found = environment.doctor(PYTHONPATH=str(other))
    assert (code, found["action"], ids(found)) == (3, "fix-environment", ["two-installs"])
    first = found["findings"][0]
    assert str(other) in first["cause"]
    assert first["command"] == "unset PYTHONPATH"
    assert found["reinstalling_helps"] is False


def test_a_file_named_torch(environment, tmp_path):
    environment.add("torch", "2.13.0+cpu", **CPU)
    work = tmp_path / "work"
    work.mkdir()
    (work / "torch.py").write_text("print('mine')\n")
    code, found = environment.doctor(cwd=work)
    assert (code, ids(found)) == (3, ["shadowing-file"])
    assert str(work / "torch.py") in found["findings"][0]["cause"]


def test_a_pin_of_torch_that_isn_t_met(environment):
    requires = (
        "nvidia-nccl-cu12==2.27.3",
        "triton==3.5.0 ; platform_system == 'Linux'",
        "other==1 ; python_version < '3'",
    )
    environment.add("torch", "2.13.0+cu126", requires=requires)
    environment.add("nvidia-nccl-cu12", "2.20.5")
    environment.add("triton", "3.5.0")
    code, found = environment.doctor("--cpu")
    assert (code, found["action"]) == (3, "reinstall-with-variant")
    assert ids(found)[0] == "requirements-unmet"
    assert found["findings"][0]["evidence"] == [
        "torch 2.13.0+cu126 requires nvidia-nccl-cu12==2.27.3; 2.20.5 is installed"
    ]


def test_packages_of_two_cuda_majors(environment):
    environment.add("torch", "2.13.0+cu126", requires=("nvidia-nccl-cu12==2.27.3",))
    environment.add("nvidia-nccl-cu12", "2.27.3")
    environment.add("nvidia-nccl-cu11", "2.14.3")
    environment.add("nvidia-cublas-cu11", "11.10.3.66")
    _code, found = environment.doctor()
    assert ids(found)[0] == "cuda-majors-clash"
    assert "nvidia-nccl-cu11" in found["findings"][0]["command"]


def test_a_cpu_build_by_accident_names_who_asked_for_torch(environment):
    environment.add("torch", "2.9.1+cpu", **CPU)
    environment.add("lightning", "2.6.0", requires=("torch>=2.1",))
    environment.add("unrelated", "1.0", requires=("numpy",))
    machine = ROOT / "tests" / "machines" / "rtx4090-580-open"
    code, found = environment.doctor("--sysroot", str(machine), UV_DEFAULT_INDEX="https://mirror.example/simple")
    assert (code, found["action"], ids(found)) == (3, "reinstall-with-variant", ["cpu-build"])
    assert "required by: lightning 2.6.0" in found["findings"][0]["evidence"]
    assert found["plan"]["torch"] == "2.9.1"
    assert found["plan"]["variant"].startswith("cu")


def test_a_report_about_this_machine_is_read_with_its_facts(environment, tmp_path):
    environment.add("torch", "2.9.1+cpu", **CPU)
    (tmp_path / "error.txt").write_text("AssertionError: Torch not compiled with CUDA enabled")
    machine = ("--sysroot", str(ROOT / "tests" / "machines" / "rtx4090-580-open"))
    _code, alone = environment.doctor("--report", str(tmp_path / "error.txt"))
    assert alone["findings"][0]["likely"] is True
    code, found = environment.doctor("--live", "--report", str(tmp_path / "error.txt"), *machine)
    assert (code, found["action"], ids(found)) == (3, "reinstall-with-variant", ["cpu-build"])
    assert "likely" not in found["findings"][0]
    assert "Torch not compiled" in found["findings"][0]["evidence"][0]


def test_a_network_that_can_t_work(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    code, found = environment.doctor(HTTPS_PROXY="https://user:secret@proxy.example:3128", SSL_CERT_FILE="/no/such.pem")
    assert (code, sorted(ids(found))) == (3, ["certificate-missing", "proxy-scheme"])
    assert "secret" not in json.dumps(found)
    code, found = environment.doctor(HTTPS_PROXY="http://proxy.example:3128")
    assert (code, ids(found)) == (0, [])


def test_what_an_uninstall_left(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    (environment.site / "~orch").mkdir()
    code, found = environment.doctor()
    assert (code, ids(found)) == (3, ["uninstall-debris"])


def test_a_killed_install_left_its_journal(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    from torchinstall.install.snapshot import Snapshot

    Snapshot.take(environment.prefix, [environment.site])
    # As an installer does it: what is there goes, and isn't written into.
    shutil.rmtree(environment.site / "torch")
    shutil.rmtree(next(environment.site.glob("torch-*.dist-info")))
    environment.add("torch", "2.14.1+cpu", **CPU)
    code, found = environment.doctor()
    assert code == 3
    assert ids(found)[0] == "interrupted-install"
    code, mended = environment.doctor("--fix", "--yes")
    assert (code, mended["action"], ids(mended)) == (0, "none", [])
    assert mended["machine"]["installed"]["torch"] == "2.13.0+cpu"


def test_another_index_is_a_note_and_no_fault(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    code, found = environment.doctor(UV_DEFAULT_INDEX="https://user:secret@mirror.example/simple")
    assert (code, found["action"]) == (0, "none")
    note = next(finding for finding in found["findings"] if finding["id"] == "index-settings")
    assert "mirror.example" in note["evidence"][0]
    assert "secret" not in json.dumps(found)


FAILURES = [
    ("no-kernel-image", "verify-no-kernel-image", "reinstall-with-variant"),
    ("segfault", "verify-crash", "reinstall-with-variant"),
    ("driver-too-old", "verify-driver-too-old", "upgrade-driver"),
    ("out-of-memory", "verify-device-full", "fix-environment"),
    ("device-busy", "verify-device-busy", "fix-environment"),
    ("error-802", "verify-fabric-manager", "fix-environment"),
    ("no-driver", "verify-no-driver", "upgrade-driver"),
    ("wrong-result", "verify-wrong-result", "reinstall-with-variant"),
]


@pytest.mark.parametrize(("behaviour", "name", "action"), FAILURES)
def test_what_a_kernel_shows(environment, behaviour, name, action):
    """Each failure that a CUDA build can show gets its finding and its action, when verify is asked for."""
    environment.add("torch", "2.13.0+cu126", behaviour=Behaviour(behaviour))
    code, found = environment.doctor("--verify")
    assert (code, ids(found)[0], found["action"]) == (3, name, action)
    assert found["reinstalling_helps"] == (action == "reinstall-with-variant")
    assert found["findings"][0]["remedy"]


def test_fix_does_nothing_for_what_no_install_mends(environment, tmp_path):
    environment.add("torch", "2.13.0+cpu", **CPU)
    (tmp_path / "torch.py").write_text("")
    before = sorted(path.name for path in environment.site.iterdir())
    code, said = environment.doctor("--fix", "--yes", cwd=tmp_path)
    assert code == 3
    assert "doesn't mend" in said["error"]["what"]
    assert sorted(path.name for path in environment.site.iterdir()) == before


def test_fix_asks_before_it_changes_anything(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    environment.add("torchvision", "0.27.0+cpu", **CPU)
    code, said = environment.doctor("--fix")
    assert code == 2
    assert "--yes" in said["error"]["todo"][0]


def test_fix_puts_the_right_companion_in(environment, tmp_path):
    """From a replica of the index, through the same transaction as an install."""
    from world import World

    (tmp_path / "world").mkdir()
    world = World(tmp_path / "world")
    try:
        environment.add("torch", "2.13.0+cpu", **CPU)
        environment.add("torchvision", "0.27.0+cpu", **CPU)
        code, found = environment.doctor("--fix", "--yes", **world.environ)
    finally:
        world.close()
    assert (code, found["action"]) == (0, "none"), found["findings"]
    assert found["machine"]["installed"]["torchvision"].startswith("0.28.")
    assert found["verdict"]["outcome"] == "proved"


def test_a_fix_that_fails_its_proof_leaves_all_as_it_was(environment, tmp_path):
    from world import World

    (tmp_path / "world").mkdir()
    world = World(tmp_path / "world", Behaviour("segfault-import"))
    try:
        environment.add("torch", "2.13.0+cpu", **CPU)
        shutil.rmtree(next(environment.site.glob("torch-*.dist-info")))
        before = {path: path.read_bytes() for path in environment.site.rglob("*.py")}
        code, said = environment.doctor("--fix", "--yes", **world.environ)
    finally:
        world.close()
    assert (code, "as it was before" in said["error"]["what"]) == (6, True)
    assert {path: path.read_bytes() for path in environment.site.rglob("*.py")} == before


# -- with a real torch


@pytest.mark.real
def test_a_real_torch_is_healthy_and_quick(real):
    code, found = real.doctor()
    assert (code, found["action"], ids(found)) == (0, "none", [])
    code, found = real.doctor("--verify")
    assert code == 0
    assert {step["name"] for step in found["verdict"]["steps"]} >= {"import", "kernel", "matmul", "fp16", "conv2d"}
    assert all(step["seconds"] < 60 for step in found["verdict"]["steps"] if "seconds" in step)


@pytest.mark.real
def test_a_real_torch_without_a_library_is_mended(real):
    victim = "torch/lib/libc10.so"
    (real.site / victim).unlink()
    code, found = real.doctor("--verify")
    assert (code, found["action"]) == (3, "reinstall-with-variant")
    assert victim in found["findings"][0]["evidence"][0]
    assert any("verify stopped at import" in line for line in found["findings"][0]["evidence"])
    code, mended = real.doctor("--fix", "--yes", UV_FIND_LINKS=real.wheels, UV_OFFLINE="1")
    assert code == 0, json.dumps(mended)[:3000]
    assert (real.site / victim).is_file()
    assert mended["verdict"]["outcome"] == "proved"


@pytest.mark.real
def test_a_real_torch_with_a_foreign_torchvision(real):
    real.add("torchvision", "0.27.0+cu126", variant="cu126")
    try:
        code, found = real.doctor()
    finally:
        shutil.rmtree(real.site / "torchvision")
        shutil.rmtree(next(real.site.glob("torchvision-*.dist-info")))
    assert (code, found["action"], ids(found)) == (3, "reinstall-with-variant", ["companion-mismatch"])
    assert "0.28.0" in found["findings"][0]["cause"]


@pytest.mark.real
def test_a_library_of_the_system_that_wins(real, tmp_path):
    """The loader's order as ld.so has it: what LD_LIBRARY_PATH brings is told where it wins."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    own = next((real.site / "torch" / "lib").glob("libgomp*"))
    shutil.copy(own, foreign / own.name)
    _code, found = real.doctor(LD_LIBRARY_PATH=str(foreign))
    from torchinstall.verify.elf import read_library

    needing = read_library(str(real.site / "torch" / "lib" / "libtorch_cpu.so"))
    assert needing is not None
    wins = bool(needing.runpath) and own.name in needing.needed
    assert ("shadowed-library" in ids(found)) == wins


def test_tests_leave_no_trace_in_the_environment_they_look_at(environment):
    environment.add("torch", "2.13.0+cpu", **CPU)
    before = {str(p): p.stat().st_mtime_ns for p in sorted(Path(environment.prefix).rglob("*")) if p.is_file()}
    environment.doctor()
    after = {str(p): p.stat().st_mtime_ns for p in sorted(Path(environment.prefix).rglob("*")) if p.is_file()}
    assert after == before
