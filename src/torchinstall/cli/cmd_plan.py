"""``torchinstall plan``: for one machine, or for many, a line each."""

from __future__ import annotations

import io
import itertools
import json
import sys

from torchinstall.cli.common import app, options_of, say, spoken
from torchinstall.cli.groups import machine, request, target
from torchinstall.errors import EXIT_OK, EXIT_USAGE, MachineFileError, TorchInstallError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from torchinstall.app.base import Planned
    from torchinstall.model.options import Options


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
            return _batch(lines, options, as_json=arguments.json)
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
        head = [] if arguments.quiet else machine_lines(planned.machine, verbose=verbose)
        say([*head, *plan_lines(planned.plan, verbose=verbose, lang=spoken())])
    return planned.plan.exit_code


def read_source(name: str) -> str:
    """Return the whole of a file, or of stdin for ``-``."""
    return "".join(_lines(name))


def _batch(lines: Iterator[str], options: Options, *, as_json: bool) -> int:
    import gc

    from torchinstall.output.jsonout import dumps, error_to_json, plan_to_json
    from torchinstall.output.text import summary

    # Plans are many small values without cycles: looking for such less often saves a seventh of the time.
    gc.set_threshold(50_000, 20, 20)
    code = EXIT_OK
    write = sys.stdout.write
    for number, (identity, answer) in enumerate(app().plan_lines(lines, options), 1):
        bad = isinstance(answer, TorchInstallError)
        code = EXIT_USAGE if bad else code
        if not as_json:
            told = answer.what if isinstance(answer, TorchInstallError) else summary(answer)
            write(f"{number if identity is None else identity}: {told}\n")
        elif isinstance(answer, TorchInstallError):
            write(dumps(error_to_json(answer, identity), indent=None) + "\n")
        else:
            write(dumps(plan_to_json(answer, identity, compact=True), indent=None) + "\n")
    return code


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
