"""Measuring wheels by range requests: right answers, few bytes, and no trust in what comes."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.stock import fatbin, with_library
from replica import Replica, StubWheel
from torchinstall.index.arch_table import read_table
from torchinstall.index.fatbin import MAGIC, STABLE, containers_in, scan
from torchinstall.index.http import Client
from torchinstall.index.measure import measure
from torchinstall.index.remote import RemoteWheel, RemoteWheelError
from torchinstall.index.wheelname import wheel_file

X86 = "manylinux_2_28_x86_64"
ARM = "manylinux_2_28_aarch64"
TABLE = """
import torch
PYTORCH_RELEASES_CODE_CC: dict[str, dict[str, set[int]]] = {
    "13.0": {"x86_64": {75, 80}, "aarch64": {80, 110}},
    "13.4": {"x86_64": {80, 86, 120}, "aarch64": {110, 120}},
}
"""


@pytest.fixture
def replica():
    with Replica() as running:
        yield running


@pytest.fixture
def client():
    made = Client()
    yield made
    made.close()


def published(replica: Replica, wheel: StubWheel, library: bytes | None = None):
    """Publish a wheel, and return it as a page would show it."""
    if library is not None:
        with_library(wheel, library)
    replica.add_default(wheel)
    found = wheel_file(wheel.filename, f"{replica.base}/packages/{wheel.filename}")
    assert found is not None
    return found


def zipped(metadata: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("torch-2.16.0.dist-info/METADATA", metadata)
    return buffer.getvalue()


def torch(platform: str = X86, **more) -> StubWheel:
    return StubWheel("torch", "2.16.0", "cp312", platform, variant="cu134", requires_python=">=3.11", **more)


# -- the scan --------------------------------------------------------------------


def test_every_container_is_read_wherever_the_stream_is_cut() -> None:
    stream = b"\x7fELF" + b"".join(bytes(100) + fatbin(*archs, size=64) for archs in ((75, 80), (90,), (75, 80, 103)))
    wanted = [frozenset({(2, 75), (2, 80)}), frozenset({(2, 90)}), frozenset({(2, 75), (2, 80), (2, 103)})]
    for size in (1, 3, 7, 16, 100, 10_000):
        pieces = (stream[at : at + size] for at in range(0, len(stream), size))
        assert list(containers_in(pieces)) == wanted


def test_an_early_stop_reads_no_further_than_agreement() -> None:
    def stream():
        for number in range(500):
            yield fatbin(75, 80, 90)
            assert number <= STABLE + 1, "read on after the list had settled"

    found = scan(stream())
    assert (found.full, found.settled, found.whole) == ((75, 80, 90), True, False)


def test_single_architectures_come_first_on_arm() -> None:
    """As in the aarch64 wheels: 29 containers of sm_100, 29 of sm_90, and only then those of all."""
    pieces = [fatbin(100)] * 29 + [fatbin(90)] * 29 + [fatbin(80, 90, 100, 110, 120)] * 40 + [fatbin(80, 121)]
    found = scan(iter(pieces))
    assert (found.full, found.settled, found.whole) == ((80, 90, 100, 110, 120), True, False)


def test_the_whole_stream_tells_full_from_partial_and_code_from_ptx() -> None:
    pieces = [fatbin(75, 80, 90)] * 40 + [fatbin(75, 80, 90, 103)] * 5 + [fatbin(120, kind=1)]
    found = scan(iter(pieces), stop_early=False)
    assert (found.full, found.partial, found.ptx, found.whole) == ((75, 80, 90), (103,), (120,), True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=200) | st.just(MAGIC) | st.just(fatbin(80, size=32)[:40]), max_size=30))
def test_noise_is_no_container(pieces: list[bytes]) -> None:
    assert all(100 <= arch * 10 <= 9990 for entries in containers_in(iter(pieces)) for _, arch in entries)


def test_a_container_that_says_it_is_huge_is_passed_over() -> None:
    liar = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 60)
    assert list(containers_in(iter([liar, fatbin(80)]))) == [frozenset({(2, 80)})]


# -- the table -------------------------------------------------------------------


def test_the_table_with_and_without_hosts() -> None:
    assert ("13.4", "linux_aarch64", (110, 120)) in read_table(TABLE)
    assert read_table('PYTORCH_RELEASES_CODE_CC = {"12.6": {50, 60}}') == (("12.6", "", (50, 60)),)


@pytest.mark.parametrize(
    "source",
    [
        "", "x = 1", "PYTORCH_RELEASES_CODE_CC = compute()", "PYTORCH_RELEASES_CODE_CC = [1]", "def (",
        "PYTORCH_RELEASES_CODE_CC = {'12.6': {'x86_64': {'a'}}}", "PYTORCH_RELEASES_CODE_CC = " + "(" * 500,
        "PYTORCH_RELEASES_CODE_CC = {1: {50}, '13.0': 5, '13.2': {}}", "\0PYTORCH_RELEASES_CODE_CC",
    ],
)  # fmt: skip
def test_another_form_is_no_table(source: str) -> None:
    assert read_table(source) == ()


# -- wheels ----------------------------------------------------------------------


def test_tables_alone_cost_next_to_nothing(replica, client) -> None:
    files = (("torch/cuda/__init__.py", TABLE),)
    wheel = published(replica, torch(filler=40_000_000, files=files, requires=("numpy",)))
    found = measure(wheel, session=client, code=False)
    assert (found.inner, found.variant, found.requires_python) == ("2.16.0+cu134", "cu134", ">=3.11")
    assert found.requires == ("numpy",)
    assert found.sass == ()
    assert found.requests <= 5
    assert found.transferred < 0.005 * found.size
    assert replica.bytes_sent < 0.01 * found.size


def test_code_is_read_from_a_part_of_the_wheel(replica, client) -> None:
    wheel = published(replica, torch(filler=30_000_000), bytes(50_000) + fatbin(75, 80, 120, size=2000) * 4000)
    found = measure(wheel, session=client)
    assert (found.sass, found.full) == ((75, 80, 120), False)
    assert found.transferred <= 0.10 * found.size
    whole = measure(wheel, session=client, whole=True)
    assert (whole.sass, whole.full) == ((75, 80, 120), True)
    assert whole.transferred > found.transferred


def test_code_that_does_not_settle_within_the_share_is_not_known(replica, client) -> None:
    library = b"".join(fatbin(75, 80, 90, size=30_000) + fatbin(200 + n, 300, size=1_000) for n in range(150))
    wheel = published(replica, torch(), library)
    found = measure(wheel, session=client)
    assert found.sass == ()
    assert "isn't complete" in found.notes[0]
    assert replica.bytes_sent < 0.3 * found.size


def test_the_library_counts_for_more_than_the_table(replica, client) -> None:
    wheel = published(replica, torch(files=(("torch/cuda/__init__.py", TABLE),)), fatbin(80, 86, 90) * 30)
    found = measure(wheel, session=client)
    assert (found.sass, found.sass_from) == ((80, 86, 90), "fat binaries of libtorch_cuda.so")
    assert "80 86 120" in found.notes[0]


@pytest.mark.parametrize(("platform", "sass"), [(X86, (80, 86, 120)), (ARM, (110, 120))])
def test_the_table_stands_in_for_a_library_that_is_not_there(replica, client, platform: str, sass: tuple) -> None:
    wheel = published(replica, torch(platform, files=(("torch/cuda/__init__.py", TABLE),)))
    found = measure(wheel, session=client)
    assert (found.sass, found.sass_from) == (sass, "PYTORCH_RELEASES_CODE_CC of the wheel")


@pytest.mark.parametrize(
    "fault",
    [{"ignore_range": True}, {"status": 404}, {"status": 503}, {"drop": True}, {"garbage": True}, {"truncate": 30}],
    ids=["no ranges", "not there", "overloaded", "hung up", "login page", "cut off"],
)
def test_what_cannot_be_read_is_said(replica, client, fault: dict) -> None:
    wheel = published(replica, torch(filler=30_000_000))
    replica.fault("/packages/*", **fault)
    with pytest.raises(RemoteWheelError):
        measure(wheel, session=client)
    assert replica.bytes_sent < 10_000_000  # what the system's buffers take before the connection is closed


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        (StubWheel("evil", "2.16.0", "cp312", X86), "no torch-2.16.0.dist-info"),
        (StubWheel("torch", "2.9.0", "cp312", X86), "no torch-2.16.0.dist-info"),
        (zipped("Name: evil\nVersion: 2.16.0\n\n"), "its metadata evil"),
        (zipped("Name: torch\nVersion: 2.16.1\n\n"), "its metadata torch 2.16.1"),
        (zipped("<html>\n"), "its metadata"),
        (torch(files=(("torch/version.py", "__version__ = '2.1.0+cu134'\n"),)), "2.1.0"),
        (torch(files=(("torch/version.py", "(((("),)), "isn't Python"),
    ],
)
def test_a_wheel_that_is_not_what_its_name_says(replica, client, inside: StubWheel | bytes, told: str) -> None:
    outside = torch()
    outside.__dict__["content"] = inside if isinstance(inside, bytes) else inside.content
    with pytest.raises(RemoteWheelError, match=told):
        measure(published(replica, outside), session=client)


def test_a_bomb_is_not_set_off(replica, client) -> None:
    """A member of a gigabyte of zeros in a wheel of a megabyte."""
    wheel = torch(files=(("torch/cuda/__init__.py", " " * 6_000_000),))
    with pytest.raises(RemoteWheelError, match="larger than"):
        measure(published(replica, wheel), session=client)


def test_what_is_no_zip(replica, client) -> None:
    wheel = torch()
    for content in (b"", b"PK", zlib.compress(b"x" * 1000), b"x" * 200_000, wheel.content[:-30]):
        other = torch(filler=len(content))
        other.__dict__["content"] = content
        with pytest.raises(RemoteWheelError):
            RemoteWheel(published(replica, other).url, session=client)


def test_variants_of_stubs(replica, client) -> None:
    for variant, inner in (("cpu", "cpu"), ("rocm7.2", "rocm7.2"), ("xpu", "xpu"), ("cu126", "cu126")):
        wheel = StubWheel("torch", "2.16.0", "cp312", X86, variant=variant, filler=len(variant))
        assert measure(published(replica, wheel), session=client, code=False).variant == inner
    wheel = StubWheel("torch", "2.16.0", "cp312", "macosx_14_0_arm64", variant="mps")
    assert measure(published(replica, wheel), session=client, code=False).variant == "mps"
