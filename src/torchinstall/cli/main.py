"""``main``: the one place where errors become exit codes."""

from __future__ import annotations

import sys

from torchinstall._version import __version__
from torchinstall.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_TARGET, TorchInstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; never raises."""
    import os

    for name in ("stdout", "stderr"):
        # A closed stream (`>&-`) is None in Python: what would go there is lost, as with any other program.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - lives as long as we do
    try:
        code = _answer(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`| head`): nothing more can be said, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # Only writing the answer gets here: a full disk behind `> file`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        from torchinstall.cli.common import in_words

        words = in_words(f"the output can't be written: {error.strerror or error}")
        print(f"torchinstall: {words}", file=sys.stderr)
        return EXIT_TARGET
    return code


def _answer(argv: Sequence[str]) -> int:
    try:
        if argv and argv[0] in {"--version", "-V"}:  # answered before anything is imported
            print(f"torchinstall {__version__}")
            return 0
        if argv and argv[0] in {"-h", "--help", "help"}:
            from torchinstall.cli.parser import help_text

            print(help_text())
            return 0
        return _run(argv)
    except TorchInstallError as error:
        _report(error, as_json=_wants_json(argv), lang=_asked(argv))
        return error.exit_code
    except KeyboardInterrupt:
        from torchinstall.cli.common import STOPPED, in_words

        print(f"\n{in_words(STOPPED)}", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:
        import errno

        if error.errno in {errno.EPIPE, errno.ENOSPC, errno.EBADF} and error.filename is None:
            raise
        _report_bug(argv)
        return EXIT_BUG
    except Exception:  # noqa: BLE001 - the last net: a bug is told as one, ready to paste
        _report_bug(argv)
        return EXIT_BUG


def _wants_json(argv: Sequence[str]) -> bool:
    """Tell whether the answer is to be JSON, also where the arguments couldn't be read."""
    import os

    return "--json" in argv or os.environ.get("TORCHINSTALL_JSON", "").strip().lower() in {
        "1",
        "true",
        "t",
        "yes",
        "y",
        "on",
    }


def _asked(argv: Sequence[str]) -> str:
    """Return the language that arguments ask for which couldn't be read; ``""`` where they ask for none."""
    for word, after in zip(argv, [*argv[1:], ""]):  # noqa: B905 - one longer, on purpose
        if word in {"--lang=zh", "--lang=en"} or (word == "--lang" and after in {"zh", "en"}):
            return word.partition("=")[2] or after
    return ""


def _run(argv: Sequence[str]) -> int:
    import os

    from torchinstall.cli.parser import command_module, parse

    arguments = parse(argv, os.environ)
    if arguments.version:
        print(f"torchinstall {__version__}")
        return 0
    if arguments.lang:
        # As if the variable had been set: everything that writes finds it there.
        os.environ["TORCHINSTALL_LANG"] = arguments.lang
    code: int = command_module(arguments.command).run(arguments)
    return code


def _report(error: TorchInstallError, *, as_json: bool, lang: str) -> None:
    import os

    if as_json:
        from torchinstall.output.jsonout import dumps, error_to_json

        print(dumps(error_to_json(error)))
        return
    from torchinstall.output.lines import write
    from torchinstall.output.text import error_lines

    if lang:
        os.environ["TORCHINSTALL_LANG"] = lang
    write(error_lines(error), sys.stderr, os.environ)


def _report_bug(argv: Sequence[str]) -> None:
    import platform
    import traceback

    print("This is a bug in torchinstall. Please report it with the lines below.\n", file=sys.stderr)
    print(f"torchinstall {__version__}, Python {platform.python_version()}, {platform.platform()}", file=sys.stderr)
    print(f"arguments: {' '.join(map(repr, argv))}\n", file=sys.stderr)
    traceback.print_exc()
