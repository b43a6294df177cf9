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


@pytest.mark.parametrize(
    "fault",
    [
        {"garbage": True}, {"truncate": 300}, {"drop": True}, {"status": 500}, {"redirect": "http://["},
        {"redirect": "itself"},
    ],
    ids=["login page", "cut off", "hung up", "error", "bad redirect", "redirect loop"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["/whl/cu130/torch/", "/simple/torch/"])
def test_a_page_that_is_none_changes_nothing(desk: Desk, fault: dict, where: str) -> None:
    release(desk.replica, "2.15.0", "cu130")
    desk.replica.fault(where, **{name: where if value == "itself" else value for name, value in fault.items()})
    found = refreshed(desk)
    assert len(found["pages"]["unreachable"]) >= 1
    broken = "+cu130 " if "cu130" in where else "+cu132 "
    assert not [what for what in texts(found, "status") if "2.15.0" in what and broken in what]
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
    "fault", [{"ignore_range": True}, {"status": 404}, {"truncate": 40}, {"garbage": True}, {"drop": True}],
    ids=["no ranges", "not there", "cut off", "login page", "hung up"],
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


@pytest.mark.parametrize("variant", ["cu150", "rocm11.0", "cu140", "rocm10.3"])
def test_a_variant_of_a_toolkit_that_no_rule_knows(desk: Desk, variant: str) -> None:
    release(desk.replica, "2.16.0", variant)
    found = refreshed(desk)
    if variant == "rocm10.3":  # of a major that the rows know: a row
        assert texts(found, "build")[f"2.16.0+{variant} {X86}"] == "new: published"
    elif variant == "cu140":  # the next step, and no driver floor for it
        assert "no driver floor" in texts(found, "note")[variant]
    elif variant == "rocm11.0":
        assert "no rule is known for ROCm 11" in texts(found, "note")[variant]
    if variant != "rocm10.3":
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


@pytest.mark.parametrize("python", ["cp316", "cp316t", "cp399", "cp4000", "pp311", "graalpy"])
def test_pythons_of_the_future(desk: Desk, python: str) -> None:
    release(desk.replica, "2.16.0", "cu134", (X86,), pythons=("cp312", python))
    refreshed(desk)
    rows = [row for row in desk.json("catalog", "show", "2.16.0")["rows"] if row["kind"] == "build"]
    assert [("cp312" in row["text"]) for row in rows] == [True]
    assert (python in rows[0]["text"]) == python.startswith("cp3")


@pytest.mark.parametrize("version", ["2.16.0.dev20261101", "2.16.0rc1", "2.16.0a0", "99999999.0", "2.16", "1.13.1"])
def test_versions_that_are_no_release(desk: Desk, version: str) -> None:
    desk.replica.add_wheel("cu132", StubWheel("torch", f"{version}+cu132", "cp312", TAG[X86]))
    found = refreshed(desk)
    if "dev" in version or "rc" in version or "a0" in version or version == "1.13.1":
        assert texts(found, "release") == {}


def test_a_refused_overlay_is_told_and_mended_by_a_refresh(desk: Desk) -> None:
    refreshed(desk)
    for content in (b"", b"{", b"[]", b'{"schema": 1}', b"\xff\xfe", b"[" * 100_000):
        desk.overlay.write_bytes(content)
        assert desk.plan("--offline")["torch"] == "2.15.0"
        shown = desk.json("catalog", "show")
        assert (shown["overlay"], bool(shown["refused"])) == (None, True)
    refreshed(desk)
