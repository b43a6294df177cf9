"""The pages of a simple index: PEP 503 HTML as the PyTorch index writes it, PEP 691 JSON, and a flat page."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replica.wheels import StubWheel

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "text/html"


def project_html(project: str, wheels: Sequence[StubWheel], prefix: str, *, python: bool, wrong_hash: bool) -> bytes:
    """Return one project's page; ``python``: with ``data-requires-python``, unlike the PyTorch index."""
    lines = [_link(wheel, prefix, python=python, wrong_hash=wrong_hash) for wheel in wheels]
    body = "\n".join(f"    {line}<br/>" for line in lines)
    text = f"<!DOCTYPE html>\n<html>\n  <body>\n    <h1>Links for {project}</h1>\n{body}\n  </body>\n</html>\n"
    return text.encode()


def _link(wheel: StubWheel, prefix: str, *, python: bool, wrong_hash: bool) -> str:
    digest = wheel.sha256[::-1] if wrong_hash else wheel.sha256
    metadata = f"sha256={wheel.metadata_sha256}"
    marks = f' data-dist-info-metadata="{metadata}" data-core-metadata="{metadata}"'
    if python and wheel.requires_python:
        marks += f' data-requires-python="{html.escape(wheel.requires_python)}"'
    if wheel.yanked is not None:
        marks += f' data-yanked="{html.escape(wheel.yanked)}"'
    return f'<a href="{prefix}{quote(wheel.filename)}#sha256={digest}"{marks}>{wheel.filename}</a>'


def project_json(project: str, wheels: Sequence[StubWheel], prefix: str, *, wrong_hash: bool) -> bytes:
    """Return one project's page as JSON, version 1.1 of the simple API."""
    files = [
        {
            "filename": wheel.filename,
            "url": f"{prefix}{quote(wheel.filename)}",
            "hashes": {"sha256": wheel.sha256[::-1] if wrong_hash else wheel.sha256},
            "size": wheel.size,
            "core-metadata": {"sha256": wheel.metadata_sha256},
            "requires-python": wheel.requires_python,
            "yanked": wheel.yanked if wheel.yanked is not None else False,
        }
        for wheel in wheels
    ]
    versions = sorted({wheel.version for wheel in wheels})
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "versions": versions, "files": files}).encode()


def root_html(projects: Iterable[str], prefix: str) -> bytes:
    """Return the page that lists the projects."""
    body = "\n".join(f'    <a href="{prefix}{name}/">{name}</a><br/>' for name in sorted(projects))
    return f"<!DOCTYPE html>\n<html>\n  <body>\n{body}\n  </body>\n</html>\n".encode()


def flat_html(wheels: Iterable[StubWheel], prefix: str) -> bytes:
    """Return a find-links page, as flat mirrors have: names alone, no hashes."""
    body = "\n".join(f'<a href="{prefix}{quote(wheel.filename)}">{wheel.filename}</a>' for wheel in wheels)
    return f"<html><body><pre>\n{body}\n</pre></body></html>\n".encode()
