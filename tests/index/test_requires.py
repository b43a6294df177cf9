"""Which dependencies are bound to the index of the build."""

from __future__ import annotations

import pytest

from replica import Replica, StubWheel
from torchinstall.index.flat import read_flat
from torchinstall.index.http import Client
from torchinstall.index.requires import carried_dependencies, read_requirements
from torchinstall.index.simple import read_simple

REQUIRES = (
    "filelock",
    "sympy>=1.13.3",
    'triton-rocm==3.5.1; platform_system == "Linux"',
    'triton-xpu==3.5.1; platform_system == "Windows"',
    "rocm[device-all,libraries]==7.14.*",
    "nvidia-cublas==13.0.0.19",
    'opt-einsum==3.3; extra == "opt-einsum"',
    "not a requirement ==",
)


@pytest.fixture
def replica():
    with Replica() as running:
        for name, version, requires in (
            ("torch", "2.14.0+rocm7.14", REQUIRES),
            ("triton-rocm", "3.5.1", ("torch==9",)),
            ("triton-xpu", "3.5.1", ()),
            ("rocm", "7.14.1", ('rocm-sdk-device==7.14.1; extra == "device-all"', 'other==1; extra == "other"')),
            ("rocm-sdk-device", "7.14.1", ("rocm-sdk-core==7.14.1",)),
            ("rocm-sdk-core", "7.14.1", ()),
            ("nvidia-cublas", "12.0", ()),
            ("other", "1", ()),
            ("filelock", "3.0", ()),
        ):
            running.add_wheel("rocm7.14", StubWheel(name, version, "py3", "any", requires=requires))
        yield running


def test_what_the_build_pins_and_its_index_carries_is_bound(replica):
    url = replica.url("rocm7.14")
    session = Client()
    (torch,) = read_simple(url, "torch", session=session).wheels
    markers = {"platform_system": "Linux"}
    assert carried_dependencies([torch], url, session=session, environment=markers) == {
        "triton-rocm": url,
        "rocm": url,
        "rocm-sdk-device": url,
        "rocm-sdk-core": url,
    }
    markers = {"platform_system": "Windows"}
    assert "triton-xpu" in carried_dependencies([torch], url, session=session, environment=markers)


def test_without_metadata_beside_the_wheel_nothing_is_known(replica):
    url = replica.url("rocm7.14")
    session = Client()
    (torch,) = read_simple(url, "torch", session=session).wheels
    assert read_requirements(torch, session=session)[:2] == ("filelock", "sympy>=1.13.3")
    for fault in ({"status": 404}, {"garbage": True}):
        replica.fault("*.metadata", **fault)
        assert read_requirements(torch, session=session) is None
        assert carried_dependencies([torch], url, session=session) == {}
        replica.heal()


def test_a_wheel_in_a_folder_is_read_itself(tmp_path):
    folder = Replica().flat_dir(tmp_path, StubWheel("torch", "2.0+cpu", requires=("filelock", "a==1")))
    session = Client(offline=True)
    (wheel,) = read_flat(str(folder), "torch", session=session).wheels
    assert read_requirements(wheel, session=session) == ("filelock", "a==1")
    (folder / wheel.filename).write_bytes(b"PK damaged")
    assert read_requirements(wheel, session=session) is None
