"""Work on many lines in several processes at once, answered in their order and in bounded memory."""

from __future__ import annotations

import itertools
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from typing import TypeVar

    T = TypeVar("T")

CHUNK = 250
"""Lines handed over at once: a quarter of a second's work, and some hundred KiB of answers."""
_MOST = 16


def processors() -> int:
    """Return how many processes can run at once: those that this one may use."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST)
    return min(os.cpu_count() or 1, _MOST)


def side_by_side(work: Callable[[Iterator[str]], Iterator[T]], lines: Iterator[str], processes: int) -> Iterator[T]:
    """Yield what ``work`` makes of each line, in order; each process has one chunk of lines at a time.

    ``work`` answers a stream of lines, one for one: what it remembers serves all lines of its process. It is a
    function of a module, or one of those with fixed arguments. What it raises is raised here.
    """
    import multiprocessing

    chunks = iter(lambda: list(itertools.islice(lines, CHUNK)), [])
    ends: list[Connection] = []
    try:
        for _ in range(processes):
            here, there = multiprocessing.Pipe()
            multiprocessing.Process(target=_serve, args=(work, there, (*ends, here)), daemon=True).start()
            there.close()
            ends.append(here)
        busy: list[Connection] = []
        for end in ends:
            _next(end, chunks, busy)
        while busy:
            end = busy.pop(0)
            answers = end.recv()
            if isinstance(answers, BaseException):
                raise answers
            _next(end, chunks, busy)  # before the answers are used: it goes on working meanwhile
            yield from answers
    finally:
        for end in ends:
            end.close()  # a process whose other end is gone ends by itself


def _next(end: Connection, chunks: Iterator[list[str]], busy: list[Connection]) -> None:
    chunk = next(chunks, None)
    if chunk:
        end.send(chunk)
        busy.append(end)


def _serve(work: Callable[[Iterator[str]], Iterator[T]], end: Connection, others: tuple[Connection, ...]) -> None:
    """Answer chunks until the other side is gone. ``others`` were inherited by a fork, and are none of ours."""
    import contextlib
    import gc
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is told, and closes its end
    gc.set_threshold(50_000, 20, 20)
    for other in others:
        other.close()
    size = 0

    def received() -> Iterator[str]:
        nonlocal size
        while True:
            chunk = end.recv()
            size = len(chunk)
            yield from chunk

    with contextlib.suppress(EOFError, OSError):
        try:
            answers = []
            for answer in work(received()):
                answers.append(answer)
                if len(answers) == size:
                    end.send(answers)
                    answers = []
        except EOFError:
            raise
        except Exception as error:  # noqa: BLE001 - raised again by the one who asked
            end.send(error)
