"""Install as one step: what stays, what is undone, and what another run sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from install.helpers import contents, inner_variant, job, make_target, pin, target_at, uv, versions
from torchinstall.errors import InstallError, TargetError
from torchinstall.install.preflight import Space
from torchinstall.install.snapshot import Snapshot
from torchinstall.install.target import find_target
from torchinstall.install.transaction import install, locked, restore_previous
from torchinstall.install.trees import STATE_DIR
from torchinstall.model.verdict import FAILED, PROVED, UNPROVEN, Verdict


def verdict(outcome):
    return lambda: Verdict(outcome=outcome)


@pytest.fixture
def old(replica, target):
    """An environment that has the CPU build."""
    uv().install(job(target, pin("torch", "2.14.1+cpu", replica.url("cpu"))))
    return target


@pytest.fixture
def wanted(replica, old):
    return job(old, pin("torch", "2.14.1+cu126", replica.url("cu126")), others=["app"])


def go(work, verify, **fields):
    return install(work, uv(), verify=verify, environ=dict(os.environ), **fields)


@pytest.mark.parametrize("outcome", [PROVED, UNPROVEN])
def test_a_proved_or_unproven_installation_stays(old, wanted, outcome):
    done = go(wanted, verdict(outcome))
    assert (done.verdict.outcome, done.restored) == (outcome, False)
    assert {change.name for change in done.changes} == {"app", "torch"}
    assert inner_variant(old) == "2.14.1+cu126"


def test_a_failing_proof_restores_byte_for_byte(old, wanted):
    before = contents(Path(old.prefix))

    def verify():
        assert inner_variant(old) == "2.14.1+cu126"
        return Verdict(outcome=FAILED, cause="no-kernel-image")

    done = go(wanted, verify)
    assert done.restored
    assert done.verdict.cause == "no-kernel-image"
    assert contents(Path(old.prefix)) == before
    assert not (Path(old.prefix) / STATE_DIR).exists()
    assert versions(old) == {"torch": "2.14.1+cpu", "filelock": "1.0"}
    # uv agrees that the environment is whole
    check = [uv_path(), "pip", "check", "--python", old.python]
    assert subprocess.run(check, capture_output=True, check=False).returncode == 0


def uv_path():
    return str(Path(sys.executable).parent / "uv")


def test_keep_leaves_the_failing_build(old, wanted):
    done = go(wanted, verdict(FAILED), keep=True)
    assert not done.restored
    assert inner_variant(old) == "2.14.1+cu126"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_or_interrupt_restores_and_goes_on(old, wanted, error):
    before = contents(Path(old.prefix))

    def verify():
        raise error

    with pytest.raises(error):
        go(wanted, verify)
    assert contents(Path(old.prefix)) == before


def test_a_failing_installer_restores(replica, old, wanted):
    before = contents(Path(old.prefix))
    replica.fault("/packages/app*", status=404)
    with pytest.raises(InstallError):
        go(wanted, verdict(PROVED))
    assert contents(Path(old.prefix)) == before


def test_sigterm_restores(old, wanted):
    before = contents(Path(old.prefix))

    def verify():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        return Verdict(outcome=PROVED)

    former = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        go(wanted, verify)
    assert contents(Path(old.prefix)) == before
    assert signal.getsignal(signal.SIGTERM) == former


def test_a_run_that_was_killed_is_undone_by_the_next(replica, old, wanted, tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from pathlib import Path\n"
        "from install.helpers import job, pin, target_at, uv\n"
        "from torchinstall.install.transaction import install\n"
        f"target = target_at(Path({old.prefix!r}))\n"
        f"work = job(target, pin('torch', '2.14.1+cu126', {replica.url('cu126')!r}))\n"
        "install(work, uv(), verify=lambda: os.kill(os.getpid(), 9), environ=dict(os.environ))\n"
    )
    before = contents(Path(old.prefix))
    assert subprocess.run([sys.executable, str(script)], check=False).returncode == -9
    assert inner_variant(old) == "2.14.1+cu126"
    done = go(wanted, verdict(FAILED))
    assert done.recovered
    assert contents(Path(old.prefix)) == before


def test_the_last_installation_can_be_undone_later(old, wanted):
    before = contents(Path(old.prefix))
    assert not restore_previous(old)
    go(wanted, verdict(PROVED))
    assert contents(Path(old.prefix)) != before
    assert restore_previous(old)
    assert contents(Path(old.prefix)) == before
    assert not restore_previous(old)
    assert not (Path(old.prefix) / STATE_DIR).exists()


def test_nothing_is_kept_where_that_isnt_wanted(old, wanted):
    go(wanted, verdict(PROVED), keep_previous=False)
    assert [path.name for path in (Path(old.prefix) / STATE_DIR).iterdir()] == ["receipt.json"]


def test_a_created_environment_is_removed_after_a_failure(replica, tmp_path):
    for verify in (verdict(FAILED), None):
        prefix = tmp_path / "fresh"
        found = find_target(
            python=sys.executable, venv=str(prefix), system=False, environ=os.environ, cwd=tmp_path, create=True
        )
        assert found.created
        made = target_at(prefix, created=True, folders=found.folders)
        work = job(made, pin("torch", "2.14.1+cu126", replica.url("cu126")))
        if verify:
            assert go(work, verify).restored
        else:
            missing = work.plan.packages[0].replace(version="9.9+cu126")
            with pytest.raises(InstallError):
                go(work.replace(plan=work.plan.replace(packages=(missing,))), verdict(PROVED))
        assert not prefix.exists()


def test_a_created_environment_stays_after_success(replica, tmp_path, uv_binary):
    fresh = make_target(tmp_path / "fresh", uv_binary, created=True)
    go(job(fresh, pin("torch", "2.14.1+cu126", replica.url("cu126"))), verdict(PROVED))
    assert versions(fresh)["torch"] == "2.14.1+cu126"
    assert Snapshot.open(Path(fresh.prefix)) is None


def test_a_second_run_is_told_at_once(old, wanted):
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with locked(old):
            entered.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    before = contents(Path(old.prefix))
    started = time.monotonic()
    with pytest.raises(TargetError, match="locked by another run"):
        go(wanted, verdict(PROVED))
    assert time.monotonic() - started < 1
    assert (Path(old.prefix) / STATE_DIR / "lock").exists()
    leave.set()
    holder.join()
    assert contents(Path(old.prefix)) == before
    assert not (Path(old.prefix) / STATE_DIR).exists()


def test_too_little_space_is_told_before_anything_changes(old, wanted):
    before = contents(Path(old.prefix))
    with pytest.raises(TargetError, match="not enough space"):
        go(wanted, verdict(PROVED), space=Space(target=10**18))
    assert contents(Path(old.prefix)) == before
