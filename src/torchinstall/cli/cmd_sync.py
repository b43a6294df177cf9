"""``torchinstall --sync``: who undid the choice, and the mending of it where it comes from."""

from __future__ import annotations

from torchinstall.cli import cmd_install
from torchinstall.cli.cmd_verify import exit_code
from torchinstall.cli.common import app, asked, options_of, say
from torchinstall.errors import EXIT_INDEX, EXIT_OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from torchinstall.app.base import Planned
    from torchinstall.app.sync import Synced


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command: those of an installation."""
    cmd_install.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Mend the project, then the environment."""
    from torchinstall.app.sync import sync

    def show(planned: Planned) -> None:
        from torchinstall.output.text import plan_lines

        if not arguments.quiet:
            say(plan_lines(planned.plan, verbose=arguments.verbose > 0), to_stderr=arguments.json)

    def tell(notes: Sequence[str]) -> None:
        from torchinstall.output.lines import NOTE, section

        if notes and not arguments.quiet:
            say(section("Found", notes, NOTE), to_stderr=arguments.json)

    progress = not arguments.json and not arguments.quiet
    done = sync(app(), options_of(arguments), show=show, ask=asked, tell=tell, progress=progress)
    if arguments.json:
        _print_json(done)
    else:
        _tell(done, dry_run=arguments.dry_run)
    return _code(done)


def _code(done: Synced) -> int:
    if done.exported is not None and done.exported.stopped is not None:
        return done.exported.stopped.plan.exit_code
    result = done.installed
    if result is None:
        return EXIT_OK
    if result.stopped:
        return EXIT_INDEX if result.planned.plan.unreachable is not None else result.planned.plan.exit_code
    return EXIT_OK if result.verdict is None else exit_code(result.verdict)


def _tell(done: Synced, *, dry_run: bool) -> None:
    from torchinstall.output.lines import GOOD, NOTE, section
    from torchinstall.output.text import verdict_lines

    lines = []
    if done.mended and done.exported is not None:
        lines += section("Mended", [done.exported.path], GOOD)
    if done.locked:
        lines += section("Lock", [done.locked], NOTE)
    result = done.installed
    if result is not None and not result.stopped:
        lines += section("Would do" if dry_run else "Changed", result.changes)
        if result.verdict is not None:
            lines += verdict_lines(result.verdict)
    say(lines)


def _print_json(done: Synced) -> None:
    from torchinstall.output.jsonout import SCHEMA, dumps, plan_to_json, verdict_to_json

    result, exported = done.installed, done.exported
    document = {
        "schema": SCHEMA,
        "drifted": done.drifted,
        "culprits": list(done.culprits),
        "project": exported.path if exported is not None else None,
        "difference": list(exported.difference) if exported is not None else [],
        "mended": done.mended,
        "lock": done.locked,
        "changes": list(result.changes) if result is not None else [],
        "plan": plan_to_json(result.planned.plan) if result is not None else None,
        "verdict": verdict_to_json(result.verdict) if result is not None and result.verdict is not None else None,
    }
    print(dumps(document))
