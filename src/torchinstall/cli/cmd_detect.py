"""``torchinstall detect``."""

from __future__ import annotations

from torchinstall.cli.common import app, options_of, say
from torchinstall.cli.groups import machine, target
from torchinstall.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    target(parser)
    machine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show what this machine is."""
    from torchinstall.output.text import machine_lines

    options = options_of(arguments)
    if arguments.machine and arguments.report:
        raise UsageError("--machine and --report together", why="both name the machine", todo=["give one of them"])
    if arguments.report:
        machines = app().reported(options)
    elif arguments.machine:
        from torchinstall.cli.cmd_plan import read_source

        machines = [app().read_machine(read_source(arguments.machine), options)]
    else:
        machines = [app().detect(options)]
    if arguments.json:
        from torchinstall.model.machine_json import machine_to_json
        from torchinstall.output.jsonout import dumps

        for machine in machines:
            # Several machines are a line each, as --machine reads them.
            print(dumps(machine_to_json(machine), indent=1 if len(machines) == 1 else None))
    else:
        for machine in machines:
            say(machine_lines(machine, verbose=arguments.verbose > 0))
    return 0
