"""Sources that answer, that answer nonsense, and that don't answer."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from replica import Replica, StubWheel, publish
from torchinstall.index.flat import read_flat
from torchinstall.index.http import MAX_BYTES, Client
from torchinstall.index.look import Question, look
from torchinstall.index.simple import read_simple


@pytest.fixture
def replica():
    with Replica() as running:
        publish(running, [("2.14.1", "cu126", ("cp311", "cp312"), ("manylinux_2_28_x86_64",))])
        publish(running, [("2.15.0", "cu132", ("cp311",), ("manylinux_2_28_x86_64",))], default=True)
        yield running


@pytest.fixture
def client():
    with_session = Client()
    yield with_session
    with_session.close()


@contextmanager
def serving(body: bytes, content_type: str = "text/html", *, length: bool = True, status: int = 200):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            if length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def silent_socket():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/whl"
    finally:
        listener.close()


def closed_port() -> str:
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    return f"http://127.0.0.1:{port}/whl"


def test_the_pytorch_index(replica, client):
    listing = read_simple(replica.url("cu126"), "Torch", variant="cu126", session=client)
    assert listing.state == "seen"
    assert (listing.kind, listing.role, listing.variant) == ("simple", "pytorch", "cu126")
    assert listing.project == "torch"
    assert [wheel.version for wheel in listing.wheels] == ["2.14.1+cu126"] * 2
    assert all(len(wheel.sha256 or "") == 64 for wheel in listing.wheels)
    assert listing.wheels[0].url.startswith(replica.url("cu126") + "/torch-2.14.1%2Bcu126-cp311")


def test_json_of_the_default_index(replica, client):
    listing = read_simple(replica.default_url, "torch", role="default", session=client)
    assert listing.state == "seen"
    assert listing.wheels[0].version == "2.15.0"
    assert listing.wheels[0].size
    assert replica.requests[-1].headers["User-Agent"].startswith("torchinstall/")


@pytest.mark.parametrize("status", [403, 404])
def test_denied_and_missing_pages_are_absent(replica, client, status):
    replica.fault("/whl/cu126/torch/", status=status)
    assert read_simple(replica.url("cu126"), "torch", session=client).state == "absent"


def test_other_answers_are_not_taken_for_absence(replica, client):
    replica.fault("/whl/cu126/torch/", status=401)
    listing = read_simple(replica.url("cu126"), "torch", session=client)
    assert listing.state == "unreachable"
    assert "401" in listing.error


def test_an_overloaded_index_is_asked_again(replica, client):
    replica.fault("/whl/cu126/torch/", status=503, times=1)
    assert read_simple(replica.url("cu126"), "torch", session=client).state == "seen"
    assert replica.count("/whl/cu126/torch/") == 2


def test_a_reset_is_asked_again_and_a_lasting_one_is_told(replica, client):
    replica.fault("/whl/cu126/torch/", drop=True, times=1)
    assert read_simple(replica.url("cu126"), "torch", session=client).state == "seen"
    replica.fault("/whl/cu126/torch/", drop=True)
    listing = read_simple(replica.url("cu126"), "torch", session=client)
    assert (listing.state, listing.error) == ("unreachable", "the connection was cut off")


def test_hostile_pages(replica, client):
    page = "/whl/cu126/torch/"
    replica.fault(page, garbage=True)
    assert read_simple(replica.url("cu126"), "torch", session=client).error == "not an index page"
    replica.heal()
    replica.fault(page, truncate=300)
    assert read_simple(replica.url("cu126"), "torch", session=client).state == "unreachable"
    replica.heal()
    replica.fault(page, redirect=page)
    assert "redirects" in read_simple(replica.url("cu126"), "torch", session=client).error


def test_a_page_that_is_cut_off_without_a_length(client):
    body = b"<html><body><h1>Links for torch</h1><a href='torch-1.0-py3-none-any.whl'>torch</a><a hr"
    with serving(body, length=False) as url:
        listing = read_simple(url, "torch", session=client)
    assert (listing.state, listing.error) == ("unreachable", "the index page is cut off")


def test_ten_megabytes_are_read_and_more_than_the_limit_is_not(client):
    with serving(b"<html>" + b"x" * 10_000_000 + b"</html>") as url:
        started = time.monotonic()
        assert read_simple(url, "torch", session=client).error == "not an index page"
        assert time.monotonic() - started < 3
    with serving(b"<" + b"x" * MAX_BYTES) as url:
        assert "larger than" in read_simple(url, "torch", session=client).error


def test_folders(tmp_path, client):
    wheel = StubWheel("torch", "2.13.0+cpu")
    flat = Replica().flat_dir(tmp_path / "wheels", wheel, StubWheel("numpy", "2.0"))
    (flat / "torch-notes.txt").write_text("x")
    (found,) = read_flat(str(flat), "torch", session=client).wheels
    assert (found.version, found.size) == ("2.13.0+cpu", wheel.size)
    assert read_flat(f"file://{flat}", "torch", session=client).wheels == (found,)
    assert read_flat(str(flat), "torchvision", session=client).state == "seen"
    gone = read_flat(str(tmp_path / "gone"), "torch", session=client)
    assert (gone.state, gone.error) == ("unreachable", "no such folder")

    Replica().flat_dir(tmp_path / "simple" / "torch", wheel)
    simple = f"file://{tmp_path}/simple"
    assert read_simple(simple, "torch", session=client).wheels[0].version == "2.13.0+cpu"
    assert read_simple(simple, "torchvision", session=client).state == "absent"
    (tmp_path / "simple" / "torch" / "index.html").write_text(
        "<html><body><a href='../../wheels/torch-9.9-py3-none-any.whl'>w</a></body></html>"
    )
    (listed,) = read_simple(simple, "torch", session=client).wheels
    assert listed.url == f"file://{tmp_path}/wheels/torch-9.9-py3-none-any.whl"
    assert read_simple(f"file://{tmp_path}/nowhere", "torch", session=client).state == "unreachable"


def test_flat_page(replica, client):
    listing = read_flat(replica.flat_url("cu126"), "torch", role="mirror", variant="cu126", session=client)
    assert (listing.state, listing.kind, len(listing.wheels)) == ("seen", "flat", 2)


def test_look_keeps_the_order_and_reads_equal_pages_once(replica):
    questions = [
        Question(url=replica.default_url, project="torch", role="default"),
        Question(url=replica.url("cu126"), project="torch", variant="cu126"),
        Question(url=replica.url("cu126"), project="torchvision", variant="cu126"),
        Question(url=replica.url("cu126"), project="torch", role="mirror", variant="cu126"),
    ]
    listings = look(questions)
    assert [listing.state for listing in listings] == ["seen", "seen", "absent", "seen"]
    assert [listing.role for listing in listings] == ["default", "pytorch", "pytorch", "mirror"]
    assert listings[0].variant is None
    assert replica.count("/whl/cu126/torch/") == 1


@pytest.mark.parametrize("down", [closed_port, silent_socket])
def test_an_unreachable_index_is_known_within_three_seconds(replica, down):
    def ask(url):
        names = [f"torch{i}" for i in range(20)]
        questions = [Question(url=url, project=name) for name in names]
        session = Client()
        started = time.monotonic()
        listings = look([*questions, Question(url=replica.url("cu126"), project="torch")], session=session)
        assert time.monotonic() - started < 3.0
        assert {listing.state for listing in listings[:-1]} == {"unreachable"}
        assert all(listing.error for listing in listings[:-1])
        assert listings[-1].state == "seen"
        started = time.monotonic()
        assert look(questions[:1], session=session)[0].state == "unreachable"
        assert time.monotonic() - started < 0.1

    if down is closed_port:
        ask(down())
    else:
        with down() as url:
            ask(url)


def test_a_dripping_page_doesnt_hold_the_others_up(replica):
    replica.fault("/whl/cu126/torch/", drip=0.5, chunk=10)
    started = time.monotonic()
    slow, other = look(
        [Question(url=url, project="torch") for url in (replica.url("cu126"), replica.default_url)],
        limit_s=1.5,
    )
    assert time.monotonic() - started < 1.6
    assert (slow.state, other.state) == ("unreachable", "seen")


def test_offline_reads_folders_and_asks_nobody(replica, tmp_path):
    flat = Replica().flat_dir(tmp_path, StubWheel("torch", "2.13.0+cpu"))
    folder = Question(url=str(flat), project="torch", kind="flat")
    local, remote = look([folder, Question(url=replica.default_url, project="torch")], offline=True)
    assert local.wheels
    assert (remote.state, remote.error) == ("unreachable", "not asked: offline")
    assert replica.requests == []


def test_credentials_are_sent_and_never_shown(replica, client):
    with_password = replica.default_url.replace("http://", "http://me:s3cret@")
    assert read_simple(with_password, "torch", session=client).state == "seen"
    assert replica.requests[-1].headers["Authorization"].startswith("Basic ")
    gone = closed_port().replace("http://", "http://me:s3cret@")
    assert "s3cret" not in read_simple(gone, "torch", session=client).error


def test_a_proxy_of_the_environment_is_used(replica, monkeypatch):
    monkeypatch.setenv("http_proxy", replica.base)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    look([Question(url="http://wheels.example/whl/cu126", project="torch")])
    assert any(asked.path == "/whl/cu126/torch/" for asked in replica.requests)
