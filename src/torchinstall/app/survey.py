"""One look round the indexes: the pages, the wheels that must be read into, and what follows for the rows."""

from __future__ import annotations

from torchinstall.errors import IndexUnreachableError, UsageError
from torchinstall.model.catalog_report import NOTE, PageState, Refreshed
from torchinstall.model.sighting import DEFAULT, PYTORCH
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from torchinstall.app.base import App
    from torchinstall.catalog.known import Known, Want
    from torchinstall.catalog.load import FolderReader
    from torchinstall.catalog.observe import Shelf
    from torchinstall.catalog.overlay import Overlay
    from torchinstall.index.http import Client
    from torchinstall.model.measured import Measured

    Tell = Callable[[int, int, str], None]
    """(done, all, what): how far it is."""

PAGES_LIMIT_S = 45.0
"""Seconds for all pages of one round together; a host that doesn't answer is known in two."""
MOST_MEASURED = 12
"""Wheels whose GPU code one refresh reads; each costs six requests and some 25 MB, and there is a next time."""
_MOST_DESCRIBED = 24
"""Wheels of which only metadata and version are read: four requests and 0.1 MB for a companion."""
_ROUNDS = 3
_TORCH_NPU = "torch-npu"


class RefreshOptions(Value):
    """How to refresh.

    ``measure``: versions (``2.15.0``, ``2.15.0+cu130``) whose wheels are read into again; ``whole``: all of
    each library; ``dry``: nothing is written; ``most``: how many wheels are read for their GPU code.
    """

    measure: tuple[str, ...] = ()
    whole: bool = False
    dry: bool = False
    most: int = MOST_MEASURED


class Survey:
    """One look round: the pages, the wheels that must be read into, and what follows for the rows."""

    def __init__(self, app: App, tell: Tell) -> None:
        import datetime as dt

        from torchinstall.catalog.load import FolderReader
        from torchinstall.catalog.locate import cache_dir, find_index_data
        from torchinstall.catalog.overlay import base_url
        from torchinstall.index.cache import PageCache
        from torchinstall.index.http import Client
        from torchinstall.install.settings import read_settings

        settings = read_settings(app.environ, cwd=app.cwd)
        if settings.offline:
            raise UsageError("a refresh needs the network, and uv or pip is set to be offline")
        self.today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
        self.shipped: FolderReader = FolderReader(find_index_data())
        self.base = base_url(self.shipped)
        self.old = app.catalog.overlay
        from torchinstall.index.default import default_index

        self._default_index = settings.default_index or default_index()
        cache = PageCache(cache_dir(app.environ) / "pages")
        self._client: Client = Client(environ=app.environ, cert=settings.cert, cache=cache)
        self._cache = cache
        self._tell = tell
        self._measured: dict[str, Measured] = {}
        self._hashes: dict[str, str] = {}
        self._tried: set[str] = set()
        self._spent = {True: 0, False: 0}
        self._notes: list[tuple[str, str]] = []
        self._fresh: list[Measured] = []

    def run(self, options: RefreshOptions, old: Overlay | None) -> tuple[Refreshed, dict[str, Any]]:
        """Look, measure, and return what was found with the documents of an overlay."""
        import time

        from torchinstall.catalog.evidence import Evidence
        from torchinstall.catalog.known import Fresh, Known
        from torchinstall.catalog.overlay import OverlaidReader
        from torchinstall.catalog.pairing import pair
        from torchinstall.catalog.update import update

        begun = time.monotonic()
        reader = self.shipped if old is None else OverlaidReader(self.shipped, old)
        known = Known(reader, reviewed=Known(self.shipped).releases if old is not None else None)
        shelves = self._pages(known)
        if all(shelf.state == "unreachable" for shelf in shelves):
            raise _nothing_reached(shelves)
        again = _again(options.measure, known)
        self._recall(old, shelves, forget=options.measure)
        left: list[Want] = []
        fresh = Fresh(known, self.today)
        for _ in range(_ROUNDS):
            fresh = Fresh(known, self.today)
            fresh.carry(old.documents if old is not None else {})
            evidence = Evidence(shelves, self._measured, self.base, again)
            update(fresh, evidence)
            pair(fresh, evidence)
            wants = [want for want in fresh.wants if want.wheel.filename not in self._tried]
            if not wants:
                break
            left = self._measure(wants, options)
        for shelf in shelves:
            for note in shelf.notes:
                fresh.change(NOTE, note.partition(":")[0], note.partition(": ")[2])
        for what, text in [*self._notes, *self._new_npu(shelves)]:
            fresh.change(NOTE, what, text)
        self._cache.prune(time.time())
        self._client.close()
        pages = tuple(PageState(folder=s.folder, project=s.project, state=s.state, error=s.error) for s in shelves)
        return Refreshed(
            date=self.today,
            changes=tuple(fresh.changes),
            pages=pages,
            measured=tuple(self._fresh),
            again=len(left),
            requests=self._client.requests + sum(m.requests for m in self._fresh),
            transferred=self._client.received + sum(m.transferred for m in self._fresh),
            seconds=round(time.monotonic() - begun, 2),
        ), fresh.documents()

    def _pages(self, known: Known) -> list[Shelf]:
        """Ask for torch everywhere; for its companions where there is a torch."""
        from torchinstall.catalog.folders import folders
        from torchinstall.catalog.known import COMPANIONS
        from torchinstall.index.look import Question

        names = folders(known.variants)
        first = [
            Question(url=self._default_index, project=project, role=DEFAULT)
            for project in ("torch", *COMPANIONS, _TORCH_NPU)
        ]
        first += [self._question(name, "torch") for name in names]
        shelves = self._ask(first, known, "pages of torch")
        there = [shelf.folder for shelf in shelves if shelf.folder != DEFAULT and shelf.state == "seen"]
        second = [self._question(name, project) for name in there for project in COMPANIONS]
        return shelves + (self._ask(second, known, "pages of torchvision and torchaudio") if second else [])

    def _question(self, folder: str, project: str) -> Any:
        from torchinstall.index.look import Question

        return Question(url=f"{self.base}/{folder}", project=project, role=PYTORCH, variant=folder)

    def _ask(self, questions: Sequence[Any], known: Known, what: str) -> list[Shelf]:
        from torchinstall.catalog.observe import observe
        from torchinstall.index.look import look

        done = 0

        def each(_listing: object) -> None:
            nonlocal done
            done += 1
            self._tell(done, len(questions), what)

        listings = look(questions, limit_s=PAGES_LIMIT_S, session=self._client, each=each)
        pythons = known.pythons
        return [observe(listing, pythons) for listing in listings]

    def _measure(self, wants: Iterable[Want], options: RefreshOptions) -> list[Want]:
        """Read into wheels, each once; what is over the limit is returned."""
        from torchinstall.index.measure import measure
        from torchinstall.index.remote import RemoteWheelError

        unique = {want.wheel.filename: want for want in sorted(wants, key=lambda want: want.code)}
        todo = list(unique.values())
        most = {True: options.most, False: _MOST_DESCRIBED if options.most else 0}
        chosen = [want for want in todo if self._room(want, most)]
        for number, want in enumerate(chosen):
            self._tell(number, len(chosen), want.wheel.filename)
            self._tried.add(want.wheel.filename)
            self._hashes[want.wheel.filename] = want.wheel.sha256 or ""
            try:
                found = measure(want.wheel, session=self._client, code=want.code, whole=options.whole)
            except RemoteWheelError as error:
                self._notes.append((want.wheel.filename, f"couldn't be read into: {error}"))
                continue
            self._measured[found.filename] = found
            self._fresh.append(found)
            self._notes += [(found.filename, note) for note in found.notes]
        return [want for want in todo if want not in chosen]

    def _room(self, want: Want, most: dict[bool, int]) -> bool:
        if self._spent[want.code] >= most[want.code]:
            return False
        self._spent[want.code] += 1
        return True

    def _recall(self, old: Overlay | None, shelves: Iterable[Shelf], forget: tuple[str, ...]) -> None:
        """Take over what earlier refreshes read out of wheels, as long as the page names the same hash for them."""
        from torchinstall.model.measured import from_facts

        files = {file.filename: file.sha256 for shelf in shelves for item in shelf.items for file in item.files}
        wanted = {text.partition("+")[0] for text in forget}
        for row in old.measured if old is not None else ():
            name, sha256 = row["filename"], row["sha256"]
            found = from_facts(row.get("facts"))
            if found is None or found.version.partition("+")[0] in wanted:
                continue
            if files.get(name, sha256) != sha256:
                self._notes.append((name, "its hash on the page isn't the one of the last refresh; it is read again"))
                continue
            self._measured[name] = found
            self._hashes[name] = sha256

    def measured_rows(self) -> tuple[dict[str, Any], ...]:
        """Return what was read out of wheels, for the next refresh."""
        from torchinstall.model.measured import to_facts

        return tuple(
            {"filename": name, "sha256": self._hashes[name], "facts": to_facts(found)}
            for name, found in sorted(self._measured.items())
            if self._hashes.get(name)
        )

    def _new_npu(self, shelves: Iterable[Shelf]) -> list[tuple[str, str]]:
        """Name torch-npu releases without a row; which CANN they need stands in no wheel, so a person must add it."""
        from torchinstall.errors import CatalogError
        from torchinstall.model.version import numbers

        try:
            rows = self.shipped.read("ascend.json")["rows"]
        except (CatalogError, KeyError):
            return []
        newest = max((numbers(row["torch_npu"]) for row in rows), default=())
        versions = {i.version for s in shelves if s.project == _TORCH_NPU for i in s.items}
        return [
            (f"torch-npu {version}", "on the default index, and no row says for which CANN it is")
            for version in sorted(versions, key=numbers)
            if numbers(version) > newest
        ]


def _again(versions: tuple[str, ...], known: Known) -> list[tuple[str, str, str]]:
    """Return the Linux builds that these versions mean: with a variant that one, else the default index's."""
    found = []
    for text in versions:
        version, _, variant = text.partition("+")
        keys = [
            key
            for key, row in known.builds.items()
            if key[0] == version and (key[1] == variant if variant else row.get("default")) and "linux" in key[2]
        ]
        if not keys:
            raise UsageError(f"no build of {text} is known that could be measured", todo=["torchinstall catalog show"])
        found += keys
    return found


def _nothing_reached(shelves: Sequence[Shelf]) -> IndexUnreachableError:
    errors = dict.fromkeys(shelf.error for shelf in shelves if shelf.error)
    return IndexUnreachableError(
        "no index could be looked at: " + "; ".join(list(errors)[:3]),
        why="a refresh compares the catalogue with what the indexes have",
        todo=[
            "look at the network and the proxy settings",
            "the catalogue stays as it was; `catalog show` has its age",
        ],
    )
