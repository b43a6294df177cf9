"""``torchinstall catalog``: what is known, how old, from where; refreshed from the live indexes."""

from __future__ import annotations

import os

from torchinstall.cli.common import app, say
from torchinstall.errors import EXIT_BLOCKED, EXIT_INDEX, EXIT_OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from torchinstall.model.catalog_report import Refreshed

    Tell = Callable[[int, int, str], None]

ACTIONS = ("show", "refresh", "check")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "action", choices=ACTIONS, nargs="?", default="show",
        help="show what is known; refresh it from the indexes; check the shipped rows against them",
    )  # fmt: skip
    parser.add_argument("what", nargs="?", metavar="WHAT", help="for show: 2.15.0, cu130, 2.15.0+cu132; all if absent")
    parser.add_argument("--offline", action="store_true", help="use no network; only show does without")
    group = parser.add_argument_group("refresh")
    group.add_argument(
        "--measure", action="append", default=[], metavar="VERSION", help="read into the wheels of this version again"
    )
    group.add_argument("--full", action="store_true", help="read all of each library, not the part that settles it")
    group.add_argument("--dry-run", action="store_true", help="say what would change; write nothing")


def run(arguments: argparse.Namespace) -> int:
    """Do one of the three."""
    if arguments.action == "show":
        return _show(arguments)
    if arguments.what:
        raise UsageError(
            f"`catalog {arguments.action}` takes no {arguments.what!r}",
            todo=[f"torchinstall catalog {arguments.action}", f"torchinstall catalog show {arguments.what}"],
        )
    if arguments.offline:
        raise UsageError(f"`catalog {arguments.action}` asks the indexes, and --offline forbids it")
    if arguments.action == "refresh":
        from torchinstall.app.catalog import refresh
        from torchinstall.app.survey import RefreshOptions

        options = RefreshOptions(measure=tuple(arguments.measure), whole=arguments.full, dry=arguments.dry_run)
        told = _tell_of(arguments, lambda tell: refresh(app(), options, tell))
        return EXIT_INDEX if told.blind else EXIT_OK
    from torchinstall.app.catalog import check

    found = _tell_of(arguments, lambda tell: check(app(), tell), checked=True)
    if found.drift:
        return EXIT_BLOCKED
    return EXIT_INDEX if found.unreachable else EXIT_OK


def _tell_of(arguments: argparse.Namespace, act: Callable[[Tell], Refreshed], *, checked: bool = False) -> Refreshed:
    from torchinstall.output.catalog import progress, refreshed_lines, refreshed_to_json

    with progress(os.environ, wanted=not arguments.quiet) as tell:
        found = act(tell)
    if arguments.json:
        from torchinstall.output.jsonout import dumps

        print(dumps(refreshed_to_json(found)))
    elif not arguments.quiet:
        say(refreshed_lines(found, verbose=arguments.verbose > 0, checked=checked))
    return found


def _show(arguments: argparse.Namespace) -> int:
    from torchinstall.app.catalog_show import show
    from torchinstall.output.catalog import shown_lines, shown_to_json

    shown = show(app(), arguments.what)
    if arguments.json:
        from torchinstall.output.jsonout import dumps

        print(dumps(shown_to_json(shown)))
    else:
        say(shown_lines(shown, verbose=arguments.verbose > 0))
    return EXIT_OK
