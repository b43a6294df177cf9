"""The real uv against a replica of the indexes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from install.helpers import (
    INDEX_DATA,
    LINUX,
    TAG,
    contents,
    inner_variant,
    job,
    pin,
    uv,
    versions,
)
from replica import Replica, StubWheel
from torchinstall.errors import IndexUnreachableError, InstallError
from torchinstall.install.backend import Change
from torchinstall.install.known_errors import explain_failure, load_known_errors
from torchinstall.install.settings import read_settings
from torchinstall.install.uv import read_changes


def test_pins_come_from_their_index_and_the_rest_from_the_default_one(replica, target):
    # the default index has a newer torch, which must not win
    changes = uv().install(
        job(
            target,
            pin("torch", "2.14.1+cu126", replica.url("cu126")),
            pin("torchvision", "0.29.1+cu126", replica.url("cu126")),
            others=["app"],
        )
    )
    assert versions(target) == {
        "torch": "2.14.1+cu126",
        "torchvision": "0.29.1+cu126",
        "filelock": "1.0",
        "app": "1.0",
    }
    assert Change(name="torch", after="2.14.1+cu126") in changes
    assert replica.count("/simple/torch/") <= 1  # our own look at the default index
    assert replica.count("/whl/cu126/filelock/") == 0
    assert replica.count("/whl/cu126/app/") == 0


def test_a_change_of_the_local_part_alone_replaces(replica, target):
    uv().install(job(target, pin("torch", "2.14.1+cpu", replica.url("cpu"))))
    wanted = job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")))
    expected = (Change(name="torch", before="2.14.1+cpu", after="2.14.1+cu126"),)
    assert uv().preview(wanted) == expected
    assert inner_variant(target) == "2.14.1+cpu"
    assert uv().install(wanted) == expected
    assert inner_variant(target) == "2.14.1+cu126"


def test_the_default_build_replaces_one_with_a_local_part_where_the_caller_says_so(replica, target):
    publish_local = StubWheel("torch", "2.15.0+cpu", platform="manylinux_2_17_x86_64", python=TAG)
    replica.add_wheel("cpu", publish_local)
    uv().install(job(target, pin("torch", "2.15.0+cpu", replica.url("cpu"))))
    uv().install(job(target, pin("torch", "2.15.0", "default"), reinstall=("torch",)))
    assert versions(target)["torch"] == "2.15.0"
    assert inner_variant(target) == "2.15.0+cu132"


def test_a_find_links_folder_is_a_source(replica, target, tmp_path):
    folder = Replica().flat_dir(
        tmp_path / "wheels here", StubWheel("torch", "2.13.0+cu126", TAG, "manylinux_2_17_x86_64")
    )
    uv().install(job(target, pin("torch", "2.13.0+cu126", str(folder), kind="flat")))
    assert versions(target) == {"torch": "2.13.0+cu126"}
    uv().install(job(target, pin("torch", "2.14.1+cu126", replica.flat_url("cu126"), kind="flat")))
    assert versions(target)["torch"] == "2.14.1+cu126"


def test_the_default_pin_isnt_taken_from_find_links(replica, target, tmp_path, monkeypatch):
    # ==2.15.0 would also accept 2.15.0+cpu, which lies in the user's folder
    folder = Replica().flat_dir(tmp_path / "wheels", StubWheel("torch", "2.15.0+cpu", TAG, "manylinux_2_17_x86_64"))
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    uv().install(job(target, pin("torch", "2.15.0", "default"), others=["app"]))
    assert inner_variant(target) == "2.15.0+cu132"


def test_another_package_is_bound_to_the_index_of_the_variant(replica, target):
    # a ROCm build needs a triton that only its own index has right; a namesake lies on the default index
    replica.add_wheel(
        "rocm7.2", StubWheel("torch", "2.14.1+rocm7.2", TAG, "manylinux_2_17_x86_64", requires=("triton-rocm==3.5",))
    )
    replica.add_wheel("rocm7.2", StubWheel("triton-rocm", "3.5", "py3", "any"))
    replica.add_default(StubWheel("triton-rocm", "3.5", "py3", "any", files=(("evil.py", "x = 1"),)))
    url = replica.url("rocm7.2")
    uv().install(job(target, pin("torch", "2.14.1+rocm7.2", url), bound={"triton-rocm": url}))
    assert versions(target) == {"torch": "2.14.1+rocm7.2", "triton_rocm": "3.5"}
    assert not (Path(target.purelib) / "evil.py").exists()


def test_settings_of_the_current_directory_dont_leak(replica, target, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        "[project]\nname = 'p'\nversion = '0'\n[tool.uv]\nconstraint-dependencies = ['torch<2']\n"
        "[tool.uv.pip]\nno-deps = true\n"
    )
    (project / "uv.toml").write_text("no-index = true\n")
    monkeypatch.chdir(project)
    monkeypatch.delenv("UV_NO_CONFIG")
    uv().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), cwd=project))
    assert versions(target) == {"torch": "2.14.1+cu126", "filelock": "1.0"}


def test_variables_that_would_redirect_torch_have_no_effect(replica, target, monkeypatch):
    monkeypatch.setenv("UV_TORCH_BACKEND", "cpu")
    monkeypatch.setenv("UV_INDEX_STRATEGY", "unsafe-best-match")
    monkeypatch.setenv("UV_NO_SOURCES", "1")
    monkeypatch.setenv("UV_EXTRA_INDEX_URL", replica.url("cpu"))
    for name in ("app", "filelock"):  # uv stops at an extra index that answers 403
        replica.fault(f"/whl/cpu/{name}/", status=404)
    monkeypatch.setenv("UV_RESOLUTION", "lowest")
    monkeypatch.setenv("VIRTUAL_ENV", "/nowhere")
    uv().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["app"]))
    assert inner_variant(target) == "2.14.1+cu126"


def test_pips_settings_reach_uv_where_uv_has_none(replica, target, tmp_path, monkeypatch):
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", replica.default_url)
    folder = Replica().flat_dir(tmp_path / "own", StubWheel("private-tool", "3.0", "py3", "any"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    uv().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["private-tool"]))
    assert versions(target)["private_tool"] == "3.0"
    assert versions(target)["filelock"] == "1.0"


def test_an_extra_index_that_is_also_the_pins_own_still_serves_the_rest(replica, target, monkeypatch):
    replica.add_wheel("own", StubWheel("torch", "2.14.1+vendor", TAG, LINUX[0], requires=("filelock",)))
    replica.add_wheel("own", StubWheel("private-tool", "3.0", "py3", "any"))
    replica.fault("/whl/own/filelock/", status=404)
    monkeypatch.setenv("UV_INDEX", f"own={replica.url('own')}")
    uv().install(job(target, pin("torch", "2.14.1+vendor", replica.url("own")), others=["private-tool"]))
    assert versions(target) == {"torch": "2.14.1+vendor", "private_tool": "3.0", "filelock": "1.0"}


@pytest.mark.parametrize(
    ("variable", "strategy", "found"),
    [("PIP_EXTRA_INDEX_URL", None, "2.0"), ("PIP_EXTRA_INDEX_URL", "first-index", None), ("UV_INDEX", None, None),
     ("UV_INDEX", "unsafe-best-match", "2.0")],
)  # fmt: skip
def test_several_indexes_are_as_the_tool_has_them_that_knows_them(
    replica, target, monkeypatch, variable, strategy, found
):
    """An extra index of pip's is one more place, the best version of any counts; uv's own stops at the first."""
    replica.add_default(StubWheel("shared-tool", "2.0", "py3", "any"))
    replica.add_wheel("own", StubWheel("shared-tool", "1.0", "py3", "any"))
    for name in ("torch", "filelock"):
        replica.fault(f"/whl/own/{name}/", status=404)
    monkeypatch.setenv(variable, replica.url("own"))
    if strategy:
        monkeypatch.setenv("UV_INDEX_STRATEGY", strategy)
    wanted = job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["shared-tool==2.0"])
    if found is None:
        with pytest.raises(InstallError):
            uv().install(wanted)
        return
    uv().install(wanted)
    assert versions(target)["shared_tool"] == found
    assert inner_variant(target) == "2.14.1+cu126"


@pytest.mark.parametrize("name", ["wheels, and more", "wheels"])
def test_find_links_with_a_comma_in_the_path(replica, target, tmp_path, monkeypatch, name):
    folder = Replica().flat_dir(tmp_path / name, StubWheel("private-tool", "3.0", "py3", "any"))
    monkeypatch.setenv("PIP_FIND_LINKS", f"file://{folder}".replace(" ", "%20"))
    uv().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["private-tool"]))
    assert versions(target)["private_tool"] == "3.0"


def test_other_requirements_may_be_files_and_paths(replica, target, tmp_path):
    (tmp_path / "reqs").mkdir()
    (tmp_path / "reqs" / "more.txt").write_text("app\n")
    wheel = StubWheel("local-tool", "1.0", "py3", "any")
    (tmp_path / wheel.filename).write_bytes(wheel.content)
    uv().install(
        job(
            target,
            pin("torch", "2.14.1+cu126", replica.url("cu126")),
            others=["-r reqs/more.txt", f"./{wheel.filename}"],
            cwd=tmp_path,
        )
    )
    assert {"app", "local_tool"} <= set(versions(target))


def test_a_known_hash_is_checked(replica, target):
    (wheel,) = [w for path, w in replica._files.items() if path.startswith("/whl/cu126/torch-")]
    good = pin("torch", "2.14.1+cu126", replica.url("cu126"), sha256=wheel.sha256)
    with pytest.raises(InstallError, match="hash differs") as caught:
        uv().install(job(target, good.replace(sha256="0" * 64)))
    assert "torch==2.14.1+cu126" in caught.value.what
    assert "Hash mismatch" in caught.value.details
    assert versions(target) == {}
    uv().install(job(target, good))
    assert versions(target)["torch"] == "2.14.1+cu126"


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/whl"


def test_an_unreachable_index_is_known_within_three_seconds(replica, target):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for url in (closed_port(), f"http://127.0.0.1:{silent.getsockname()[1]}/whl"):
            started = time.monotonic()
            with pytest.raises(IndexUnreachableError) as caught:
                uv().install(job(target, pin("torch", "2.14.1+cu126", url.replace("//", "//me:s3cret@"))))
            assert time.monotonic() - started < 3.3
            assert "s3cret" not in f"{caught.value} {caught.value.details}"


def test_an_unreachable_default_index(replica, target, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", closed_port())
    started = time.monotonic()
    with pytest.raises(IndexUnreachableError, match="can't be reached"):
        uv().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126"))))
    assert time.monotonic() - started < 3.5


@pytest.mark.parametrize(
    ("version", "others", "words"),
    [
        ("2.99.0+cu126", [], "torch 2.99.0+cu126 isn't on its index"),
        ("2.14.1+cu126", ["nosuchpackage"], "nosuchpackage isn't on any"),
        ("2.14.1+cu126", ["old-app"], "can't be installed together"),
        ("2.14.1+cu126", ["-c /nonexistent/c.txt"], "/nonexistent/c.txt isn't there"),
        ("2.14.1+cu126", ["a b c"], "a b c isn't a requirement"),
    ],
)
def test_failures_are_told_in_our_words(replica, target, version, others, words):
    before = contents(Path(target.prefix))
    with pytest.raises(InstallError) as caught:
        uv().install(job(target, pin("torch", version, replica.url("cu126")), others=others))
    assert words in caught.value.what
    assert caught.value.details.splitlines()
    assert caught.value.todo
    after = contents(Path(target.prefix))
    after.pop(str(Path(target.prefix, ".lock")), None)  # uv's own
    assert after == before


def test_a_wheel_for_another_python_is_told(replica, target):
    replica.add_wheel("cu126", StubWheel("torch", "2.14.2+cu126", "cp39", "manylinux_2_17_x86_64"))
    with pytest.raises(InstallError, match="no wheel for this Python"):
        uv().install(job(target, pin("torch", "2.14.2+cu126", replica.url("cu126"))))


def test_the_users_constraints_are_obeyed(replica, target, tmp_path, monkeypatch):
    (tmp_path / "limits.txt").write_text("torch==2.13\n")
    monkeypatch.setenv("PIP_CONSTRAINT", "limits.txt")
    settings = read_settings(os.environ, cwd=tmp_path, root=tmp_path / "no-system")
    with pytest.raises(InstallError, match="can't be installed together") as caught:
        uv().install(job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")), settings=settings))
    assert "torch==2.13" in caught.value.details


def test_offline_uses_what_is_cached(replica, target, tmp_path, uv_binary):
    wanted = job(target, pin("torch", "2.14.1+cu126", replica.url("cu126")))
    with pytest.raises(IndexUnreachableError, match="network is switched off"):
        uv().install(wanted.replace(offline=True))
    assert replica.requests == []
    uv().install(wanted)
    subprocess.run([uv_binary, "pip", "uninstall", "-q", "--python", target.python, "torch"], check=True)
    count = len(replica.requests)
    uv().install(wanted.replace(offline=True))
    assert versions(target)["torch"] == "2.14.1+cu126"
    assert len(replica.requests) == count


def test_an_interrupt_ends_uv(replica, target, tmp_path):
    replica.fault("/whl/cu126/torch-*", drip=0.3, chunk=50)
    script = tmp_path / "run.py"
    script.write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from install.helpers import job, pin, target_at, uv\n"
        "from pathlib import Path\n"
        "try:\n"
        f"    torch = pin('torch', '2.14.1+cu126', {replica.url('cu126')!r})\n"
        f"    uv().install(job(target_at(Path({target.prefix!r})), torch))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted'); sys.exit(130)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not replica.count("/whl/cu126/torch-*") and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(2)
    output, _ = process.communicate(timeout=20)
    assert (process.returncode, output.strip()) == (130, "interrupted")
    time.sleep(0.5)
    cut = len(replica.requests)
    time.sleep(0.7)
    assert len(replica.requests) == cut  # uv is gone


def test_changes_are_read_from_uvs_lines():
    output = (
        "Resolved 3 packages\n - torch==2.0+cpu\n + torch==2.0+cu126\n ~ app==1\n + new==3 (from file:///x)\n-  x\n"
    )
    assert read_changes(output) == (
        Change(name="app", before="1", after="1"),
        Change(name="new", after="3"),
        Change(name="torch", before="2.0+cpu", after="2.0+cu126"),
    )


def test_the_table_of_errors_is_valid():
    import jsonschema

    document = json.loads((INDEX_DATA / "installer_errors.json").read_text())
    schema = json.loads((INDEX_DATA / "schema" / "installer_errors.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert {row["source"] for row in document["rows"]} <= set(document["sources"])
    rows = load_known_errors(INDEX_DATA)
    assert len({row.id for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [
        ("error: failed to write\n  cause: No space left on device (os error 28)", 7, "disk is full"),
        ("error: x\n  cause: Permission denied (os error 13)", 7, "can't be written"),
        ("error: The interpreter at /usr is externally managed", 7, "externally managed"),
        ("  cause: Failed to fetch: http://u:pw@h.example/x/\n  cause: dns error", 8, "http://***@h.example/x/ can't"),
        ("  cause: invalid peer certificate: UnknownIssuer", 8, "certificate"),
        ("error: Failed to download `a==1`\n  cause: Failed to extract archive: a.whl", 5, "a==1 broke off"),
        ("  cause: Because torch was not found in the cache and x depends on torch==2", 8, "torch isn't in the cache"),
        ("something else", 5, "uv failed"),
    ],
)
def test_known_errors(output, code, words):
    error = explain_failure("uv", output, load_known_errors(INDEX_DATA), tail=output)
    assert error.exit_code == code
    assert words in error.what
    assert "{" not in f"{error.what}{error.why}{error.todo}"
    assert ":pw@" not in error.details
