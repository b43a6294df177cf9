"""What one refresh has seen, asked by the rules that turn it into rows."""

from __future__ import annotations

from torchinstall.catalog.observe import SEEN, Item, Shelf
from torchinstall.model.sighting import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from torchinstall.model.measured import Measured
    from torchinstall.model.sighting import WheelFile

    Row = dict[str, Any]
    Source = tuple[str, str]


class Evidence:
    """What one refresh has seen: the shelves, and what was read out of wheels, by file name.

    ``again``: builds (torch, variant, platform) whose GPU code is wanted though it is known.
    """

    def __init__(
        self,
        shelves: Iterable[Shelf],
        measured: Mapping[str, Measured],
        base: str,
        again: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        self.again = tuple(again)
        self.shelves = {(shelf.folder, shelf.project): shelf for shelf in shelves}
        self.measured = measured
        self.base = base

    def shelf(self, folder: str, project: str) -> Shelf | None:
        """Return what a page has, ``None`` where it wasn't asked or couldn't be looked at.

        That a folder isn't there counts only beside another one that is: a proxy that refuses everything
        answers just the same.
        """
        shelf = self.shelves.get((folder, project))
        if shelf is None or shelf.state == SEEN:
            return shelf
        believable = shelf.state == "absent" and folder != DEFAULT and self._index_answers
        return shelf if believable else None

    @property
    def _index_answers(self) -> bool:
        return any(s.state == SEEN and s.folder != DEFAULT and s.items for s in self.shelves.values())

    def of(self, item: Item) -> Measured | None:
        """Return what is known of the inside of these wheels."""
        return next((self.measured[file.filename] for file in item.files if file.filename in self.measured), None)

    def page(self, folder: str, project: str, date: str) -> Source:
        """Return the source of a row that a page shows."""
        return f"page-{folder}-{project}-{date}", f"seen on {self._name(folder, project)} on {date}"

    def gone(self, folder: str, project: str, date: str) -> Source:
        """Return the source of a row that a page doesn't show any more."""
        name = self._name(folder, project)
        return f"gone-{folder}-{project}-{date}", f"known before, and not on {name} on {date}"

    def _name(self, folder: str, project: str) -> str:
        if folder == DEFAULT:
            return f"{project}'s page on the default index"
        return f"the index page {self.base}/{folder}/{project}/"


def preferred(item: Item) -> WheelFile:
    """Return the wheel of an item that stands for all: they differ in the Python alone."""
    files = [file for file in item.files if not file.yanked] or list(item.files)
    return next((file for file in files if "cp312" in file.abi), files[0])


def same_wheels(left: Row, right: Row) -> bool:
    """Tell whether two tables of wheels have the same tags, in whatever order."""
    return {k: set(v) for k, v in left.items()} == {k: set(v) for k, v in right.items()}


def build_name(torch: str, variant: str, platform: str) -> str:
    """Return how a build is named in what a refresh says."""
    return f"{torch}+{variant} {platform}"
