"""Pages kept on disk: asked about each time, transferred once, and never believed when damaged."""

from __future__ import annotations

import time

import pytest

from replica import Replica, publish
from torchinstall.index.cache import Kept, PageCache, replace_file
from torchinstall.index.http import Client
from torchinstall.index.simple import read_simple


@pytest.fixture
def replica():
    with Replica() as running:
        publish(running, [("2.14.1", "cu126", ("cp311", "cp312"), ("manylinux_2_28_x86_64",))])
        yield running


def read(replica: Replica, folder, **more):
    client = Client(cache=PageCache(folder))
    try:
        found = read_simple(replica.url("cu126"), "torch", session=client, **more)
        return found, client
    finally:
        client.close()


def test_a_page_that_has_not_changed_is_not_sent_again(replica, tmp_path) -> None:
    first, _ = read(replica, tmp_path)
    sent = replica.bytes_sent
    again, client = read(replica, tmp_path)
    assert again == first
    assert (replica.bytes_sent, client.received, client.requests) == (sent, 0, 1)
    assert replica.requests[-1].status == 304


def test_a_page_that_has_changed_is(replica, tmp_path) -> None:
    read(replica, tmp_path)
    publish(replica, [("2.15.0", "cu126", ("cp312",), ("manylinux_2_28_x86_64",))])
    again, _ = read(replica, tmp_path)
    assert "2.15.0+cu126" in {wheel.version for wheel in again.wheels}


def test_what_is_kept_is_never_taken_without_asking(replica, tmp_path) -> None:
    read(replica, tmp_path)
    replica.fault("/whl/*", status=403)
    assert read(replica, tmp_path)[0].state == "absent"
    replica.fault("/whl/*", status=500)
    assert read(replica, tmp_path, limit_s=1)[0].state == "unreachable"


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[:-5], lambda b: b.replace(b"2.14.1", b"6.6.6x"), lambda b: b"{}\n"]
)
def test_a_damaged_page_is_read_again(replica, tmp_path, damage) -> None:
    first, _ = read(replica, tmp_path)
    for path in tmp_path.glob("*.page"):
        path.write_bytes(damage(path.read_bytes()))
    again, _ = read(replica, tmp_path)
    assert again == first
    assert replica.requests[-1].status == 200


def test_a_cut_off_page_is_not_kept(replica, tmp_path) -> None:
    replica.fault("/whl/*", truncate=100)
    assert read(replica, tmp_path, limit_s=1)[0].state == "unreachable"
    assert not list(tmp_path.glob("*"))


def test_addresses_with_credentials_and_pages_without_a_mark_are_not_kept(replica, tmp_path) -> None:
    client = Client(cache=PageCache(tmp_path))
    read_simple(replica.url("cu126").replace("http://", "http://me:secret@"), "torch", session=client)
    client.close()
    cache = PageCache(tmp_path)
    cache.put("http://a.example/", Kept(url="http://a.example/", body=b"x", content_type="text/html"))
    assert not list(tmp_path.glob("*"))


def test_a_cache_that_cannot_be_written_is_no_error(replica, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert read(replica, blocked)[0].state == "seen"


def test_old_pages_are_removed(replica, tmp_path) -> None:
    read(replica, tmp_path)
    PageCache(tmp_path).prune(time.time())
    assert len(list(tmp_path.glob("*.page"))) == 1
    PageCache(tmp_path).prune(time.time() + 100 * 86400)
    assert not list(tmp_path.glob("*.page"))


def test_a_file_is_replaced_in_one_step(tmp_path) -> None:
    path = tmp_path / "x.json"
    replace_file(path, b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(OSError):
        replace_file(tmp_path / "none" / "x.json", b"new")
