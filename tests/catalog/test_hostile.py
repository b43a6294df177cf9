"""Indexes that lie, break off, or speak of what nobody knows: kept out or marked, never a crash, never a wrong row."""

from __future__ import annotations

import json

import pytest

from catalog.stock import TAG, X86, Desk, fatbin, release, texts, with_library
from replica import StubWheel

PASCAL = {"gpu": "GTX 1080 Ti"}


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path, stocked=False)
    release(made.replica, "2.15.0", "cu132", default=True)
    release(made.replica, "2.14.1", "cu126")
    yield made
    made.close()


def refreshed(desk: Desk) -> dict:
    """Refresh, and make sure of what must hold whatever the index does."""
    done = desk.run("catalog", "refresh", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    shown = desk.json("catalog", "show")
    assert shown["refused"] is None
    assert shown["overlay"]
    assert desk.plan("--driver", "575.51.03", "--offline", **PASCAL)["torch"] == "2.14.1"
    return json.loads(done.stdout)


FAULTS = (
    {"garbage": True}, {"truncate": 300}, {"drop": True}, {"status": 500}, {"redirect": "http://["}, {"redirect": ""},
)  # fmt: skip


def test_pages_that_are_none_change_nothing(desk: Desk) -> None:
    """Each variant's page fails in a way of its own: a login page, half a page, no answer, an error, redirects."""
    folders = ("cu130", "cu129", "cu128", "rocm7.2", "xpu", "cpu")
    for folder, fault in zip(folders, FAULTS, strict=True):
        release(desk.replica, "2.15.0", folder)
        where = f"/whl/{folder}/torch/"
        desk.replica.fault(where, **{name: value or where for name, value in fault.items()})
    found = refreshed(desk)
    assert {page.partition("/")[0] for page in found["pages"]["unreachable"]} == set(folders)
    assert not [what for what in texts(found, "status") if any(f"+{folder} " in what for folder in folders[3:5])]
    assert desk.plan("--offline")["torch"] == "2.15.0"


@pytest.mark.parametrize("fault", [{"garbage": True}, {"truncate": 300}, {"redirect": "/simple/torch/"}])
def test_a_default_index_that_is_none_changes_nothing(desk: Desk, fault: dict) -> None:
    desk.replica.fault("/simple/torch/", **fault)
    found = refreshed(desk)
    assert [page.partition(":")[0] for page in found["pages"]["unreachable"]] == ["default/torch"]
    assert not [what for what in texts(found, "status") if "2.15.0+cu132 " in what]
    assert desk.plan("--offline")["torch"] == "2.15.0"


def test_another_projects_files(desk: Desk) -> None:
    release(desk.replica, "2.15.0", "cu130")
    desk.replica._variants["cu130"]["torch"] = [StubWheel("evil", "9.9.0+cu130", "cp312", TAG[X86])]
    found = refreshed(desk)
    assert found["pages"]["unreachable"] == ["cu130/torch: the page has no wheel of torch"]


def test_a_wheel_that_is_another_project_inside(desk: Desk) -> None:
    wheel = StubWheel("torch", "2.16.0", "cp312", TAG[X86], variant="cu134")
    inside = StubWheel("evil", "2.16.0", "cp312", TAG[X86])
    wheel.__dict__["content"] = inside.content
    desk.replica.add_default(wheel)
    found = refreshed(desk)
    assert "couldn't be read into" in texts(found, "note")[wheel.filename]
    assert desk.plan("--offline")["torch"] == "2.15.0"


def test_a_wheel_of_another_version_inside(desk: Desk) -> None:
    files = (("torch/version.py", "__version__ = '2.9.0'"),)
    wheel = StubWheel("torch", "2.16.0", "cp312", TAG[X86], variant="cu134", files=files)
    desk.replica.add_default(wheel)
    found = refreshed(desk)
    assert "2.9.0" in texts(found, "note")[wheel.filename]
    assert desk.plan("--offline")["torch"] == "2.15.0"


@pytest.mark.parametrize(
    "fault", [{"ignore_range": True}, {"status": 404}, {"truncate": 40}, {"drop": True}],
    ids=["no ranges", "not there", "cut off", "hung up"],
)  # fmt: skip
def test_a_wheel_that_cannot_be_read_into(desk: Desk, fault: dict) -> None:
    release(desk.replica, "2.16.0", "cu134", (X86,), default=True)
    for where in ("/packages/*", "/whl/cu134/*.whl"):
        desk.replica.fault(where, **fault)
    found = refreshed(desk)
    assert found["measured"] == []
    assert any("couldn't be read into" in text for text in texts(found, "note").values())
    # Which variant the default index serves isn't known: it is never guessed. The variant's own page counts.
    rows = desk.json("catalog", "show", "2.16.0")["rows"]
    assert {(row["variant"], row["status"]) for row in rows if row["kind"] == "build"} == {("cu134", "published")}
    # Later it can be read.
    desk.replica.heal()
    refreshed(desk)
    assert desk.plan("--offline")["packages"][0]["index"] == "default"


def test_a_changed_hash_is_told_and_the_wheel_read_again(desk: Desk) -> None:
    wheel = StubWheel("torch", "2.16.0", "cp312", TAG[X86], variant="cu134", filler=3_000_000)
    library = fatbin(75, 80, 86, 90) * 20
    desk.replica.add_default(with_library(wheel, library))
    refreshed(desk)
    other = StubWheel("torch", "2.16.0", "cp312", TAG[X86], variant="cu134", filler=3_000_001)
    desk.replica._default["torch"].remove(wheel)
    desk.replica.add_default(with_library(other, fatbin(75, 80) * 20))
    found = refreshed(desk)
    assert "isn't the one of the last refresh" in texts(found, "note")[wheel.filename]


def test_variants_of_a_toolkit_that_no_rule_knows(desk: Desk) -> None:
    for variant in ("cu150", "rocm11.0", "cu140", "rocm10.3"):
        release(desk.replica, "2.16.0", variant)
    found = refreshed(desk)
    # cu150 is no next step of anything, so nobody asks for it; the others are asked for.
    assert desk.replica.count("/whl/cu150/*") == 0
    assert "no driver floor is known for CUDA 14" in texts(found, "note")["cu140"]
    assert "no rule is known for ROCm 11" in texts(found, "note")["rocm11.0"]
    assert texts(found, "build")[f"2.16.0+rocm10.3 {X86}"] == "new: published"  # of a major that the rows know
    for variant in ("cu150", "rocm11.0", "cu140"):
        assert desk.run("catalog", "show", variant).returncode == 2
    assert desk.plan("--offline")["torch"] == "2.15.0"


def test_a_default_build_of_an_unknown_toolkit(desk: Desk) -> None:
    for version, variant in (("2.16.0", "cu150"), ("2.17.0", "xyz")):
        desk.replica.add_default(StubWheel("torch", version, "cp312", TAG[X86], variant=variant))
    found = refreshed(desk)
    assert "no driver floor is known for CUDA 15" in texts(found, "note")["torch 2.16.0 on the default index"]
    for words in (("--offline",), ()):
        assert desk.plan(*words)["torch"] == "2.15.0"


def test_a_wheel_of_another_variant_in_a_folder(desk: Desk) -> None:
    desk.replica.add_wheel("cu130", StubWheel("torch", "2.15.0+cu150", "cp312", TAG[X86]))
    desk.replica.add_wheel("cu130", StubWheel("torch", "2.15.0+xyz", "cp312", TAG[X86]))
    desk.replica.add_wheel("cu130", StubWheel("torch", "2.14.0+cu130", "cp312", TAG[X86]))
    found = refreshed(desk)
    notes = texts(found, "note")
    assert "another variant" in notes["torch 2.15.0+cu150 on cu130"]
    assert "isn't a variant that is known" in notes["torch 2.15.0+xyz on cu130"]
    rows = desk.json("catalog", "show", "2.15.0+cu130")["rows"]
    assert {row["status"] for row in rows if row["kind"] == "build"} == {"unverified"}


def test_pythons_of_the_future(desk: Desk) -> None:
    pythons = ("cp312", "cp316", "cp316t", "cp399", "cp4000", "pp311", "graalpy")
    release(desk.replica, "2.16.0", "cu134", (X86,), pythons=pythons)
    refreshed(desk)
    rows = [row for row in desk.json("catalog", "show", "2.16.0")["rows"] if row["kind"] == "build"]
    assert [row["text"] for row in rows] == ["cp312 cp316 cp316t cp399"]


def test_versions_that_are_no_release(desk: Desk) -> None:
    for version in ("2.16.0.dev20261101", "2.16.0rc1", "2.16.0a0", "1.13.1", "99999999.0"):
        desk.replica.add_wheel("cu132", StubWheel("torch", f"{version}+cu132", "cp312", TAG[X86]))
    found = refreshed(desk)
    assert texts(found, "release") == {"torch 99999999.0": "a new release"}


def test_a_refused_overlay_is_told_and_mended_by_a_refresh(desk: Desk) -> None:
    refreshed(desk)
    for content in (b"", b'{"schema": 1}'):
        desk.overlay.write_bytes(content)
        assert desk.plan("--offline")["torch"] == "2.15.0"
        shown = desk.json("catalog", "show")
        assert (shown["overlay"], bool(shown["refused"])) == (None, True)
    refreshed(desk)
