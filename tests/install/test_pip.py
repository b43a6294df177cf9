"""pip as the second back end: the same plan gives the same set, from the same places."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from install.helpers import INDEX_DATA, LINUX, TAG, inner_variant, job, make_target, pin, site, uv, versions
from replica import Replica, StubWheel
from torchinstall.errors import IndexUnreachableError, InstallError
from torchinstall.install import find_pip as module
from torchinstall.install.backend import Change
from torchinstall.install.find_pip import find_pip
from torchinstall.install.pip import Pip


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """One pip for all tests: compiling it takes longer than what it then does."""
    place = tmp_path_factory.mktemp("pip")
    return module.Pip(python=sys.executable, version=module._unpack(bundled(), place), path=str(place))


def bundled() -> str:
    asked = subprocess.run([sys.executable, "-c", module._BUNDLED], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


@pytest.fixture(autouse=True)
def quick(request, monkeypatch, unpacked):
    if "without_pip" not in request.node.name:
        monkeypatch.setattr(
            "torchinstall.install.pip.find_pip", lambda python, _environ, _folder: unpacked.replace(python=python)
        )


def pip(**environ: str) -> Pip:
    return Pip({**os.environ, **environ}, index_data=INDEX_DATA)


def freeze(target) -> list[str]:
    command = [str(Path(sys.executable).with_name("uv")), "pip", "freeze", "-q", "--python", target.python]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_both_back_ends_give_the_same_set(replica, target, tmp_path, uv_binary):
    other = make_target(tmp_path / "other", uv_binary)
    for where, installer in ((target, uv()), (other, pip())):
        pins = (
            pin("torch", "2.14.1+cu126", replica.url("cu126")),
            pin("torchvision", "0.29.1+cu126", replica.url("cu126")),
        )
        changes = installer.install(job(where, *pins, others=["app"]))
        assert {change.name for change in changes} == {"torch", "torchvision", "filelock", "app"}
    assert freeze(target) == freeze(other) != []
    assert inner_variant(other) == "2.14.1+cu126"


def test_the_default_index_never_serves_the_family(replica, target):
    """It has a newer torch, and so would win by version."""
    pip().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126"))))
    assert versions(target) == {"torch": "2.14.1+cu126", "filelock": "1.0"}
    assert replica.count("/packages/torch-*") == 0
    assert replica.count("/whl/cu126/filelock/") == 0


def test_indexes_of_pips_own_configuration_have_no_part_in_the_familys_step(replica, target, tmp_path):
    """An extra index with the very version, but other bytes: with priorities it could be taken."""
    with Replica() as stranger:
        stranger.add_default(StubWheel("torch", "2.14.1+cu126", python=TAG, platform=LINUX[0], filler=50))
        config = tmp_path / "pip.conf"
        config.write_text(f"[global]\nextra-index-url = {stranger.default_url}\n")
        work = job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")))
        pip(PIP_CONFIG_FILE=str(config), PIP_EXTRA_INDEX_URL=stranger.default_url).install(work)
        assert stranger.count("*.whl") == 0
    assert not (site(target) / "torch" / "filler.bin").exists()


def test_a_change_of_the_local_part_alone_replaces(replica, target):
    pip().install(job(target, pin("torch", "2.14.1+cpu", replica.url("cpu"))))
    wanted = job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")))
    expected = (Change(name="torch", before="2.14.1+cpu", after="2.14.1+cu126"),)
    assert pip().preview(wanted) == expected
    assert pip().install(wanted) == expected


def test_the_default_build_replaces_one_with_a_local_part(replica, target):
    replica.add_wheel("cpu", StubWheel("torch", "2.15.0+cpu", python=TAG, platform=LINUX[0]))
    pip().install(job(target, pin("torch", "2.15.0+cpu", replica.url("cpu"))))
    pip().install(job(target, pin("torch", "2.15.0", "default"), reinstall=("torch",)))
    assert inner_variant(target) == "2.15.0+cu132"


def test_a_known_hash_is_checked(replica, target):
    good = replica._variants["cu126"]["torch"][0]
    where = replica.url("cu126")
    with pytest.raises(InstallError) as caught:
        pip().install(job(target, pin("torch", "2.14.1+cu126", where, sha256="0" * 64)))
    assert "hash" in caught.value.what
    assert versions(target) == {}
    pip().install(job(target, pin("torch", "2.14.1+cu126", where, sha256=good.sha256)))
    assert inner_variant(target) == "2.14.1+cu126"


def test_a_folder_of_wheels_is_a_source(replica, target, tmp_path):
    replica.flat_dir(tmp_path / "wheels", *replica._variants["cpu"]["torch"])
    pip().install(job(target, pin("torch", "2.14.1+cpu", str(tmp_path / "wheels"), kind="flat")))
    assert inner_variant(target) == "2.14.1+cpu"


def test_a_dependency_of_the_variants_own_index(replica, target):
    """What torch pins and only its own index has right comes from there, though the default index has it too."""
    replica.add_wheel("rocm7.2", StubWheel(
        "torch", "2.14.1+rocm7.2", python=TAG, platform=LINUX[0], requires=("triton-rocm==3.5.0",),
    ))  # fmt: skip
    replica.add_wheel("rocm7.2", StubWheel("triton-rocm", "3.5.0", python=TAG, platform=LINUX[0], filler=9))
    replica.add_default(StubWheel("triton-rocm", "3.5.0", python="py3", platform="any"))
    url = replica.url("rocm7.2")
    pip().install(job(target, pin("torch", "2.14.1+rocm7.2", url), bound={"triton-rocm": url}))
    assert versions(target) == {"torch": "2.14.1+rocm7.2", "triton_rocm": "3.5.0"}
    assert replica.count("/packages/triton_rocm*") == 0


def test_others_that_want_another_torch_are_a_conflict(replica, target):
    with pytest.raises(InstallError):
        pip().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["old-app"]))


def test_an_unreachable_index(replica, target):
    replica.stop()
    with pytest.raises(IndexUnreachableError):
        pip().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126"))))


@pytest.mark.parametrize("fault", [{"truncate": 500}, {"status": 500}, {"garbage": True}])
def test_failures_are_told_in_our_words(replica, target, fault):
    replica.fault("/whl/cu126/torch-2*", **fault)
    work = job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")))
    with pytest.raises((InstallError, IndexUnreachableError)) as caught:
        pip(PIP_RETRIES="0").install(work)
    assert caught.value.details


def test_an_environment_without_pip_gets_none(replica, target, tmp_path):
    assert not list(site(target).glob("pip*"))
    program = find_pip(target.python, os.environ, tmp_path)
    assert program.path is not None
    pip().install(job(target, pin("torch", "2.14.1+cpu", replica.url("cpu"))))
    assert "pip" not in versions(target)


def test_a_python_that_brings_no_pip_borrows_one(replica, target, tmp_path, monkeypatch):
    """Debian's Python has no ensurepip: uv fetches pip into a folder that goes again."""
    wheel = Path(bundled())
    links = tmp_path / "links"
    links.mkdir()
    shutil.copy(wheel, links)
    monkeypatch.setattr("torchinstall.install.find_pip._BUNDLED", "print('')")
    environ = {**os.environ, "UV_FIND_LINKS": str(links), "UV_NO_INDEX": "1"}
    program = find_pip(target.python, environ, tmp_path / "scratch")
    assert program.path == str(tmp_path / "scratch" / "pip")
    with pytest.raises(InstallError, match="there is no pip"):
        find_pip(target.python, {**environ, "UV_FIND_LINKS": str(tmp_path / "nothing")}, tmp_path / "more")


def test_all_hashes_are_checked_where_all_are_given(replica, target):
    where = replica.url("cu126")
    good = {f"torch=={w.version}": w.sha256 for w in replica._variants["cu126"]["torch"]}
    rest = {f"{name}==1.0": replica._default[name][0].sha256 for name in ("filelock", "app")}
    work = job(target, pin("torch", "2.14.1+cu126", where), others=["app"])
    for name in (*good, *rest):
        with pytest.raises(InstallError):
            pip().install(work.replace(hashes={**good, **rest, name: "0" * 64}))
    pip().install(work.replace(hashes={**good, **rest}))
    assert set(versions(target)) == {"torch", "filelock", "app"}
