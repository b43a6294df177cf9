"""Find-links sources: a folder of wheels, or one page of links to them."""

from __future__ import annotations

from torchinstall.index.http import ABSENT as PAGE_ABSENT
from torchinstall.index.http import OK
from torchinstall.index.location import canonical, file_url, local_path
from torchinstall.index.page import File, NotAnIndexPage, read_page, wheels_of
from torchinstall.model.sighting import FIND_LINKS, Listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from torchinstall.index.http import Client


def read_flat(
    location: str,
    project: str,
    *,
    session: Client,
    role: str = FIND_LINKS,
    variant: str | None = None,
    limit_s: float = 3.0,
) -> Listing:
    """Return the wheels of one project in a folder, an HTML file or a page of links; never raises.

    A source that is there but has none of the project is ``seen``, with no wheels. Hashes of files in a
    folder aren't computed: a torch wheel takes seconds, and the files are the user's own.
    """
    project = canonical(project)
    found = Listing(url=location, kind="flat", role=role, variant=variant, project=project, state="seen")
    path = local_path(location)
    if path is None:
        page = session.fetch(location, limit_s=limit_s)
        if page.state == PAGE_ABSENT:
            return found.replace(state="absent")
        if page.state != OK:
            return found.replace(state="unreachable", error=page.error)
        return _parse(found, page.text, page.url, page.content_type)
    try:
        if path.is_dir():
            return found.replace(wheels=wheels_of(folder_files(path), found.project))
        if path.is_file():
            return _parse(found, path.read_text("utf-8", "replace"), file_url(path), "text/html")
    except OSError as error:
        return found.replace(state="unreachable", error=error.strerror or str(error))
    return found.replace(state="unreachable", error="no such folder")


def folder_files(folder: Path) -> tuple[File, ...]:
    """Return the wheels that lie in a folder, by name; subfolders aren't entered, as in pip."""
    return tuple(
        File(filename=path.name, url=file_url(path), size=path.stat().st_size)
        for path in sorted(folder.iterdir())
        if path.name.endswith(".whl") and path.is_file()
    )


def _parse(found: Listing, text: str, url: str, content_type: str) -> Listing:
    try:
        files = read_page(text, url=url, content_type=content_type)
    except NotAnIndexPage as error:
        return found.replace(state="unreachable", error=str(error))
    return found.replace(wheels=wheels_of(files, found.project))
