"""``main``: the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import sys

from torchinstall import __version__
from torchinstall.cli.parser import help_text, parse, wants_version
from torchinstall.errors import EXIT_BUG, EXIT_INTERRUPTED, TorchInstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; never raises."""
    import os

    as_json = "--json" in argv
    try:
        if wants_version(argv):
            print(f"torchinstall {__version__}")
            return 0
        if argv and argv[0] in {"-h", "--help", "help"}:
            print(help_text())
            return 0
        return _run(argv)
    except TorchInstallError as error:
        _report(error, as_json=as_json)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nstopped; the environment is as it was", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): nothing more can be said, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # noqa: BLE001 - the last net: a bug is told as one, ready to paste
        _report_bug(argv)
        return EXIT_BUG


def _run(argv: Sequence[str]) -> int:
    import os

    arguments = parse(argv, os.environ)
    if arguments.version:
        print(f"torchinstall {__version__}")
        return 0
    command = importlib.import_module(f"torchinstall.cli.cmd_{arguments.command}")
    code: int = command.run(arguments)
    return code


def _report(error: TorchInstallError, *, as_json: bool) -> None:
    import os

    if as_json:
        from torchinstall.output.jsonout import dumps, error_to_json

        print(dumps(error_to_json(error)))
        return
    from torchinstall.output.lines import write
    from torchinstall.output.text import error_lines

    write(error_lines(error), sys.stderr, os.environ)


def _report_bug(argv: Sequence[str]) -> None:
    import platform
    import traceback

    print("This is a bug in torchinstall. Please report it with the lines below.\n", file=sys.stderr)
    print(f"torchinstall {__version__}, Python {platform.python_version()}, {platform.platform()}", file=sys.stderr)
    print(f"arguments: {' '.join(map(repr, argv))}\n", file=sys.stderr)
    traceback.print_exc()
