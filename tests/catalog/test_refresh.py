"""``catalog refresh`` end to end: the real command line against a replica of the indexes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from catalog.stock import ARM, DATA, TAG, WIN, X86, Desk, fatbin, release, texts, with_library
from replica import StubWheel

NEW = "2.16.0"
ARCHS = (75, 80, 86, 90, 100, 103, 120)


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path, stocked=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A desk with all that the shipped rows know; tests that share it don't publish."""
    made = Desk(tmp_path_factory.mktemp("full"))
    yield made
    made.close()


def small(desk: Desk) -> None:
    """Today's torch alone: enough of an index to judge by."""
    release(desk.replica, "2.15.0", "cu132", default=True)
    release(desk.replica, "0.29.2", "cu132", name="torchvision", default=True, pythons=("py3",))
    release(desk.replica, "2.14.1", "cu126")


def new_release(desk: Desk, **more) -> None:
    small(desk)
    release(desk.replica, NEW, "cu134", default=True, requires_python=">=3.11", **more)
    requires = (f"torch=={NEW}",)
    release(desk.replica, "0.31.0", "cu134", name="torchvision", default=True, requires=requires)


# -- what is new -----------------------------------------------------------------


def test_an_invented_release_is_planned_without_a_change_of_code(desk: Desk) -> None:
    new_release(desk)
    before = desk.plan("torch", "torchvision", "--offline")
    assert before["torch"] == "2.15.0"
    found = desk.json("catalog", "refresh")
    assert texts(found, "release") == {f"torch {NEW}": "a new release"}
    plan = desk.plan("torch", "torchvision", "--offline")
    assert (plan["torch"], plan["variant"]) == (NEW, "cu134")
    assert [(p["name"], p["version"], p["index"]) for p in plan["packages"]] == [
        ("torch", NEW, "default"), ("torchvision", "0.31.0", "default"),
    ]  # fmt: skip
    assert plan["devices"][0]["by"] == "sm_86"
    assert plan["catalog"]["date"] == found["date"]
    live = desk.plan()
    assert (live["torch"], live["variant"], live["catalog"]["live"]) == (NEW, "cu134", True)
    # What the wheel didn't tell was taken over, and is marked so.
    assert "unverified: as in 2.15.0+cu134" in texts(found, "code")[f"{NEW}+cu134 {X86}"]
    rows = desk.json("catalog", "show", f"{NEW}+cu134")["rows"]
    assert {row["status"] for row in rows if row["kind"] == "code"} == {"unverified"}
    assert {row["status"] for row in rows if row["kind"] == "build"} == {"measured"}


def test_a_card_that_the_new_release_does_not_serve_gets_the_older_one(desk: Desk) -> None:
    new_release(desk)
    desk.json("catalog", "refresh")
    plan = desk.plan("--driver", "575.51.03", "--offline", gpu="GTX 1080 Ti")
    assert (plan["torch"], plan["variant"]) == ("2.14.1", "cu126")


def test_gpu_code_is_measured_out_of_the_new_wheel(desk: Desk) -> None:
    small(desk)
    library = b"\x7fELF" + fatbin(*ARCHS) * 60 + bytes(100_000)
    for platform in (X86, ARM):
        fields = {"variant": "cu134", "requires_python": ">=3.11", "filler": 3_000_000}
        wheel = StubWheel("torch", NEW, "cp312", TAG[platform], **fields)
        desk.replica.add_default(with_library(wheel, library))
    found = desk.json("catalog", "refresh")
    measured = {row["filename"]: row for row in found["measured"]}
    x86 = measured[f"torch-{NEW}-cp312-cp312-{TAG[X86]}.whl"]
    assert (x86["variant"], x86["sass"], x86["from"]) == ("cu134", list(ARCHS), "fat binaries of libtorch_cuda.so")
    assert x86["requests"] <= 6
    plan = desk.plan("--offline", gpu="cc:10.3")
    assert (plan["torch"], plan["devices"][0]["by"]) == (NEW, "sm_103")
    # The same wheel isn't read twice.
    sent = desk.replica.count("/packages/*")
    again = desk.json("catalog", "refresh")
    assert (again["measured"], again["changes"], desk.replica.count("/packages/*")) == ([], [], sent)


def test_a_page_turns_an_unverified_row_into_the_choice(desk: Desk) -> None:
    small(desk)
    windows = ("--os", "windows", "--arch", "amd64")
    before = desk.plan(*windows, "--offline")
    assert before["torch"] != "2.15.0"
    release(desk.replica, "2.15.0", "cu130", (WIN, X86))
    found = desk.json("catalog", "refresh")
    assert texts(found, "status")[f"2.15.0+cu130 {WIN}"] == "unverified -> published"
    after = desk.plan(*windows, "--offline")
    assert (after["torch"], after["variant"]) == ("2.15.0", "cu130")


def test_a_variant_that_nobody_has_heard_of_is_tried(desk: Desk) -> None:
    small(desk)
    release(desk.replica, NEW, "cu136", requires_python=">=3.11")
    found = desk.json("catalog", "refresh")
    assert texts(found, "build")[f"{NEW}+cu136 {X86}"] == "new: published"
    plan = desk.plan("--variant", "cu136", "--offline")
    assert (plan["torch"], plan["variant"]) == (NEW, "cu136")
    assert plan["packages"][0]["index"].endswith("/whl/cu136")


def test_companions_pair_by_their_metadata(desk: Desk) -> None:
    new_release(desk)
    # Newer than the pair, and of another torch: never with this one.
    release(desk.replica, "0.32.0", "cu134", name="torchvision", default=True, requires=("torch==2.17.0",))
    # Says nothing of torch, and is known from older days: made for another torch.
    release(desk.replica, "2.11.1", "cu132", name="torchaudio", default=True, pythons=("py3",))
    desk.json("catalog", "refresh")
    plan = desk.plan("torch", "torchvision", "--offline")
    assert [p["version"] for p in plan["packages"]] == [NEW, "0.31.0"]
    assert desk.plan("torch", "torchaudio", "--offline")["torch"] == "2.15.0"


def test_a_companion_of_another_cuda_on_the_default_index_is_not_paired(desk: Desk) -> None:
    small(desk)
    release(desk.replica, NEW, "cu134", (X86,), default=True)
    for python in ("cp312",):
        desk.replica.add_default(
            StubWheel("torchvision", "0.31.0", python, TAG[X86], requires=("torch>=2.16",), variant="cu132")
        )
    desk.json("catalog", "refresh")
    assert desk.plan("torch", "torchvision", "--offline")["torch"] == "2.15.0"


# -- what is gone or was never --------------------------------------------------------


def test_a_withdrawn_variant_never_returns(desk: Desk) -> None:
    small(desk)
    release(desk.replica, "2.15.0", "cu126")
    found = desk.json("catalog", "refresh")
    assert texts(found, "note")[f"2.15.0+cu126 {X86}"] == "listed again, and left withdrawn"
    for words in ((), ("--offline",)):
        plan = desk.plan("--driver", "575.51.03", *words, gpu="GTX 1080 Ti")
        assert (plan["torch"], plan["variant"]) == ("2.14.1", "cu126")
    # Nor by an overlay that somebody has edited.
    document = json.loads(desk.overlay.read_text("utf-8"))
    row = {
        "variant": "cu126", "platform": X86, "local": "+cu126", "status": "published", "checked": "2026-11-30",
        "source": "mine", "wheels": {TAG[X86]: ["cp312"]},
    }  # fmt: skip
    document["documents"]["releases/torch-2.15.json"] = {
        "schema": 1, "sources": {"mine": "I would like to have it"},
        "releases": [{
            "torch": "2.15.0", "date": "2026-10-28", "requires_python": ">=3.11", "warnings": [], "yanked": False,
            "builds": [row], "companions": [],
        }],
    }  # fmt: skip
    desk.overlay.write_text(json.dumps(document), "utf-8")
    assert desk.json("catalog", "show")["overlay"]
    assert desk.plan("--driver", "575.51.03", "--offline", gpu="GTX 1080 Ti")["torch"] == "2.14.1"


def test_what_a_good_page_does_not_have_is_no_longer_chosen_offline(desk: Desk) -> None:
    small(desk)
    pascal = ("--driver", "575.51.03", "--offline")
    release(desk.replica, "2.13.0", "cu126")
    desk.replica._variants["cu126"]["torch"] = [
        w for w in desk.replica._variants["cu126"]["torch"] if not w.version.startswith("2.14.1")
    ]
    found = desk.json("catalog", "refresh")
    assert "published -> unverified" in texts(found, "status")[f"2.14.1+cu126 {X86}"]
    assert desk.plan(*pascal, gpu="GTX 1080 Ti")["torch"] == "2.13.0"
    release(desk.replica, "2.14.1", "cu126")
    found = desk.json("catalog", "refresh")
    assert texts(found, "status")[f"2.14.1+cu126 {X86}"] == "unverified -> published"
    assert desk.plan(*pascal, gpu="GTX 1080 Ti")["torch"] == "2.14.1"


def test_a_release_that_was_taken_back(desk: Desk) -> None:
    small(desk)
    release(desk.replica, NEW, "cu134", default=True, yanked="broken")
    desk.json("catalog", "refresh")
    assert desk.plan("--offline")["torch"] == "2.15.0"


# -- what can't be looked at ----------------------------------------------------------


def test_pages_that_fail_keep_their_rows_and_are_recorded(desk: Desk) -> None:
    small(desk)
    release(desk.replica, "2.15.0", "cu130")
    desk.replica.fault("/whl/cu126/*", status=500)
    found = desk.json("catalog", "refresh")
    assert [page.partition(":")[0] for page in found["pages"]["unreachable"]] == ["cu126/torch"]
    assert f"2.15.0+cu130 {X86}" in texts(found, "status")
    assert desk.plan("--driver", "575.51.03", "--offline", gpu="GTX 1080 Ti")["torch"] == "2.14.1"
    assert desk.json("catalog", "show")["unreachable"] == ["cu126/torch"]


def test_the_default_index_alone_is_no_refresh(desk: Desk) -> None:
    new_release(desk)
    desk.replica.fault("/whl/*", status=500)
    done = desk.run("catalog", "refresh")
    assert done.returncode == 8, done.stdout
    assert "these keep the rows that they had" in done.stdout


def test_a_later_refresh_keeps_what_an_earlier_one_saw(desk: Desk) -> None:
    new_release(desk)
    desk.json("catalog", "refresh")
    desk.replica.fault("/simple/*", status=503)
    desk.replica.fault("/whl/cu134/*", garbage=True)
    found = desk.json("catalog", "refresh")
    assert found["changes"] == []
    assert desk.plan("--offline")["torch"] == NEW


def test_nothing_reached(desk: Desk) -> None:
    small(desk)
    desk.json("catalog", "refresh")
    before = desk.overlay.read_bytes()
    desk.close()
    for command in ("refresh", "check"):
        done = desk.run("catalog", command)
        assert done.returncode == 8
        assert "no index could be looked at" in done.stderr
        assert "Traceback" not in done.stderr
    assert desk.overlay.read_bytes() == before


def test_a_proxy_that_refuses_all_proves_nothing(desk: Desk) -> None:
    small(desk)
    desk.replica.fault("/whl/*", status=403)
    found = desk.json("catalog", "refresh")
    assert not [what for what in texts(found, "status") if "2.14.1+cu126 " in what or "+rocm" in what]
    assert desk.plan("--driver", "575.51.03", "--offline", gpu="GTX 1080 Ti")["torch"] == "2.14.1"


def test_interrupted_leaves_the_old_overlay_whole(desk: Desk) -> None:
    small(desk)
    desk.json("catalog", "refresh")
    before = desk.overlay.read_bytes()
    release(desk.replica, NEW, "cu134", default=True)
    desk.replica.fault("/packages/*", delay=20)
    process = desk.start("catalog", "refresh")
    deadline = time.monotonic() + 60
    while not desk.replica.count("/packages/torch-2.16*") and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert desk.overlay.read_bytes() == before
    assert not list(desk.overlay.parent.glob(".*"))


def test_a_cache_that_cannot_be_written(desk: Desk) -> None:
    small(desk)
    desk.cache.write_text("a file where a folder belongs")
    done = desk.run("catalog", "refresh")
    assert done.returncode == 7
    assert "can't be written" in done.stderr
    assert "Traceback" not in done.stderr


# -- figures ---------------------------------------------------------------------


def test_a_full_refresh_and_one_with_nothing_new(full: Desk) -> None:
    found = full.json("catalog", "refresh")
    assert found["requests"] == full.replica.count() < 200
    assert found["seconds"] < 20
    assert found["pages"]["unreachable"] == []
    assert texts(found, "status") == texts(found, "release") == {}
    asked = full.replica.count()
    again = full.json("catalog", "refresh")
    assert again["changes"] == []
    assert again["transferred"] == 0  # every page was as it was kept
    assert full.replica.count() - asked == again["requests"] < 200
    assert again["seconds"] < 5  # 1 s by itself; the machine may be busy


def test_check_tells_drift_by_its_exit_code(full: Desk) -> None:
    done = full.run("catalog", "check")
    assert done.returncode == 0, done.stdout
    assert "the shipped rows are what the indexes have" in done.stdout


def test_check_finds_a_new_release_and_reads_into_nothing(desk: Desk) -> None:
    small(desk)
    release(desk.replica, NEW, "cu134", default=True)
    found = desk.json("catalog", "check", code=3)
    assert f"torch {NEW}" in texts(found, "release")
    assert desk.replica.count("/packages/*") == 0
    assert not (desk.cache / "torchinstall" / "catalog").exists()


# -- the commands ----------------------------------------------------------------


def test_show(desk: Desk) -> None:
    whole = desk.json("catalog", "show")
    assert whole["releases"][0]["torch"] == "2.15.0"
    assert whole["overlay"] is None
    rows = desk.json("catalog", "show", "cu126")["rows"]
    assert {row["variant"] for row in rows} == {"cu126"}
    assert ("2.15.0", "withdrawn") in {(row["torch"], row["status"]) for row in rows}
    assert all(row["source"] and row["checked"] and row["age"] >= 0 for row in rows)
    assert {row["variant"] for row in desk.json("catalog", "show", "npu")["rows"]} == {"npu"}
    text = desk.run("catalog", "show", "2.15.0+cu132").stdout
    assert "sm_120" in text
    assert "measured" in text
    wrong = (("show", "cu999"), ("show", "3.0"), ("refresh", "cu126"), ("rubbish",), ("refresh", "--measure", "9.9"))
    for words in wrong:
        done = desk.run("catalog", *words)
        assert done.returncode == 2, words
        assert "Traceback" not in done.stderr


def test_dry_run_writes_nothing(desk: Desk) -> None:
    new_release(desk)
    found = desk.json("catalog", "refresh", "--dry-run")
    assert f"torch {NEW}" in texts(found, "release")
    assert found["written"] is None
    assert desk.plan("--offline")["torch"] == "2.15.0"


def test_the_overlay_can_be_left_out_and_gives_way_to_younger_data(desk: Desk) -> None:
    new_release(desk)
    desk.json("catalog", "refresh")
    assert desk.plan("--offline", TORCHINSTALL_NO_OVERLAY="1")["torch"] == "2.15.0"
    desk.edit("meta.json", lambda d: d.update(date="2099-01-01"))
    assert desk.plan("--offline")["torch"] == "2.15.0"
    assert "older than the data" in desk.json("catalog", "show")["refused"]


def test_another_index_has_another_overlay(desk: Desk) -> None:
    new_release(desk)
    desk.json("catalog", "refresh")
    desk.edit("indexes.json", lambda d: d["indexes"][0].update(url="http://127.0.0.1:9/whl"))
    assert desk.plan("--offline")["torch"] == "2.15.0"


def test_offline_settings_are_respected(desk: Desk) -> None:
    calls = ((("refresh",), {"UV_OFFLINE": "1"}), (("refresh", "--offline"), {}), (("check", "--offline"), {}))
    for words, more in calls:
        done = desk.run("catalog", *words, **more)
        assert done.returncode == 2
        assert "offline" in done.stderr
    assert desk.json("catalog", "show", "--offline")["releases"]
    assert desk.replica.requests == []


def test_a_plan_keeps_pages_too_and_always_asks(desk: Desk) -> None:
    small(desk)
    assert desk.plan()["catalog"]["live"]
    sent = desk.replica.bytes_sent
    assert desk.plan()["catalog"]["live"]
    assert desk.replica.bytes_sent == sent
    assert desk.replica.requests[-1].status == 304


def test_the_script_prints_a_diff_and_writes_on_demand(desk: Desk) -> None:
    new_release(desk)
    script = DATA.parent / "scripts" / "refresh_index_data"

    def call(*words: str):
        env = {**os.environ, **desk.environ, "TORCHINSTALL_INDEX_DATA": ""}
        return subprocess.run(
            [sys.executable, str(script), "--root", str(desk.data), *words], env=env, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip

    files = {path: path.read_bytes() for path in desk.data.rglob("*.json")}
    done = call()
    assert done.returncode == 0, done.stderr
    assert "+++ releases/torch-2.16.json" in done.stdout
    assert {path: path.read_bytes() for path in desk.data.rglob("*.json")} == files
    assert call("--write").returncode == 0
    assert desk.plan("--offline")["torch"] == NEW
    check = [sys.executable, str(DATA.parent / "scripts" / "format_index_data.py"), "--check", "--root", str(desk.data)]
    named = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False).stdout
    assert "releases" not in named
    assert call().stdout.startswith("nothing new")
