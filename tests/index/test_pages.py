"""Index pages and file names, as text."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchinstall.index.location import absolute, local_path, redact
from torchinstall.index.page import NotAnIndexPage, read_page, wheels_of
from torchinstall.index.wheelname import split_wheel_name, wheel_file

URL = "https://wheels.example/whl/cu126/torch/"
SHA = "ab" * 32


def html(*anchors: str) -> str:
    links = "<br/>\n".join(anchors)
    return f"<!DOCTYPE html>\n<html><body><h1>Links for torch</h1>\n{links}\n</body></html>\n"


def link(name: str, href: str | None = None, extra: str = "") -> str:
    return f'<a href="{href or name}"{extra}>{name}</a>'


def test_html_page_with_escaped_local_version_hash_and_yanked():
    name = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
    href = f"/whl/cu126/{name.replace('+', '%2B')}#sha256={SHA.upper()}"
    page = html(link(name, href), link("torch-2.13.0-cp312-cp312-win_arm64.whl", extra=' data-yanked=""'))
    first, second = wheels_of(read_page(page, url=URL, content_type="text/html"), "torch")
    assert first.filename == name
    assert first.version == "2.14.1+cu126"
    assert first.url == f"https://wheels.example/whl/cu126/{name.replace('+', '%2B')}"
    assert first.sha256 == SHA
    assert (first.python, first.abi, first.platform) == (("cp312",), ("cp312",), ("manylinux_2_28_x86_64",))
    assert not first.yanked
    assert second.yanked
    assert second.sha256 is None


def test_base_element_is_obeyed():
    page = '<html><head><base href="https://files.example/x/"></head>'
    page += '<body><a href="torch-2.0-py3-none-any.whl">t</a></body></html>'
    assert read_page(page, url=URL)[0].url == "https://files.example/x/torch-2.0-py3-none-any.whl"


def test_json_page_has_sizes_and_relative_urls():
    document = {
        "meta": {"api-version": "1.4"},
        "files": [
            {
                "filename": "torch-2.15.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
                "url": "../../packages/torch-2.15.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
                "hashes": {"sha256": SHA},
                "size": 540_000_000,
                "yanked": "withdrawn",
            },
            {"filename": "torch-2.15.0.tar.gz", "url": "x/torch-2.15.0.tar.gz", "hashes": {}},
            "nonsense",
            {"filename": 3, "url": None},
        ],
    }
    files = read_page(json.dumps(document), url=URL, content_type="application/vnd.pypi.simple.v1+json")
    (wheel,) = wheels_of(files, "torch")
    assert wheel.size == 540_000_000
    assert wheel.yanked
    assert wheel.abi == ("cp313t",)
    assert wheel.url.startswith("https://wheels.example/whl/packages/torch-2.15.0")


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        ("", "text/html"),
        ("hello", "text/plain"),
        ("<html><title>Sign in</title><form action='/login'></form></html>", "text/html"),
        ('<html><a href="/help">help</a></html>', "text/html"),
        ("{", "application/json"),
        ('{"files": 3}', "application/json"),
        ("[]", "application/vnd.pypi.simple.v1+json"),
        ('{"meta": {"api-version": "2.0"}, "files": []}', "application/json"),
        ("\x00\x01\x02PK", "application/octet-stream"),
        ("[" * 100_000, "application/json"),
    ],
)
def test_what_is_no_index_page_is_said_so(text: str, content_type: str):
    with pytest.raises(NotAnIndexPage):
        read_page(text, url=URL, content_type=content_type)


def test_an_empty_project_page_is_an_index_page():
    assert read_page(html(), url=URL, content_type="text/html") == ()


@pytest.mark.parametrize("end", ["</html>\n", "</a>\n</body></html>\n", "l</a>\n</body></html>\n"])
def test_a_page_that_was_cut_off_is_not_taken_for_the_whole(end: str):
    page = html(link("torch-1.0-py3-none-any.whl"), link("torch-2.0-py3-none-any.whl"))
    assert page.endswith(end)
    with pytest.raises(NotAnIndexPage, match="cut off"):
        read_page(page[: -len(end)], url=URL, content_type="text/html")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "torch-2.6.0+cu124-cp312-cp312-win_amd64.whl",
            ("torch", "2.6.0+cu124", "cp312", "cp312", "win_amd64"),
        ),
        ("a-1-2-py3-none-any.whl", ("a", "1", "py3", "none", "any")),
        ("a-1-x-py3-none-any.whl", None),
        ("a-1-py3-none.whl", None),
        ("-1-py3-none-any.whl", None),
        ("a-1-py3-none-any.zip", None),
        ("../a-1-py3-none-any.whl", None),
    ],
)
def test_wheel_names(name: str, parts: tuple[str, ...] | None):
    assert split_wheel_name(name) == parts


def test_wheel_of_another_project_or_with_a_bad_version_is_none():
    assert wheel_file("torchvision-0.1-py3-none-any.whl", "u", project="torch") is None
    assert wheel_file("torch-latest-py3-none-any.whl", "u") is None
    name = "Torch_NPU-2.9.0.post1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    multi = wheel_file(name, "u", project="torch-npu")
    assert multi is not None
    assert multi.name == "torch-npu"
    assert multi.platform == ("manylinux_2_17_x86_64", "manylinux2014_x86_64")


@given(st.text(max_size=60))
def test_any_file_name_is_a_wheel_or_none(name: str):
    wheel_file(name + ".whl", "u")


@given(st.text(max_size=300), st.sampled_from(["", "text/html", "application/json", "application/x-tar"]))
def test_any_text_is_read_or_refused(text: str, content_type: str):
    with contextlib.suppress(NotAnIndexPage):
        read_page("<a href='x-1-py3-none-any.whl'>" + text, url=URL, content_type=content_type)


def test_locations(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert local_path("file:///a/b%20c") == type(tmp_path)("/a/b c")
    assert local_path("file://localhost/a") == type(tmp_path)("/a")
    assert local_path("~/w") == tmp_path / "w"
    assert local_path("https://x.example/w") is None
    assert absolute("../w", tmp_path / "a") == str(tmp_path / "w")
    assert absolute("https://x.example/w", tmp_path) == "https://x.example/w"


def test_credentials_are_redacted():
    text = redact("failed: https://user:s3cret@x.example/simple and http://token@y.example/")
    assert text == "failed: https://***@x.example/simple and http://***@y.example/"
