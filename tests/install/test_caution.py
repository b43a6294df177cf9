"""What is said and asked before an environment is changed."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from install.helpers import job, pin, site, target_at, uv
from torchinstall.install import caution
from torchinstall.install.records import damaged, installed
from torchinstall.install.sizes import Wheel, ample, space_of, with_sizes, words
from torchinstall.install.target import Target


def target(prefix: Path) -> Target:
    return Target(python=None, prefix=str(prefix), origin="test")


def dist(root: Path, name: str, version: str, requires=(), installer="uv", files=None) -> None:
    """Put a package by its metadata, with files of the sizes that RECORD tells."""
    info = root / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n\nWords.\n")
    (info / "INSTALLER").write_text(installer)
    rows = []
    for path, size in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x" * size)
        rows.append(f"{path},sha256=abc,{size}\n")
    (info / "RECORD").write_text("".join(rows))


@pytest.mark.parametrize(("name", "command"), caution.LOCKS)
def test_a_lock_beside_the_environment_rules_it(tmp_path, name, command):
    prefix = tmp_path / "project" / ".venv"
    prefix.mkdir(parents=True)
    assert caution.lock_manager(target(prefix), tmp_path) is None
    (prefix.parent / name).write_text("")
    question = caution.lock_manager(target(prefix), tmp_path)
    assert name in question
    assert command in question


def test_an_environment_in_a_managers_store_belongs_to_the_project_here(tmp_path):
    prefix = tmp_path / "cache" / "pypoetry" / "virtualenvs" / "app-x-py3.11"
    prefix.mkdir(parents=True)
    here = tmp_path / "app" / "src"
    here.mkdir(parents=True)
    (tmp_path / "app" / "poetry.lock").write_text("")
    assert "poetry.lock" in caution.lock_manager(target(prefix), here)
    # another environment isn't the project's, wherever we stand
    other = tmp_path / "envs" / "mine"
    other.mkdir(parents=True)
    assert caution.lock_manager(target(other), here) is None


def test_condas_base_is_known(tmp_path):
    (tmp_path / "conda-meta").mkdir()
    assert not caution.is_conda_base(tmp_path)
    (tmp_path / "condabin").mkdir()
    assert caution.is_conda_base(tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from /proc")
def test_a_process_that_has_torch_loaded_is_found(tmp_path):
    library = tmp_path / "site-packages" / "torch" / "lib" / "libtorch_cpu.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"x" * mmap.PAGESIZE)
    root = tmp_path / "site-packages"
    assert caution.using_torch([root]) == []
    code = (
        f"import mmap, sys; file = open({str(library)!r}, 'rb')\n"
        "held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\nprint('there', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert [number for number, _ in caution.using_torch([root])] == [process.pid]
        process.stdin.close()
        process.wait(10)


def test_memory_is_the_least_of_kernel_and_container(tmp_path):
    assert caution.free_memory(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 4000000 kB\nMemAvailable: 1000 kB\nSwapFree: 500 kB\n")
    assert caution.free_memory(tmp_path) == 1250 * 1024
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("5\n")
    assert caution.free_memory(tmp_path) == 1250 * 1024
    (group / "memory.max").write_text("105\n")
    assert caution.free_memory(tmp_path) == 100


def test_what_the_user_has_set_stays():
    assert "UV_CONCURRENT_DOWNLOADS" not in caution.sparing({"UV_CONCURRENT_DOWNLOADS": "9"})
    assert caution.sparing({})["PIP_NO_CACHE_DIR"] == "1"


def test_long_windows_paths():
    site = "C:\\Users\\somebody-with-a-long-name\\Documents\\projects\\a-project\\.venv\\Lib\\site-packages"
    warning = caution.path_too_long(site, windows=True, long_paths=False)
    assert "LongPathsEnabled" in warning
    assert caution.path_too_long(site, windows=True, long_paths=True) is None
    assert caution.path_too_long(site, windows=False, long_paths=False) is None
    assert caution.path_too_long("C:\\torch\\Lib\\site-packages", windows=True, long_paths=False) is None


def test_packages_that_a_change_breaks(tmp_path):
    dist(tmp_path, "torch", "2.13.0")
    dist(tmp_path, "needs-old", "1.0", ["torch<2.14", "numpy; extra == 'x'"])
    dist(tmp_path, "fine", "1.0", ["torch>=2"])
    dist(tmp_path, "broken-before", "1.0", ["torch<2"])
    dist(tmp_path, "elsewhere", "1.0", ["torch<2.14; sys_platform == 'win32'"])
    assert caution.broken_by([tmp_path], {"torch": "2.14.1+cu126"}, {"sys_platform": "linux"}) == [
        "needs-old 1.0 requires torch<2.14, and gets 2.14.1+cu126"
    ]


def test_orphans_of_an_old_cuda(tmp_path):
    dist(tmp_path, "torch", "2.15.0", ["nvidia-cudnn-cu13==9"])
    for name, requires in (
        ("nvidia-cudnn-cu13", ()),
        ("nvidia-cusolver-cu12", ("nvidia-cublas-cu12",)),
        ("nvidia-cublas-cu12", ()),
        ("nvidia-nccl-cu12", ()),
    ):
        dist(tmp_path, name, "1.0", requires)
    dist(tmp_path, "cupy-like", "1.0", ["nvidia-nccl-cu12"])
    assert caution.orphans([tmp_path], "cu132") == ["nvidia-cublas-cu12", "nvidia-cusolver-cu12"]
    assert caution.orphans([tmp_path], "cu126") == []  # torch still requires the one of CUDA 13


def test_damage_is_counted_by_sizes(tmp_path):
    dist(tmp_path, "torch", "2.13.0", files={"torch/a.py": 5, "torch/lib/b.so": 7, "torch/__pycache__/a.pyc": 3})
    dist(tmp_path, "by-conda", "1.0", installer="conda", files={"by_conda/a.py": 5})
    (tmp_path / "by_conda" / "a.py").write_text("rewritten by conda")
    (tmp_path / "torch" / "__pycache__" / "a.pyc").unlink()
    assert damaged([tmp_path]) == ()
    (tmp_path / "torch" / "a.py").write_text("longer now")
    (tmp_path / "torch" / "lib" / "b.so").unlink()
    (found,) = damaged([tmp_path])
    assert (found.name, found.files, found.missing, found.wrong) == ("torch", 2, 1, 1)
    assert "torch 2.13.0: of 2 files 1 missing and 1 of another size" in found.words()
    assert damaged([tmp_path], ["torchvision"]) == ()
    (tmp_path / "torch-2.13.0.dist-info" / "RECORD").unlink()
    assert damaged([tmp_path])[0].example.endswith("RECORD")
    assert [name for name, _, _ in installed(tmp_path)] == ["by-conda", "torch"]
    assert damaged([tmp_path / "nowhere"]) == ()


def test_sizes_are_summed_with_dependencies(replica, tmp_path, uv_binary):
    """The page of the PyTorch index tells no sizes: the server of the file does."""
    from install.helpers import make_target
    from torchinstall.index.http import Client

    fresh = make_target(tmp_path / "env", uv_binary)
    work = job(fresh, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["app"])
    wheels = uv().lock(work)
    assert {wheel.name for wheel in wheels} == {"torch", "filelock", "app"}
    sized = with_sizes(wheels, Client())
    torch = next(wheel for wheel in sized if wheel.name == "torch")
    assert torch.size == replica._variants["cu126"]["torch"][0].size
    total = sum(wheel.size for wheel in sized)
    assert space_of(work, sized, "uv").target > total
    assert space_of(work, sized, "pip").cache == total
    uv().install(job(fresh, pin("torch", "2.14.1+cu126", replica.url("cu126"))))
    left = space_of(work, sized, "pip").cache
    assert left == next(wheel.size for wheel in sized if wheel.name == "app")
    assert site(fresh).is_dir()
    assert target_at(tmp_path / "env").prefix == fresh.prefix


@pytest.mark.parametrize(
    ("variant", "others", "free", "enough"),
    [("cpu", [], 11, True), ("cpu", [], 9, False), ("cpu", ["vllm"], 11, False), ("cu126", [], 39, False),
     ("cu126", ["vllm"], 41, True), (None, [], 39, False)],
)  # fmt: skip
def test_sizes_are_left_out_only_where_there_is_room_for_anything(monkeypatch, tmp_path, variant, others, free, enough):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage.__class__(10**12, 0, free * 10**9))
    work = job(target(tmp_path), pin("torch", "2.14.1", "default"), others=others)
    work = work.replace(plan=work.plan.replace(variant=variant))
    assert ample(work, {}) is enough


def test_sizes_in_words():
    assert words(190_300_000) == "190 MB"
    assert words(2_400_000_000) == "2.4 GB"
    assert words(10) == "1 MB"
    assert Wheel(name="a", version="1", url="http://h/a-1%2Bcpu-py3.whl#x").filename == "a-1+cpu-py3.whl"
