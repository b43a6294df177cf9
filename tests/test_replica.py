"""The replica behaves as an index, and installers take its wheels."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
import zipfile
from typing import TYPE_CHECKING

import pytest

from replica import Behaviour, Card, Replica, StubWheel, install, publish
from replica.pages import JSON_TYPE

if TYPE_CHECKING:
    from pathlib import Path

LINUX = "manylinux_2_28_x86_64"
CURRENT = f"cp{sys.version_info.major}{sys.version_info.minor}"
HERE = {"linux": "linux_x86_64", "darwin": "macosx_11_0_arm64", "win32": "win_amd64"}[sys.platform]


@pytest.fixture
def replica():
    with Replica() as server:
        yield server


def get(url: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(url, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read(), dict(error.headers)


def test_page_of_the_pytorch_index(replica):
    (wheel,) = publish(replica, [("2.15.0", "cu132", ("cp311",), (LINUX,))], requires_python=">=3.11")
    status, body, _ = get(f"{replica.url('cu132')}/torch/")
    page = body.decode()
    assert status == 200
    assert f'href="/whl/cu132/torch-2.15.0%2Bcu132-cp311-cp311-{LINUX}.whl#sha256={wheel.sha256}"' in page
    assert f'data-core-metadata="sha256={wheel.metadata_sha256}"' in page
    assert f'data-dist-info-metadata="sha256={wheel.metadata_sha256}"' in page
    assert "data-requires-python" not in page


def test_what_is_not_there(replica):
    publish(replica, [("2.15.0", "cu132", ("cp311",), (LINUX,))])
    assert get(f"{replica.url('cu132')}/nothing/")[0] == 403
    assert get(f"{replica.url('cu999')}/torch/")[0] == 403
    assert get(f"{replica.url('cu132')}/torch-9-py3-none-any.whl")[0] == 403
    assert get(f"{replica.default_url}/torch/")[0] == 404


def test_file_ranges_and_metadata(replica):
    wheel = replica.add_wheel("cu126", StubWheel("torch", "2.14.1+cu126", filler=5000))
    url = replica.file_url("cu126", wheel)
    status, whole, headers = get(url)
    assert (status, hashlib.sha256(whole).hexdigest(), headers["Accept-Ranges"]) == (
        200,
        wheel.sha256,
        "bytes",
    )
    status, end, headers = get(url, Range="bytes=-100")
    assert (status, end) == (206, whole[-100:])
    assert headers["Content-Range"] == f"bytes {len(whole) - 100}-{len(whole) - 1}/{len(whole)}"
    assert get(url, Range="bytes=10-19")[1] == whole[10:20]
    assert get(url, Range="bytes=10-")[1] == whole[10:]
    assert get(url, Range=f"bytes={len(whole)}-")[0] == 416
    assert get(f"{url}.metadata")[1] == wheel.metadata
    assert hashlib.sha256(wheel.metadata).hexdigest() == wheel.metadata_sha256
    assert get(f"{url}.nothing")[0] == 403


def test_default_index_speaks_json_and_html(replica):
    wheel = replica.add_default(StubWheel("torch", "2.15.0", variant="cu132", requires_python=">=3.11"))
    replica.add_default(StubWheel("torch", "2.14.0", yanked="broken"))
    status, body, headers = get(f"{replica.default_url}/torch/", Accept=f"{JSON_TYPE}, text/html;q=0.1")
    document = json.loads(body)
    assert (status, headers["Content-Type"]) == (200, JSON_TYPE)
    first, second = document["files"]
    assert first["hashes"] == {"sha256": wheel.sha256}
    assert (first["size"], first["requires-python"], second["yanked"]) == (wheel.size, ">=3.11", "broken")
    assert get(f"{replica.base}{first['url']}")[1] == wheel.content
    html = get(f"{replica.default_url}/torch/", Accept="text/html")[1].decode()
    assert 'data-requires-python="&gt;=3.11"' in html
    assert "+cu132" not in html


def test_default_wheel_has_the_variant_only_inside():
    wheel = StubWheel("torch", "2.15.0", variant="cu132")
    assert b"Version: 2.15.0\n" in wheel.metadata
    assert "cu132" not in wheel.filename
    assert b"__version__ = '2.15.0+cu132'" in wheel.content


def test_same_fields_same_bytes():
    fields = {"name": "torch", "version": "2.15.0+cu132", "filler": 100}
    assert StubWheel(**fields).content == StubWheel(**fields).content
    assert StubWheel(**fields).sha256 == hashlib.sha256(StubWheel(**fields).content).hexdigest()
    assert StubWheel(**fields).sha256 != StubWheel(**{**fields, "filler": 101}).sha256


def test_publishing_thousands_builds_nothing(replica):
    pythons = tuple(f"cp{minor}" for minor in range(310, 320))
    rows = [(f"2.{n}.0", "cu132", pythons, (LINUX, "win_amd64")) for n in range(250)]
    start = time.perf_counter()
    wheels = publish(replica, rows)
    assert len(wheels) == 5000
    assert time.perf_counter() - start < 2
    assert not any("content" in wheel.__dict__ for wheel in wheels)


def test_record_is_right(tmp_path):
    wheel = StubWheel("torch", "2.15.0+cu132")
    path = tmp_path / wheel.filename
    path.write_bytes(wheel.content)
    with zipfile.ZipFile(path) as archive:
        record = archive.read("torch-2.15.0+cu132.dist-info/RECORD").decode().splitlines()
        assert {line.split(",")[0] for line in record} == set(archive.namelist())
        assert b"Tag: cp311-cp311-manylinux_2_28_x86_64" in archive.read("torch-2.15.0+cu132.dist-info/WHEEL")


@pytest.mark.parametrize(
    ("python", "platform", "tag"),
    [
        ("cp313t", LINUX, f"cp313-cp313t-{LINUX}"),
        ("py3", "any", "py3-none-any"),
        ("cp312", "win_amd64", "cp312-cp312-win_amd64"),
    ],
)
def test_tags(python, platform, tag):
    assert StubWheel("torch", "2.0", python=python, platform=platform).filename == f"torch-2.0-{tag}.whl"


def test_faults(replica):
    (wheel,) = publish(replica, [("2.15.0", "cu132", ("cp311",), (LINUX,))])
    page, file = f"{replica.url('cu132')}/torch/", replica.file_url("cu132", wheel)
    healthy = get(page)[1]
    replica.fault("/whl/cu132/torch/", status=503, times=1)
    assert [get(page)[0], get(page)[0]] == [503, 200]
    replica.fault("/whl/cu132/torch/", garbage=True)
    assert b"Sign in" in get(page)[1]
    replica.fault("/whl/cu132/torch/", wrong_hash=True)
    assert get(page)[1] != healthy
    replica.heal()
    assert get(page)[1] == healthy
    replica.fault("*.whl", wrong_hash=True)
    assert hashlib.sha256(get(file)[1]).hexdigest() != wheel.sha256
    replica.fault("*.whl", truncate=100)
    with pytest.raises(Exception, match="100 bytes read"):
        get(file)
    replica.fault("*.whl", delay=0.3)
    start = time.perf_counter()
    get(file)
    assert time.perf_counter() - start >= 0.3
    replica.fault("*.whl", drip=0.05, chunk=len(wheel.content) // 4)
    start = time.perf_counter()
    assert get(file)[1] == wheel.content
    assert time.perf_counter() - start >= 0.14
    replica.fault("*.whl", drop=True)
    with pytest.raises((OSError, urllib.error.URLError)):
        get(file)
    replica.fault("*.whl", ignore_range=True)
    assert get(file, Range="bytes=0-9")[0] == 200


def test_counts(replica):
    (wheel,) = publish(replica, [("2.15.0", "cu132", ("cp311",), (LINUX,))])
    assert replica.requests == []
    get(replica.file_url("cu132", wheel), Range="bytes=0-9", User_Agent="uv/1")
    (asked,) = replica.requests
    assert (asked.method, asked.path, asked.status, asked.sent) == (
        "GET",
        f"/whl/cu132/{wheel.filename}",
        206,
        10,
    )
    assert asked.headers["User-Agent"] == "uv/1"
    assert (replica.count("*.whl"), replica.count("*/torch/"), replica.bytes_sent) == (1, 0, 10)


def test_a_stopped_replica_refuses():
    replica = Replica().start()
    url = replica.url("cu132")
    replica.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=5)


def test_flat_folder_and_page(replica, tmp_path):
    wheels = publish(replica, [("2.15.0", "cu132", ("cp311", "cp312"), (LINUX,))])
    folder = replica.flat_dir(tmp_path / "wheels")
    assert sorted(path.name for path in folder.iterdir()) == sorted(wheel.filename for wheel in wheels)
    page = get(replica.flat_url("cu132"))[1].decode()
    assert page.count("<a ") == 2
    assert "sha256" not in page


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    return folder


def run(command: list[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_uv_installs_from_it(environment, uv_binary, tmp_path):
    with Replica(absent=404) as replica:
        publish(replica, [("2.15.0", "cu132", (CURRENT,), (HERE,))], requires=("transformers>=4",))
        replica.add_default(StubWheel("transformers", "5.0.0", python="py3", platform="any"))
        command = [
            uv_binary, "pip", "install", "--python", str(python_of(environment)), "--no-config", "--quiet",
            "--cache-dir", str(tmp_path / "cache"), "--default-index", replica.default_url,
            "--index", replica.url("cu132"), "torch==2.15.0+cu132",
        ]  # fmt: skip
        run(command)
        assert replica.count("*.metadata") >= 1
    code = "import torch as t, transformers as x; print(t.__version__, t.cuda.get_arch_list()[0], x.__version__)"
    assert run([python_of(environment), "-I", "-c", code]).split() == ["2.15.0+cu132", "sm_75", "5.0.0"]


def test_pip_installs_from_it(replica, tmp_path):
    base = getattr(sys, "_base_executable", sys.executable)
    if subprocess.run([base, "-c", "import pip"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("no pip here")
    publish(replica, [("2.15.0", "cu132", (CURRENT,), (HERE,))], behaviour="works-cpu")
    command = [
        base, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile", "--no-deps",
        "--target", str(tmp_path / "t"), "--index-url", replica.url("cu132"), "torch",
    ]  # fmt: skip
    run(command)
    assert (tmp_path / "t" / "torch-2.15.0+cu132.dist-info").is_dir()


def test_stub_torch_needs_code_for_the_card(tmp_path):
    pascal = Behaviour("works-cuda", cards=(Card("NVIDIA GeForce GTX 1080 Ti", (6, 1)),))
    answers = {}
    for variant in ("cu126", "cu132"):
        folder = tmp_path / variant
        install(StubWheel("torch", f"2.14.1+{variant}", behaviour=pascal), folder)
        code = f"import sys; sys.path.insert(0, {str(folder)!r}); import torch; torch.ones(3, device='cuda')"
        command = [sys.executable, "-I", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        answers[variant] = (done.returncode, "no kernel image" in done.stderr)
    assert answers == {"cu126": (0, False), "cu132": (1, True)}
