"""Ask several sources side by side, within one time limit."""

from __future__ import annotations

from torchinstall.index.flat import read_flat
from torchinstall.index.http import Client
from torchinstall.index.location import canonical, host_of
from torchinstall.index.simple import read_simple
from torchinstall.model.sighting import PYTORCH, Listing
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import queue
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    _Address: TypeAlias = tuple[str, str, str]
    """URL, kind and project: what makes two questions the same page."""

WORKERS = 6  # a host
_MARGIN_S = 0.15  # what is left for putting the answers together


class Question(Value):
    """One page to look at: a project on a source. ``kind``, ``role`` and ``variant`` as in ``Listing``."""

    url: str
    project: str
    kind: str = "simple"
    role: str = PYTORCH
    variant: str | None = None


def look(
    questions: Sequence[Question],
    *,
    limit_s: float = 3.0,
    offline: bool = False,
    session: Client | None = None,
    each: Callable[[Listing], None] | None = None,
) -> tuple[Listing, ...]:
    """Return one listing a question, in order, within ``limit_s`` seconds, whatever the other sides do.

    ``each`` is told of every page as it comes in.

    Equal pages are read once. A host that was found unreachable is not waited for again, neither in this
    call nor in later ones with the same ``session``. ``offline`` reads folders and asks no network.
    """
    import os

    client = session or Client(environ=os.environ, offline=offline)
    answers: dict[_Address, Listing] = {}
    pages = list(dict.fromkeys(_page(question) for question in questions))
    remote = [page for page in pages if host_of(page[0]) and page[0][:5].lower() != "file:"]
    for page in pages:
        if page not in remote or client.offline or host_of(page[0]) in client.down:
            answers[page] = _read(page, client, limit_s)
    remote = [page for page in remote if page not in answers]
    if remote:
        answers |= _read_together(remote, client, limit_s, each)
    return tuple(
        answers[_page(question)].replace(role=question.role, variant=question.variant) for question in questions
    )


def _page(question: Question) -> _Address:
    return question.url, question.kind, canonical(question.project)


def _read(page: _Address, client: Client, limit_s: float) -> Listing:
    url, kind, project = page
    if kind == "flat":
        return read_flat(url, project, session=client, limit_s=limit_s)
    return read_simple(url, project, session=client, limit_s=limit_s)


def _read_together(
    pages: list[_Address], client: Client, limit_s: float, each: Callable[[Listing], None] | None = None
) -> dict[_Address, Listing]:
    import queue
    import time

    deadline = time.monotonic() + limit_s - _MARGIN_S
    client.session()  # the costly import once, before the threads start
    done: queue.SimpleQueue[tuple[_Address, Listing]] = queue.SimpleQueue()
    by_host: dict[str, list[_Address]] = {}
    for page in pages:
        by_host.setdefault(host_of(page[0]), []).append(page)
    for pages_of_host in by_host.values():
        _start_readers(pages_of_host, client, deadline, done)
    answers: dict[_Address, Listing] = {}
    while len(answers) < len(pages):
        try:
            page, listing = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        answers[page] = listing
        if each is not None:
            each(listing)
        for other in pages:
            if other not in answers and (error := client.down.get(host_of(other[0]))):
                answers[other] = _unreachable(other, error)
    for page in pages:
        if page not in answers:
            error = client.down.setdefault(host_of(page[0]), f"no answer within {limit_s:g} s")
            answers[page] = _unreachable(page, error)
    return answers


def _start_readers(
    pages: list[_Address], client: Client, deadline: float, done: queue.SimpleQueue[tuple[_Address, Listing]]
) -> None:
    """Read the pages of one host in a few threads of its own, so that a slow host holds no other up."""
    import queue
    import threading
    import time

    waiting: queue.SimpleQueue[_Address] = queue.SimpleQueue()
    for page in pages:
        waiting.put(page)

    def work() -> None:
        while (left := deadline - time.monotonic()) > 0:
            try:
                page = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                listing = _read(page, client, left)
            except Exception as error:  # noqa: BLE001 - one bad page must not lose the others
                listing = _unreachable(page, f"{type(error).__name__} while reading the page")
            done.put((page, listing))

    # Daemon threads and no pool: a name look-up can't be given a time limit, and a
    # pool would wait for it when the program ends.
    for _ in range(min(WORKERS, len(pages))):
        threading.Thread(target=work, daemon=True).start()


def _unreachable(page: _Address, error: str) -> Listing:
    url, kind, project = page
    return Listing(url=url, kind=kind, project=project, state="unreachable", error=error)
