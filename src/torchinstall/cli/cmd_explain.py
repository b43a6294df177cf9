"""``torchinstall explain WHAT``: why a variant or version is, or isn't, to be had here."""

from __future__ import annotations

from torchinstall.cli.common import app, options_of, say, spoken
from torchinstall.cli.groups import machine, target
from torchinstall.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("what", metavar="WHAT", help="cu130, 2.15.0+cu132, torch==2.6, torchvision==0.20.1, ...")
    target(parser)
    machine(parser)
    parser.add_argument("--offline", action="store_true", help="no effect: an explanation uses no network")


def run(arguments: argparse.Namespace) -> int:
    """Say whether it is possible, by which rule, and what would change it."""
    from torchinstall.app.explain import explain
    from torchinstall.cli.cmd_plan import read_source

    if arguments.machine and arguments.report:
        raise UsageError("--machine and --report together", why="both name the machine", todo=["give one of them"])
    text = read_source(arguments.machine) if arguments.machine else None
    explanation = explain(app(), options_of(arguments), arguments.what, text)
    if arguments.json:
        from torchinstall.output.explain import explanation_to_json
        from torchinstall.output.jsonout import dumps
        from torchinstall.output.language import localized_explanation

        print(dumps(explanation_to_json(localized_explanation(explanation, arguments.lang or "en"))))
    else:
        from torchinstall.output.explain import explanation_lines

        say(explanation_lines(explanation, verbose=arguments.verbose > 0, lang=spoken()))
    return explanation.exit_code
