"""``torchinstall bundle``: every wheel of the plan, for machines with no network."""

from __future__ import annotations

import sys

from torchinstall.cli.common import app, in_words, options_of, say
from torchinstall.cli.groups import machine, request, target
from torchinstall.errors import EXIT_INDEX, EXIT_OK
from torchinstall.model.plan import BLOCKED, UNDETERMINED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from torchinstall.app.base import Planned


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("folder", metavar="DIR", help="where the bundle goes; made if missing, gone on with if begun")
    request(parser)
    target(parser)
    machine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the bundle, and say what is in it."""
    from torchinstall.app.bundle import bundle
    from torchinstall.cli.cmd_plan import read_source

    def show(planned: Planned) -> None:
        from torchinstall.output.text import plan_lines

        if not arguments.quiet or planned.plan.outcome in {BLOCKED, UNDETERMINED}:
            say(plan_lines(planned.plan, verbose=arguments.verbose > 0), to_stderr=arguments.json)

    def told(name: str) -> None:
        if not arguments.quiet:
            print(in_words(f"downloading {name}"), file=sys.stderr, flush=True)

    text = read_source(arguments.machine) if arguments.machine else None
    done = bundle(app(), options_of(arguments), arguments.folder, machine_text=text, show=show, told=told)
    plan = done.planned.plan
    if arguments.json:
        from torchinstall.output.jsonout import dumps, plan_to_json

        extra = {"folder": done.folder, "files": list(done.files), "size": done.size}
        print(dumps({**plan_to_json(plan), "bundle": None if done.stopped else extra}))
    if done.stopped:
        return EXIT_INDEX if plan.unreachable is not None else plan.exit_code
    if not arguments.json:
        from torchinstall.output.lines import GOOD, section

        lines = section("Bundled", [f"{len(done.files)} wheels, {done.size / 1e6:.0f} MB, in {done.folder}"], GOOD)
        lines += section(
            "There",
            [
                f"torchinstall install --from {done.folder} --venv DIR",
                f"or, with nothing but Python: python {done.folder}/install.py, which makes .venv where you stand",
            ],
        )
        say(lines)
    return EXIT_OK
