"""A replica with a small torch world, a cache of its own, and an empty environment."""

from __future__ import annotations

import pytest

from install.helpers import LINUX, TAG, make_target
from replica import Replica, StubWheel, publish
from torchinstall.install.target import Target


@pytest.fixture
def replica(monkeypatch):
    """torch 2.14.1 and 2.15.0 on three indexes; its dependency filelock, and app, on the default one."""
    with Replica() as running:
        for variant in ("cu126", "cpu"):
            publish(running, [("2.14.1", variant, (TAG,), LINUX)], requires=("filelock",))
            publish(running, [("0.29.1", variant, (TAG,), LINUX)], name="torchvision", requires=("torch",))
        publish(running, [("2.15.0", "cu132", (TAG,), LINUX)], requires=("filelock",), default=True)
        for name, requires in (("filelock", ()), ("app", ("torch>=2.0", "filelock")), ("old-app", ("torch<2.0",))):
            running.add_default(StubWheel(name, "1.0", python="py3", platform="any", requires=requires))
        monkeypatch.setenv("UV_DEFAULT_INDEX", running.default_url)
        yield running


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))


@pytest.fixture
def target(tmp_path, uv_binary) -> Target:
    return make_target(tmp_path / "env", uv_binary)
