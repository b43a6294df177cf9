"""The fault table: after any end but success the environment is what it was.

After each case the file list with all contents, what uv freezes and what ``import torch`` gives equal those
before.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
import zipfile
from pathlib import Path

import pytest
from ground import INDEX, MACHINE, NEW, WHEEL, Ground, acting, kill_group, odd, wait_for
from world import MACHINES, TAG, tree

from replica import Replica, StubWheel

PAGE = f"/whl/{INDEX}/torch/"
FAST = {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "3"}


@pytest.fixture(autouse=True)
def _hangup_counts():
    """Under nohup the signal is ignored, by us as by every program: here it is to arrive."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def _ground(tmp_path_factory):
    made = Ground(tmp_path_factory.mktemp("ground"))
    yield made
    made.close()


@pytest.fixture
def ground(_ground, record_property, request):
    record_property("fault", request.node.name)
    _ground.world.replica.heal()
    yield _ground
    _ground.back()


@pytest.mark.parametrize(
    ("path", "fault", "code"),
    [
        pytest.param(PAGE, {"status": 500}, 8, id="page-500"),
        pytest.param(PAGE, {"status": 403}, None, id="page-403"),
        pytest.param(PAGE, {"garbage": True}, 8, id="page-garbage"),
        pytest.param(PAGE, {"truncate": 200}, 8, id="page-cut"),
        pytest.param(PAGE, {"drip": 1.0, "chunk": 40}, 8, id="page-drips"),
        pytest.param(PAGE, {"drop": True}, 8, id="page-dropped"),
        pytest.param(PAGE, {"redirect": "http://127.0.0.1:9/elsewhere/"}, 8, id="page-redirected"),
        pytest.param(PAGE, {"wrong_hash": True}, 5, id="page-announces-other-hashes"),
        pytest.param(WHEEL, {"status": 500}, None, id="wheel-500"),
        pytest.param(WHEEL, {"status": 403}, None, id="wheel-403"),
        pytest.param(WHEEL, {"truncate": 50_000}, None, id="wheel-truncated"),
        pytest.param(WHEEL, {"wrong_hash": True}, 5, id="wheel-of-another-hash"),
        pytest.param(WHEEL, {"garbage": True}, 5, id="wheel-is-a-login-page"),
        pytest.param(WHEEL, {"drip": 0.4, "chunk": 30_000, "truncate": 90_000}, None, id="wheel-drips-and-breaks-off"),
        pytest.param(WHEEL, {"drop": True}, None, id="wheel-dropped"),
        pytest.param(
            WHEEL, {"redirect": "http://127.0.0.1:9/other-host.whl"}, None, id="wheel-redirected-to-a-dead-host"
        ),
    ],
)
def test_a_broken_network(ground: Ground, path: str, fault: dict, code: int | None) -> None:
    ground.fresh_cache()
    ground.world.replica.fault(path, **fault)
    done = ground.upgrade(**FAST)
    expected = {code} if code else {5, 8}
    if fault == {"status": 403} and path == PAGE:
        # An index may deny what it doesn't have: what is left is older than what is installed, and that is refused.
        expected = {2}
    assert done.returncode in expected, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    ground.assert_as_before()


def test_a_redirect_to_another_host_that_serves_something_else(ground: Ground) -> None:
    ground.fresh_cache()
    other = StubWheel("torch", f"{NEW}+{INDEX}", python=TAG, platform="manylinux_2_17_x86_64", filler=1000)
    with Replica() as stranger:
        stranger.add_wheel(INDEX, other)
        ground.world.replica.fault(WHEEL, redirect=stranger.file_url(INDEX, other))
        done = ground.upgrade(**FAST)
        assert stranger.count() >= 1
    assert done.returncode == 5, done.stdout + done.stderr
    ground.assert_as_before()


def rewritten(content: bytes, change) -> bytes:
    """Return a wheel whose members have gone through ``change(name, data)``; ``None`` leaves one out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            changed = change(info.filename, source.read(info))
            if changed is not None:
                target.writestr(changed[0], changed[1])
    return out.getvalue()


def _lying(name: str, data: bytes):
    return (name, data.replace(b",200\n", b",201\n") if name.endswith("RECORD") else data)


def _without_record(name: str, data: bytes):
    return None if name.endswith("RECORD") else (name, data)


def _climbing(name: str, data: bytes):
    return ("../../../../climbed.txt", data) if name == "torch/data/f1.txt" else (name, data)


def _climbing_record(name: str, data: bytes):
    if name.endswith("RECORD"):
        data = data.replace(b"torch/data/f1.txt,", b"../../../../climbed.txt,")
    return _climbing(name, data)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda content: b"PK\x03\x04 this is no archive" * 50, id="no-zip"),
        pytest.param(lambda content: content[: len(content) // 2], id="half-a-zip"),
        pytest.param(lambda content: rewritten(content, _lying), id="record-lies"),
        pytest.param(lambda content: rewritten(content, _without_record), id="no-record"),
    ],
)
def test_a_bad_wheel(ground: Ground, make) -> None:
    ground.fresh_cache()
    good = ground.published()
    ground.publish(odd(good, make(good.content)))
    try:
        done = ground.upgrade(**FAST)
    finally:
        ground.publish(good)
    assert done.returncode == 5, done.stdout + done.stderr
    ground.assert_as_before()


@pytest.mark.parametrize("change", [_climbing, _climbing_record], ids=["member-climbs-out", "record-climbs-out"])
def test_a_wheel_that_climbs_out_of_the_environment(ground: Ground, change) -> None:
    """uv leaves such a member out; the rest may be installed, but nothing is written anywhere else."""
    ground.fresh_cache()
    good = ground.published()
    outside = {path for path in ground.folder.iterdir() if path.name != "uv-cache"}
    ground.publish(odd(good, rewritten(good.content, change)))
    try:
        done = ground.upgrade(**FAST)
    finally:
        ground.publish(good)
        ground.fresh_cache()
    assert done.returncode in {0, 5}, done.stdout + done.stderr
    if done.returncode:
        ground.assert_as_before()
    assert not list(ground.folder.parent.rglob("climbed*"))
    assert {path for path in ground.folder.iterdir() if path.name != "uv-cache"} == outside


def test_a_page_with_names_that_climb(ground: Ground) -> None:
    """An address that leads out of its folder is only a file name to us; what it serves must still be right."""
    good = ground.published()
    climbing = StubWheel("torch", f"{NEW}+{INDEX}", python=TAG, platform="../../../../tmp/x")
    ground.world.replica._variants[INDEX]["torch"].insert(0, climbing)
    try:
        ground.world.replica.fault(f"/whl/{INDEX}/{good.filename}", status=404)
        ground.fresh_cache()
        done = ground.upgrade(**FAST)
    finally:
        ground.world.replica._variants[INDEX]["torch"].remove(climbing)
    assert done.returncode in {5, 8}, done.stdout + done.stderr
    ground.assert_as_before()


@pytest.mark.parametrize(
    "behaviour", ["segfault", "segfault-import", "hang", "no-kernel-image", "import-error", "wrong-result"]
)
def test_a_build_that_fails_its_proof(ground: Ground, behaviour: str) -> None:
    good = ground.published()
    bad = StubWheel("torch", good.version, python=TAG, platform=good.platform, behaviour=acting(behaviour)(_build(NEW)))
    ground.fresh_cache()
    ground.publish(bad)
    try:
        done = ground.upgrade(TORCHINSTALL_VERIFY_TIMEOUT="3")
    finally:
        ground.publish(good)
        ground.fresh_cache()
    assert done.returncode == 6, done.stdout + done.stderr
    assert "as it was" in done.stdout
    ground.assert_as_before()


def _build(version: str):
    return type("Build", (), {"torch": version})


FAKE_UV = """#!/bin/sh
case "$*" in
  *--version*) echo "uv 0.13.9"; exit 0;;
  *"pip compile"*) exit 1;;
  *) PLACE=$(dirname "$0")
     rm -rf VENV/lib/python*/site-packages/torch/data VENV/lib/python*/site-packages/torch/version.py
     echo half > VENV/lib/python3/site-packages/torch/half.txt 2>/dev/null
     touch "$PLACE/began"
     ACT;;
esac
"""


@pytest.mark.parametrize(
    ("act", "code"),
    [
        pytest.param("exit 1", 5, id="fails-without-a-word"),
        pytest.param("kill -9 $$", 5, id="is-killed"),
        pytest.param("kill -11 $$", 5, id="crashes"),
        pytest.param("exit 0", 5, id="says-that-it-is-done"),
        pytest.param("sleep 60", 130, id="hangs"),
    ],
)
def test_a_uv_that_does_harm(ground: Ground, tmp_path: Path, act: str, code: int) -> None:
    """It has removed a part of the old torch before it fails; a hanging one is ended by Ctrl-C."""
    fake = tmp_path / "uv"
    fake.write_text(FAKE_UV.replace("VENV", str(ground.world.venv)).replace("ACT", act))
    fake.chmod(0o755)
    process = ground.start(UV=str(fake))
    if code == 130:
        wait_for((tmp_path / "began").exists)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, out + err
    ground.assert_as_before()


def test_a_uv_that_is_too_old_is_passed_over(ground: Ground, tmp_path: Path) -> None:
    old = tmp_path / "uv"
    old.write_text("#!/bin/sh\necho uv 0.4.0\n")
    old.chmod(0o755)
    done = ground.upgrade("--dry-run", UV=str(old))
    assert done.returncode == 0, done.stdout + done.stderr
    ground.assert_as_before()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("moment", ["download", "verify"])
def test_stopped_by_a_signal(ground: Ground, name: str, moment: str) -> None:
    good = ground.published()
    if moment == "download":
        ground.fresh_cache()
        ground.world.replica.fault(WHEEL, drip=0.5, chunk=20_000)
    else:
        ground.publish(StubWheel(
            "torch", good.version, python=TAG, platform=good.platform, behaviour=acting("hang")(_build(NEW)),
        ))  # fmt: skip
        ground.fresh_cache()
    began = len(ground.world.replica.requests)
    process = ground.start()
    try:
        if moment == "download":
            wait_for(lambda: ground.asked_for_wheel(began))
        else:
            wait_for(lambda: _torch_version(ground) == NEW)
        time.sleep(0.2)
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=30)
    finally:
        kill_group(process)
        ground.publish(good)
        ground.fresh_cache()
    assert process.returncode == 130, out + err
    ground.assert_as_before()


def _torch_version(ground: Ground) -> str:
    found = list(ground.world.venv.glob("lib/python*/site-packages/torch-*.dist-info"))
    return found[0].name.removeprefix("torch-").partition("+")[0] if len(found) == 1 else ""


def test_a_terminal_that_goes_away(ground: Ground) -> None:
    """The other side of our terminal is closed in the middle: SIGHUP comes, and nobody reads any more."""
    import pty

    ground.fresh_cache()
    ground.world.replica.fault(WHEEL, drip=0.5, chunk=20_000)
    began = len(ground.world.replica.requests)
    pid, terminal = pty.fork()
    if pid == 0:
        env = {**os.environ, **ground.world.environ}
        os.chdir(ground.folder)
        words = ["--venv", str(ground.world.venv), "--sysroot", str(MACHINES / MACHINE), "torch", "torchvision", "-U"]
        os.execve(sys.executable, [sys.executable, "-m", "torchinstall", *words], env)
    try:
        os.set_blocking(terminal, False)

        def downloading() -> bool:
            with contextlib.suppress(OSError):
                os.read(terminal, 65536)
            return ground.asked_for_wheel(began)

        wait_for(downloading)
        time.sleep(0.3)
        os.close(terminal)
        ended, status = 0, 0

        def over() -> bool:
            nonlocal ended, status
            ended, status = os.waitpid(pid, os.WNOHANG)
            return ended == pid

        wait_for(over, 20)
    finally:
        if not ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    ground.assert_as_before()


def test_two_runs_at_once(ground: Ground) -> None:
    """The second is told so at once, and the first is not disturbed."""
    ground.fresh_cache()
    ground.world.replica.fault(WHEEL, drip=0.5, chunk=60_000)
    first = ground.start()
    try:
        wait_for((ground.world.venv / ".torchinstall" / "lock").exists)
        second = ground.upgrade()
        assert second.returncode == 7, second.stdout + second.stderr
        assert "locked by another run" in second.stderr
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)
    finally:
        kill_group(first)
    ground.assert_as_before()


def test_a_clock_in_the_past(ground: Ground) -> None:
    """Every file of the environment is from the future; nothing goes by the clock."""
    times: dict[Path, int] = {}
    for path in ground.world.venv.rglob("*"):
        if not path.is_symlink():
            times[path] = path.stat().st_mtime_ns
            os.utime(path, ns=(4_000_000_000 * 10**9,) * 2)
    ground.world.replica.fault(WHEEL, status=404)
    ground.fresh_cache()
    done = ground.upgrade(**FAST)
    assert done.returncode in {5, 8}, done.stdout + done.stderr
    ground.assert_as_before()
    for path, stamp in times.items():
        if path.exists():
            os.utime(path, ns=(stamp, stamp))


def test_the_healthy_upgrade_works(ground: Ground) -> None:
    """What the table rests on: without a fault the same call changes the environment; then it is taken back."""
    done = ground.upgrade()
    assert done.returncode == 0, done.stdout + done.stderr
    assert _torch_version(ground) == NEW
    assert tree(ground.world.venv) != ground.before.files
