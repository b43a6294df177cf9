"""Refreshing and checking the catalogue."""

from __future__ import annotations

from torchinstall.app.survey import RefreshOptions, Survey
from torchinstall.errors import TargetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from torchinstall.app.base import App
    from torchinstall.app.survey import Tell
    from torchinstall.catalog.load import FolderReader
    from torchinstall.catalog.overlay import Overlay
    from torchinstall.model.catalog_report import PageState, Refreshed


def refresh(app: App, options: RefreshOptions, tell: Tell) -> Refreshed:
    """Look at the indexes, read into what is new, and write the overlay in one step.

    What couldn't be looked at keeps its old rows. Raises ``IndexUnreachableError`` where nothing could be
    looked at, ``TargetError`` where the cache can't be written; the old overlay is whole in any case.
    """
    from torchinstall.catalog.overlay import Overlay

    survey = Survey(app, tell)
    found, documents = survey.run(options, old=survey.old)
    overlay = Overlay(
        date=survey.today,
        index=survey.base,
        documents=documents,
        pages=tuple(_page_row(page, survey.today) for page in found.pages),
        measured=survey.measured_rows(),
    )
    if options.dry:
        return found
    return found.replace(written=str(_write(survey.shipped, overlay, app)))


def check(app: App, tell: Tell) -> Refreshed:
    """Compare the rows that came with torchinstall with the live indexes; writes and measures nothing."""
    return Survey(app, tell).run(RefreshOptions(most=0), old=None)[0]


def updated_documents(app: App, options: RefreshOptions, tell: Tell) -> tuple[Refreshed, dict[str, Any]]:
    """Return what a refresh over the shipped rows alone finds, as whole data files by name; writes nothing."""
    from torchinstall.catalog.merge import merged, without_unused_sources

    survey = Survey(app, tell)
    found, documents = survey.run(options, old=None)
    whole: dict[str, Any] = {}
    for name, over in documents.items():
        minor = name.removeprefix("releases/torch-").removesuffix(".json")
        new = name.startswith("releases/") and minor not in survey.shipped.minors()
        whole[name] = without_unused_sources(merged(name, None if new else survey.shipped.read(name), over))
    if found.drift:
        whole["meta.json"] = {**survey.shipped.read("meta.json"), "date": survey.today}
    return found, whole


def _write(shipped: FolderReader, overlay: Overlay, app: App) -> Path:
    """Write the overlay, once it is seen to be one that the next start would take."""
    import json

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.locate import overlay_dir
    from torchinstall.catalog.overlay import OverlaidReader, overlay_name, overlay_of, overlay_text, stamp, stamp_file
    from torchinstall.index.cache import replace_file

    text = overlay_text(overlay)
    read = overlay_of(json.loads(text), "the new overlay", shipped)
    Catalog(OverlaidReader(shipped, read)).read_all(read.documents)
    folder = overlay_dir(app.environ)
    path = folder / overlay_name(overlay.index)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
        replace_file(stamp_file(path), stamp(text.encode()).encode())
    except OSError as error:
        raise TargetError(
            f"the refreshed catalogue can't be written to {path}",
            why=error.strerror or str(error),
            todo=["TORCHINSTALL_CACHE_DIR names another folder"],
        ) from error
    return path


def _page_row(page: PageState, today: str) -> dict[str, str]:
    row = {"variant": page.folder, "project": page.project, "state": page.state, "checked": today}
    return {**row, "error": page.error} if page.error else row
