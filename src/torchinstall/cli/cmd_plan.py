"""``torchinstall plan``: for one machine, or for many, a line each."""

from __future__ import annotations

import io
import itertools
import json
import sys

from torchinstall.cli.common import app, in_words, options_of, say, spoken
from torchinstall.cli.groups import machine, request, target
from torchinstall.errors import EXIT_OK, EXIT_USAGE, MachineFileError, TorchInstallError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from torchinstall.app.base import Planned
    from torchinstall.model.options import Options


_LARGE = 1_000_000
"""Bytes of a file of machines from which on several processes are worth their start: some 2,500 lines."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    request(parser)
    target(parser)
    machine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the decision with its reasons; the exit code says whether there is one."""
    options = options_of(arguments)
    text = None
    if arguments.report:
        if arguments.machine:
            raise UsageError("--machine and --report together", why="both name the machine", todo=["give one of them"])
        ground = app()
        machines = ground.reported(options)
        several = len(machines) > 1
        # The worst answer counts: a fleet is planned when each of its machines is.
        return max(
            [_show(ground.planned(one, options, None, elsewhere=True), arguments, several=several) for one in machines]
        )
    if arguments.machine:
        batch, lines = _sorted_out(_lines(arguments.machine))
        if batch:
            return _batch(lines, options, as_json=arguments.json, size=_size(arguments.machine))
        text = "".join(lines)
    return _show(app().plan(options, text), arguments, _identity(text))


def _show(planned: Planned, arguments: argparse.Namespace, identity: object = None, *, several: bool = False) -> int:
    """Write one plan; of several, each JSON document is a line."""
    if arguments.json:
        from torchinstall.output.jsonout import dumps, plan_to_json
        from torchinstall.output.language import localized

        print(
            dumps(
                plan_to_json(localized(planned.plan, arguments.lang or "en"), identity), indent=None if several else 1
            )
        )
    else:
        from torchinstall.output.text import machine_lines, plan_lines

        verbose = arguments.verbose > 0
        head = [] if arguments.quiet else machine_lines(planned.machine, verbose=verbose, plan=planned.plan)
        say([*head, *plan_lines(planned.plan, verbose=verbose, lang=spoken())])
    return planned.plan.exit_code


def read_source(name: str) -> str:
    """Return the whole of a file, or of stdin for ``-``."""
    return "".join(_lines(name))


def _batch(lines: Iterator[str], options: Options, *, as_json: bool, size: int = 0) -> int:
    """Answer line by line; a large file (``size``, in bytes) by several processes, with the same output."""
    answered = _side_by_side(lines, options, as_json=as_json) if size >= _LARGE else None
    if answered is None:
        import gc

        # Plans are many small values without cycles: looking for such less often saves a seventh of the time.
        gc.set_threshold(50_000, 20, 20)
        answered = _answers(options, as_json, lines)
    code = EXIT_OK
    write = sys.stdout.write
    for number, (text, bad) in enumerate(answered, 1):
        code = EXIT_USAGE if bad else code
        write(f"{number}{text}" if text.startswith(": ") else text)
    return code


def _side_by_side(lines: Iterator[str], options: Options, *, as_json: bool) -> Iterator[tuple[str, bool]] | None:
    from functools import partial

    from torchinstall.app.side_by_side import processors, side_by_side

    count = processors()
    return side_by_side(partial(_answers, options, as_json), lines, count) if count > 1 else None


def _answers(options: Options, as_json: bool, lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the text of each answer, and whether the line was a bad one; text for people lacks the line's number."""
    from torchinstall.output.jsonout import dumps, error_to_json, plan_to_json
    from torchinstall.output.text import summary

    for identity, answer in app().plan_lines(lines, options):
        bad = isinstance(answer, TorchInstallError)
        if not as_json:
            told = answer.what if isinstance(answer, TorchInstallError) else summary(answer)
            yield f"{'' if identity is None else identity}: {in_words(told)}\n", bad
        elif isinstance(answer, TorchInstallError):
            yield dumps(error_to_json(answer, identity), indent=None) + "\n", bad
        else:
            yield dumps(plan_to_json(answer, identity, compact=True), indent=None) + "\n", bad


def _size(name: str) -> int:
    """Return the bytes of a file, also of one that is standard input; 0 for a pipe, whose lines come when they come."""
    import os
    import stat

    try:
        found = os.fstat(0) if name == "-" else os.stat(name)  # noqa: PTH116 - pathlib is a tenth of a plan's start
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _lines(name: str) -> Iterator[str]:
    """Return the lines of a file or of stdin; bytes that aren't UTF-8 spoil their own line only."""
    if name == "-":
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        yield from sys.stdin
        return
    try:
        with open(name, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib is a tenth of a plan's start
            yield from file  # _sorted_out takes a byte order mark away
    except OSError as error:
        raise MachineFileError(
            f"the machine file {name} can't be read",
            why=str(error),
            todo=["make one with `torchinstall detect --json`"],
        ) from None


def _sorted_out(lines: Iterator[str]) -> tuple[bool, Iterator[str]]:
    """Tell JSON lines from one document, and return all lines again.

    Lines they are where the first is a whole object and another follows it (or it has an id or a machine in
    it), and where the first is broken but the next is whole. Only what may be one document is read to its end.
    """
    full = (bare for line in lines if (bare := line.lstrip("\ufeff")).strip())
    first, second = next(full, ""), next(full, None)
    head = [first] if second is None else [first, second]
    document = _object(first)
    if document is not None:
        return second is not None or "machine" in document or "id" in document, itertools.chain(head, full)
    if second is not None and _object(second) is not None:
        return True, itertools.chain(head, full)
    whole = [*head, *full]
    if _object("".join(whole)) is not None:
        return False, iter(whole)
    return len(whole) > 1 and any(_object(line) is not None for line in whole), iter(whole)


def _object(text: str) -> dict[str, object] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _identity(text: str | None) -> object:
    document = _object(text) if text is not None else None
    return document.get("id") if document is not None else None
