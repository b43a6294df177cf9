"""One project on a PEP 503 or PEP 691 index, over HTTP or in a folder (``file://``)."""

from __future__ import annotations

from torchinstall.index.flat import folder_files
from torchinstall.index.http import ABSENT as PAGE_ABSENT
from torchinstall.index.http import OK
from torchinstall.index.location import canonical, file_url, local_path, project_url
from torchinstall.index.page import NotAnIndexPage, read_page, wheels_of
from torchinstall.model.sighting import PYTORCH, Listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from torchinstall.index.http import Client

SEEN = "seen"
ABSENT = "absent"
UNREACHABLE = "unreachable"


def read_simple(
    base_url: str,
    project: str,
    *,
    session: Client,
    role: str = PYTORCH,
    variant: str | None = None,
    limit_s: float = 3.0,
) -> Listing:
    """Return what an index has of one project; never raises for what is found there.

    ``base_url`` is the index itself (``.../whl/cu126``). Network within about ``limit_s`` seconds.
    """
    project = canonical(project)
    found = Listing(url=base_url, role=role, variant=variant, project=project, state=SEEN)
    folder = local_path(base_url)
    if folder is not None:
        return _read_folder(found, folder)
    page = session.fetch(project_url(base_url, project), limit_s=limit_s)
    if page.state == PAGE_ABSENT:
        return found.replace(state=ABSENT)
    if page.state != OK:
        return found.replace(state=UNREACHABLE, error=page.error)
    return _parse(found, page.text, page.url, page.content_type)


def _read_folder(found: Listing, folder: Path) -> Listing:
    try:
        if not folder.is_dir():
            return found.replace(state=UNREACHABLE, error="no such folder")
        project = folder / found.project
        if not project.is_dir():
            return found.replace(state=ABSENT)
        index = project / "index.html"
        if index.is_file():
            return _parse(found, index.read_text("utf-8", "replace"), file_url(index), "text/html")
        return found.replace(wheels=wheels_of(folder_files(project), found.project))
    except OSError as error:
        return found.replace(state=UNREACHABLE, error=error.strerror or str(error))


def _parse(found: Listing, text: str, url: str, content_type: str) -> Listing:
    try:
        files = read_page(text, url=url, content_type=content_type)
    except NotAnIndexPage as error:
        return found.replace(state=UNREACHABLE, error=str(error))
    return found.replace(wheels=wheels_of(files, found.project))
