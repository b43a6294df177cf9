"""From pages to rows: which folders are asked for, and what the wheels on a page mean."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchinstall.catalog.folders import folders, majors
from torchinstall.catalog.observe import observe
from torchinstall.catalog.pairing import torch_of
from torchinstall.index.wheelname import wheel_file
from torchinstall.model.sighting import DEFAULT, PYTORCH, Listing

KNOWN = ("cp310", "cp311", "cp312", "cp313", "cp313t")
M = "manylinux_2_28_x86_64"
ARM_MAC, OLD_MAC = "macosx_11_0_arm64", "macosx_10_9_x86_64"
WHEEL = r"torch-[0-9.+a-z]{1,12}-(cp|py|pp)[0-9t.]{1,6}-[a-z0-9.]{1,8}-[a-z0-9_.]{1,30}\.whl"


def shelf(*names: str, folder: str | None = "cu132", project: str = "torch", yanked: bool = False):
    wheels = [wheel_file(name, f"https://wheels.example/{name}", project=project, yanked=yanked) for name in names]
    role = PYTORCH if folder else DEFAULT
    found = Listing(
        url="https://wheels.example", project=project, role=role, variant=folder, state="seen",
        wheels=tuple(wheel for wheel in wheels if wheel is not None),
    )  # fmt: skip
    return observe(found, KNOWN)


def test_folders_are_the_known_ones_and_the_next_steps() -> None:
    known = ("cu126", "cu130", "cu132", "cu134", "rocm7.2", "rocm7.14", "rocm10.1", "cpu", "xpu")
    asked = folders(known)
    assert set(known) < set(asked)
    assert set(asked) - set(known) == {
        "cu131", "cu133", "cu135", "cu136", "cu140", "rocm7.15", "rocm7.16", "rocm10.2", "rocm10.3", "rocm11.0",
    }  # fmt: skip
    assert len(asked) == len(set(asked))
    assert folders(()) == ()
    assert majors(known, "rocm") == {7, 10}


@pytest.mark.parametrize(
    ("name", "folder", "platform", "variant", "tags"),
    [
        (f"torch-2.15.0%2Bcu132-cp312-cp312-{M}.whl", "cu132", None, None, None),  # unquoting is the page's work
        (f"torch-2.15.0+cu132-cp312-cp312-{M}.whl", "cu132", "linux_x86_64", "cu132", {M: ["cp312"]}),
        (f"torch-2.15.0+cu132-cp313-cp313t-{M}.whl", "cu132", "linux_x86_64", "cu132", {M: ["cp313t"]}),
        ("torch-2.0.0+cu132-cp39-cp39-linux_x86_64.whl", "cu132", "linux_x86_64", "cu132", {"linux_x86_64": ["cp39"]}),
        ("torch-2.15.0+cu132-cp312-cp312-win_amd64.whl", "cu132", "win_amd64", "cu132", {"win_amd64": ["cp312"]}),
        (f"torch-2.15.0-cp311-none-{ARM_MAC}.whl", "cpu", "macos_arm64", "mps", {ARM_MAC: ["cp311"]}),
        (f"torch-2.2.2-cp311-none-{OLD_MAC}.whl", None, "macos_x86_64", "cpu", {OLD_MAC: ["cp311"]}),
        (f"torch-2.15.0-cp312-cp312-{M}.whl", None, "linux_x86_64", None, {M: ["cp312"]}),
        (f"torch-2.15.0+cu132-cp311-abi3-{M}.whl", "cu132", "linux_x86_64", "cu132", {M: ["cp311", "cp312", "cp313"]}),
        (f"torch-2.15.0+cu132-py3-none-{M}.whl", "cu132", "linux_x86_64", "cu132", {M: ["py3"]}),
        (f"torch-2.15.0+cu132-pp310-pypy310_pp73-{M}.whl", "cu132", None, None, None),
        ("torch-2.15.0+cu132-cp312-cp312-musllinux_1_2_x86_64.whl", "cu132", None, None, None),
        ("torch-2.15.0+cu132-cp312-cp312-manylinux_2_28_s390x.whl", "cu132", None, None, None),
        (f"torch-2.16.0.dev20261101+cu132-cp312-cp312-{M}.whl", "cu132", None, None, None),
        (f"torch-2.16.0rc1+cu132-cp312-cp312-{M}.whl", "cu132", None, None, None),
    ],
)
def test_wheels(name: str, folder: str | None, platform: str | None, variant: str | None, tags: dict | None) -> None:
    items = shelf(name, folder=folder).items
    assert [(item.platform, item.variant, item.as_row()) for item in items] == (
        [(platform, variant, tags)] if platform else []
    )


@pytest.mark.parametrize("local", ["+cu130", "+cu132.with.pypi.cudnn", "", "+xyz"])
def test_a_wheel_of_something_else_is_kept_out_and_told(local: str) -> None:
    found = shelf(f"torch-2.15.0{local}-cp312-cp312-{M}.whl")
    assert found.items == ()
    assert len(found.notes) == 1


def test_a_page_without_a_wheel_of_the_project_proves_nothing() -> None:
    assert shelf(f"evil-2.15.0+cu132-cp312-cp312-{M}.whl").state == "unreachable"


def test_files_that_were_taken_back() -> None:
    (item,) = shelf(f"torch-2.15.0+cu132-cp312-cp312-{M}.whl", yanked=True).items
    assert (item.yanked, item.as_row()) == (True, {})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.from_regex(WHEEL, fullmatch=True), max_size=5))
def test_any_page_is_read(names: list[str]) -> None:
    for folder in ("cu132", None):
        for item in shelf(*names, folder=folder).items:
            assert item.files
            assert all(pythons for _, pythons in item.wheels)


def test_what_metadata_asks_of_torch() -> None:
    assert str(torch_of(("numpy", "torch==2.15.0"))) == "==2.15.0"
    assert str(torch_of(("torch>=2.14.0; python_version >= '3.10'",))) == ">=2.14.0"
    for lines in ((), ("torch",), ("numpy>=1",), ("torch>=9; extra == 'dev'",), ("not a requirement ((",)):
        assert torch_of(lines) is None
