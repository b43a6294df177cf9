"""A replica stocked with all that the catalogue knows, and the command line run against it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from replica import Replica, StubWheel
from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.catalog.rows import CHOSEN_OFFLINE
from torchinstall.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "index_data"
X86, ARM, WIN, MAC = "linux_x86_64", "linux_aarch64", "win_amd64", "macos_arm64"
PLATFORMS = (X86, ARM, WIN, "win_arm64", MAC, "macos_x86_64")
TAG = {X86: "manylinux_2_28_x86_64", ARM: "manylinux_2_28_aarch64", WIN: "win_amd64", MAC: "macosx_14_0_arm64"}
PYTHONS = ("cp311", "cp312", "cp313", "cp314")


def fatbin(*archs: int, size: int = 4096, kind: int = 2) -> bytes:
    """One container of fat binaries, in the layout that cuobjdump reads; the code is noise."""
    entries = b""
    for arch in archs:
        head = struct.pack("<HHIQIIHHIIIQ", kind, 0x101, 64, size, 0, 0, 0, 8, arch, 0, 0, 0x11)
        entries += head.ljust(64, b"\0") + random.Random(arch).randbytes(size)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def with_library(wheel: StubWheel, library: bytes) -> StubWheel:
    """Put ``torch/lib/libtorch_cuda.so`` into a stub, deflated as in a real wheel."""
    buffer = io.BytesIO(wheel.content)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("torch/lib/libtorch_cuda.so", library)
    wheel.__dict__["content"] = buffer.getvalue()  # before anybody asks for the hash
    return wheel


def release(
    replica: Replica, version: str, variant: str, platforms=(X86, ARM), *, name="torch", default=False,
    pythons=PYTHONS, **more,
) -> list[StubWheel]:  # fmt: skip
    """Publish one version of one project for a variant, on its own index and with ``default`` on the default one."""
    made = []
    for platform in platforms:
        for python in pythons:
            fields = {"name": name, "python": python, "platform": TAG[platform], "variant": variant, **more}
            made.append(replica.add_wheel(variant, StubWheel(version=f"{version}+{variant}", **fields)))
            if default:
                made.append(replica.add_default(StubWheel(version=version, **fields)))
    return made


def stock(replica: Replica, catalog: Catalog) -> None:
    """Publish what the rows say is published, wheel for wheel."""
    done: set[tuple[str, str]] = set()
    for platform in PLATFORMS:
        for build in catalog.builds(platform):
            if build.variant == "npu" or getattr(build, "index", None):
                continue
            if build.status in CHOSEN_OFFLINE:
                _put(replica, done, "torch", build.torch, build, build.wheels)
            for name in ("torchvision", "torchaudio"):
                for row in catalog.companions(name, build):
                    if row.status in CHOSEN_OFFLINE:
                        _put(replica, done, name, row.version, build, row.wheels, folders=not build.default)


def _put(replica, done, name, version, build, wheels, *, folders=True) -> None:
    folder = "cpu" if build.variant == "mps" else build.variant
    macos = build.platform.startswith("macos")
    for wheel in wheels:
        for python in wheel.pythons:
            fields = {"name": name, "python": python, "platform": wheel.platform, "variant": build.variant}
            local = version if macos else f"{version}+{build.variant}"
            places = [(folder, local)] if folders else []
            for place, shown in [*places, *([("default", version)] if build.default else [])]:
                stub = StubWheel(version=shown, **fields)
                if (place, stub.filename) in done:
                    continue
                done.add((place, stub.filename))
                if place == "default":
                    replica.add_default(stub)
                else:
                    replica.add_wheel(place, stub)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Desk:
    """A copy of the data that names a replica, and the command line over it with a cache of its own."""

    def __init__(self, folder: Path, *, stocked: bool = True) -> None:
        self.folder = folder
        self.replica = Replica().start()
        # The other side hanging up is what some tests are about; the server needn't report it.
        self.replica._server.handle_error = lambda *_about: None
        if stocked:
            stock(self.replica, load_catalog(DATA))
        self.data = folder / "index_data"
        shutil.copytree(DATA, self.data)
        self.edit("indexes.json", lambda d: d["indexes"][0].update(url=self.replica.index_base))
        self.cache = folder / "cache"
        self.environ = {
            "TORCHINSTALL_INDEX_DATA": str(self.data),
            "UV_DEFAULT_INDEX": self.replica.default_url,
            "XDG_CACHE_HOME": str(self.cache),
        }

    def edit(self, name: str, change) -> None:
        path = self.data / name
        document = json.loads(path.read_text("utf-8"))
        change(document)
        path.write_text(json.dumps(document), "utf-8")

    def run(self, *words: str, **environ: str) -> Done:
        """Run the command line, in this process: a start costs more than most of what is tested here."""
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, {**self.environ, **environ}),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(words)
        return Done(code, out.getvalue(), err.getvalue())

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start the command line as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "torchinstall", *words], env={**os.environ, **self.environ}, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def json(self, *words: str, code: int = 0, **environ: str) -> dict:
        done = self.run(*words, "--json", **environ)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def plan(self, *words: str, gpu: str = "RTX 4090", code: int = 0, **environ: str) -> dict:
        where = ("--driver", "615.10", "--os", "linux", "--arch", "x86_64", "--python", "3.12")
        return self.json("plan", "--gpu", gpu, *where, *words, code=code, **environ)

    @property
    def overlay(self) -> Path:
        return next(iter((self.cache / "torchinstall" / "catalog").glob("overlay-*.json")))

    def close(self) -> None:
        self.replica.stop()


def texts(found: dict, kind: str) -> dict[str, str]:
    """What a refresh said, by kind."""
    return {change["what"]: change["text"] for change in found["changes"] if change["kind"] == kind}
