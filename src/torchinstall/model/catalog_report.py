"""What the catalogue commands have to say: what a refresh found otherwise, and what is known of a build."""

from __future__ import annotations

from torchinstall.model.measured import Measured
from torchinstall.model.sighting import DEFAULT
from torchinstall.model.value import Value

CONFIRMED = "confirmed"
NOTE = "note"


class Change(Value):
    """One thing that a refresh found otherwise.

    ``kind``: release, build, status, wheels, code, companion; ``confirmed`` where only the certainty grew,
    ``note`` where no row changed.
    """

    kind: str
    what: str
    text: str


class PageState(Value):
    """One page that was asked. ``folder``: a variant, or ``default``; ``state``: seen, absent, unreachable."""

    folder: str
    project: str
    state: str
    error: str = ""


class Refreshed(Value):
    """What a refresh, or a check, came to.

    ``written``: the file, ``""`` where none was; ``again``: how many wheels are left for a later refresh.
    ``requests``, ``transferred`` (bytes) and ``seconds`` are what it cost.
    """

    date: str
    changes: tuple[Change, ...] = ()
    pages: tuple[PageState, ...] = ()
    measured: tuple[Measured, ...] = ()
    written: str = ""
    again: int = 0
    requests: int = 0
    transferred: int = 0
    seconds: float = 0.0

    @property
    def drift(self) -> tuple[Change, ...]:
        """The changes that could change what is installed."""
        return tuple(change for change in self.changes if change.kind not in {CONFIRMED, NOTE})

    @property
    def unreachable(self) -> tuple[PageState, ...]:
        """The pages that couldn't be looked at."""
        return tuple(page for page in self.pages if page.state == "unreachable")

    @property
    def blind(self) -> bool:
        """Whether no page of the PyTorch index could be looked at: that nothing is new says nothing then."""
        pages = [page for page in self.pages if page.folder != DEFAULT]
        return bool(pages) and all(page.state == "unreachable" for page in pages)


class Fact(Value):
    """One row, to be shown. ``kind``: build, code or companion; ``checked`` the day, ``age`` in days."""

    kind: str
    torch: str
    variant: str
    platform: str
    status: str
    text: str
    source: str
    checked: str
    age: int


class Shown(Value):
    """What is known of a version or a variant, or of all: the day of the data, the rows, and what limits them.

    ``shipped`` is the day of the data that came with torchinstall, ``overlay`` the file of refreshed rows,
    ``refused`` why such a file was passed over, ``unreachable`` what the last refresh couldn't look at.
    """

    what: str
    date: str
    shipped: str
    age: int
    facts: tuple[Fact, ...] = ()
    releases: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """(torch, day, variants that may be chosen) a release, newest first."""
    overlay: str = ""
    refused: str = ""
    unreachable: tuple[str, ...] = ()
