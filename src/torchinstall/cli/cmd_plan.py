"""``torchinstall plan``: for one machine, or for many, a line each."""

from __future__ import annotations

import sys
from pathlib import Path

from torchinstall.cli.common import app, options_of, say
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
        return max([_show(ground.planned(one, options, None), arguments, several=several) for one in machines])
    if arguments.machine:
        lines = _lines(arguments.machine)
        first = next(lines, "")
        if _is_batch(first, more=(second := next(lines, None)) is not None):
            return _batch(_chain(first, second, lines), options)
        text = "".join(_chain(first, second, lines))
    return _show(app().plan(options, text), arguments, _identity(text))


def _show(planned: Planned, arguments: argparse.Namespace, identity: object = None, *, several: bool = False) -> int:
    """Write one plan; of several, each JSON document is a line."""
    if arguments.json:
        from torchinstall.output.jsonout import dumps, plan_to_json

        print(dumps(plan_to_json(planned.plan, identity), indent=None if several else 1))
    else:
        from torchinstall.output.text import machine_lines, plan_lines

        verbose = arguments.verbose > 0
        head = [] if arguments.quiet else machine_lines(planned.machine, verbose=verbose)
        say([*head, *plan_lines(planned.plan, verbose=verbose)])
    return planned.plan.exit_code


def read_source(name: str) -> str:
    """Return the whole of a file, or of stdin for ``-``."""
    return "".join(_lines(name))


def _batch(lines: Iterator[str], options: Options) -> int:
    from torchinstall.output.jsonout import dumps, error_to_json, plan_to_json

    code = EXIT_OK
    write = sys.stdout.write
    for identity, answer in app().plan_lines(lines, options):
        if isinstance(answer, TorchInstallError):
            write(dumps(error_to_json(answer, identity), indent=None) + "\n")
            code = EXIT_USAGE
            continue
        write(dumps(plan_to_json(answer, identity, compact=True), indent=None) + "\n")
    return code


def _lines(name: str) -> Iterator[str]:
    if name == "-":
        yield from sys.stdin
        return
    path = Path(name)
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise MachineFileError(
            f"the machine file {name} can't be read",
            why=str(error),
            todo=["make one with `torchinstall detect --json`"],
        ) from None


def _chain(first: str, second: str | None, rest: Iterator[str]) -> Iterator[str]:
    yield first
    if second is not None:
        yield second
    yield from rest


def _is_batch(first: str, *, more: bool) -> bool:
    """Tell JSON lines from one document: a line that is a whole object, and another after it or an id in it."""
    import json

    try:
        document = json.loads(first)
    except ValueError:
        return False
    return isinstance(document, dict) and (more or "machine" in document or "id" in document)


def _identity(text: str | None) -> object:
    if text is None:
        return None
    import json

    document = json.loads(text)
    return document.get("id") if isinstance(document, dict) else None
