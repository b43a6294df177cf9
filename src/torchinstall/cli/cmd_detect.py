"""``torchinstall detect``."""

from __future__ import annotations

from torchinstall.cli.common import app, options_of, say
from torchinstall.cli.groups import machine, target

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
    if arguments.machine:
        from torchinstall.cli.cmd_plan import read_source

        machine = app().read_machine(read_source(arguments.machine), options)
    else:
        machine = app().detect(options)
    if arguments.json:
        from torchinstall.model.machine_json import machine_to_json
        from torchinstall.output.jsonout import dumps

        print(dumps(machine_to_json(machine)))
    else:
        say(machine_lines(machine, verbose=arguments.verbose > 0))
    return 0
