"""``torchinstall verify``."""

from __future__ import annotations

from torchinstall.cli.common import app, options_of, say
from torchinstall.cli.groups import sysroot, target
from torchinstall.errors import EXIT_OK, EXIT_UNPROVEN, EXIT_VERIFY
from torchinstall.model.verdict import FAILED, PROVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from torchinstall.model.verdict import Verdict


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    target(parser)
    parser.add_argument("--cpu", action="store_true", help="the build is meant for the CPU, though a GPU is here")
    parser.add_argument("--compile", action="store_true", help="also try torch.compile (takes up to half a minute)")
    sysroot(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run a real kernel on every device and say what was proved."""
    from torchinstall.app.verify import verify

    verdict = verify(app(), options_of(arguments))
    if arguments.json:
        from torchinstall.output.jsonout import dumps, verdict_to_json

        print(dumps(verdict_to_json(verdict)))
    else:
        from torchinstall.output.text import verdict_lines

        say(verdict_lines(verdict, verbose=not arguments.quiet))
    return exit_code(verdict)


def exit_code(verdict: Verdict) -> int:
    """Return 0 for proved, 6 for a cause that another wheel could cure, 9 for one outside the wheel."""
    if verdict.outcome == PROVED:
        return EXIT_OK
    return EXIT_VERIFY if verdict.outcome == FAILED else EXIT_UNPROVEN
