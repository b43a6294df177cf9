"""The replica behind a proxy that cuts every connection after so many bytes: it installs, or ends clean."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from urllib.parse import urlsplit

import pytest
from ground import NEW, Ground

LIMITS = (2_000, 20_000, 120_000, 2_000_000)


@pytest.fixture(scope="module")
def _ground(tmp_path_factory):
    made = Ground(tmp_path_factory.mktemp("ground"))
    yield made
    made.close()


@pytest.fixture
def ground(_ground):
    _ground.world.replica.heal()
    yield _ground
    _ground.back()


class Cutter:
    """A TCP proxy in front of a server; each connection ends after ``limit`` bytes of answers."""

    def __init__(self, target: str, limit: int) -> None:
        parts = urlsplit(target)
        self.target = (parts.hostname, parts.port)
        self.limit = limit
        self.cut = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        sent = 0
        with client, contextlib.suppress(OSError), socket.create_connection(self.target) as server:
            while True:
                ready, _, _ = select.select([client, server], [], [], 20)
                if not ready:
                    return
                for side in ready:
                    data = side.recv(4096)
                    if not data:
                        return
                    if side is client:
                        server.sendall(data)
                        continue
                    client.sendall(data[: max(0, self.limit - sent)])
                    sent += len(data)
                    if sent >= self.limit:
                        self.cut += 1
                        return

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize("installer", ["uv", "pip"])
@pytest.mark.parametrize("limit", LIMITS)
def test_every_connection_is_cut(ground: Ground, limit: int, installer: str, record_property) -> None:
    record_property("fault", f"{installer}: connections cut after {limit} bytes")
    world = ground.world
    ground.fresh_cache()
    cutter = Cutter(world.replica.base, limit)
    world.point_at(f"{cutter.url}/whl")
    try:
        done = ground.upgrade("--installer", installer, UV_DEFAULT_INDEX=f"{cutter.url}/simple", UV_HTTP_RETRIES="2")
    finally:
        world.point_at(world.replica.index_base)
        cutter.close()
    if done.returncode == 0:
        assert world.versions()["torch"] == f"{NEW}+cu126"
    else:
        assert done.returncode in {2, 5, 8}, done.stdout + done.stderr
        assert cutter.cut > 0
        ground.assert_as_before()
    if limit == LIMITS[-1]:
        assert done.returncode == 0, done.stdout + done.stderr
