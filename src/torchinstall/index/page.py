"""The two forms of an index page: HTML (PEP 503, and find-links pages) and JSON (PEP 691)."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from torchinstall.index.wheelname import wheel_file
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.sighting import WheelFile

# pypi-simple reads both forms too, but it loads pydantic and Beautiful Soup,
# needs five times as long for a page and wants to own the session.

_FILE = re.compile(r"\.(?:whl|tar\.gz|tar\.bz2|tgz|zip|egg|exe|metadata)$", re.IGNORECASE)
_SHA256 = re.compile(r"(?:^|[#&])sha256=([0-9a-fA-F]{64})(?:&|$)")
_DAY = re.compile(r"20\d\d-[01]\d-[0-3]\d")
_HEX64 = re.compile(r"[0-9a-fA-F]{64}")
_JSON_TYPES = {"application/vnd.pypi.simple.v1+json", "application/json"}
_HTML_TYPES = {"text/html", "application/xhtml+xml", "application/vnd.pypi.simple.v1+html", ""}


class NotAnIndexPage(ValueError):  # noqa: N818 - says what the page is
    """What came isn't an index page; the message says what is wrong with it."""


class File(Value):
    """One file that a page names. ``url`` is absolute, without fragment; the rest as in ``WheelFile``."""

    filename: str
    url: str
    sha256: str | None = None
    size: int | None = None
    yanked: bool = False
    requires_python: str | None = None
    uploaded: str | None = None
    metadata: str | None = None


def read_page(text: str, *, url: str, content_type: str = "") -> tuple[File, ...]:
    """Return the files on an index page, in its order.

    Raises ``NotAnIndexPage`` where the text is something else: a login or error page, half a page.
    """
    if content_type in _JSON_TYPES or (content_type not in _HTML_TYPES and text.lstrip()[:1] == "{"):
        return _read_json(text, url)
    if content_type not in _HTML_TYPES and not text.lstrip()[:1] == "<":
        raise NotAnIndexPage(f"not an index page (content type {content_type})")
    return _read_html(text, url)


def wheels_of(files: tuple[File, ...], project: str) -> tuple[WheelFile, ...]:
    """Return the wheels of one project among files; names that aren't wheels of it are passed over."""
    found = (wheel_file(**file.__dict__, project=project) for file in files)
    return tuple(wheel for wheel in found if wheel is not None)


def _beside(announced: object) -> str | None:
    """Return what a page says of the METADATA beside a wheel: its sha256, ``""`` for there, ``None`` for not."""
    if isinstance(announced, dict):
        announced = f"sha256={announced.get('sha256', '')}"
    if announced in {None, False, "false"}:
        return None
    digest = str(announced).removeprefix("sha256=").lower()
    return digest if _HEX64.fullmatch(digest) else ""


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: list[dict[str, str | None]] = []
        self.base: str | None = None
        self.says_index = False
        self.open_html = False
        self.closed_html = False
        self.open_anchor = False
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.anchors.append(dict(attrs))
            self.open_anchor = True
        elif tag == "base" and self.base is None:
            self.base = dict(attrs).get("href")
        elif tag == "meta" and dict(attrs).get("name") == "pypi:repository-version":
            self.says_index = True
        elif tag == "html":
            self.open_html = True
        self._heading = tag in {"h1", "title"}

    def handle_endtag(self, tag: str) -> None:
        if tag == "html":
            self.closed_html = True
        elif tag == "a":
            self.open_anchor = False
        self._heading = False

    def handle_data(self, data: str) -> None:
        if self._heading and data.strip().lower().startswith(("links for", "simple index", "index of")):
            self.says_index = True


def _read_html(text: str, url: str) -> tuple[File, ...]:
    parser = _Links()
    parser.feed(text)
    base = urljoin(url, parser.base) if parser.base else url
    files = []
    for anchor in parser.anchors:
        href = anchor.get("href")
        if not href:
            continue
        try:
            target = urljoin(base, href.strip())
            parts = urlsplit(target)
        except ValueError:  # an address that is none, such as http://[
            continue
        filename = unquote(parts.path.rpartition("/")[2])
        if not _FILE.search(filename):
            continue
        digest = _SHA256.search(parts.fragment)
        files.append(
            File(
                filename=filename,
                url=target.partition("#")[0],
                sha256=digest[1].lower() if digest else None,
                yanked="data-yanked" in anchor,
                requires_python=anchor.get("data-requires-python"),
                # PEP 714: the newer name counts where both are there.
                metadata=_beside(anchor.get("data-core-metadata", anchor.get("data-dist-info-metadata"))),
            )
        )
    if not files and not parser.says_index:
        raise NotAnIndexPage("not an index page")
    if parser.open_anchor or parser.rawdata.strip() or (parser.open_html and not parser.closed_html):
        raise NotAnIndexPage("the index page is cut off")
    return tuple(files)


def _read_json(text: str, url: str) -> tuple[File, ...]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise NotAnIndexPage("not an index page (JSON that can't be read)") from None
    if not isinstance(document, dict) or not isinstance(document.get("files"), list):
        raise NotAnIndexPage("not an index page (JSON without files)")
    meta = document.get("meta")
    version = str(meta.get("api-version", "1.0")) if isinstance(meta, dict) else "1.0"
    if version.partition(".")[0] != "1":
        raise NotAnIndexPage(f"an index page of API version {version[:20]}, where 1 is understood")
    files = []
    for entry in document["files"]:
        if not isinstance(entry, dict):
            continue
        filename, address = entry.get("filename"), entry.get("url")
        if not isinstance(filename, str) or not isinstance(address, str):
            continue
        hashes = entry.get("hashes")
        sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
        size, python, uploaded = (entry.get(name) for name in ("size", "requires-python", "upload-time"))
        try:
            target = urljoin(url, address)
        except ValueError:
            continue
        files.append(
            File(
                filename=filename,
                url=target.partition("#")[0],
                sha256=sha256.lower() if isinstance(sha256, str) and _HEX64.fullmatch(sha256) else None,
                size=size if isinstance(size, int) and not isinstance(size, bool) else None,
                yanked=bool(entry.get("yanked")),
                requires_python=python if isinstance(python, str) else None,
                uploaded=day[0] if isinstance(uploaded, str) and (day := _DAY.match(uploaded)) else None,
                metadata=_beside(entry.get("core-metadata", entry.get("dist-info-metadata"))),
            )
        )
    return tuple(files)
