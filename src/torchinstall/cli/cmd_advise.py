"""``torchinstall advise``: should this machine, this environment, this code move to another torch."""

from __future__ import annotations

import os
import sys

from torchinstall.cli.common import app, options_of, say
from torchinstall.cli.groups import machine, target
from torchinstall.errors import EXIT_BLOCKED, EXIT_OK, EXIT_UNDETERMINED, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from torchinstall.model.advice import Advised

_LEVELS = ("error", "risk", "behavior", "warning", "info")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    group = parser.add_argument_group("the question")
    group.add_argument("--to", default="latest", metavar="VERSION", help="2.15, 2.14.1, or latest (the default)")
    group.add_argument(
        "--from", dest="from_version", metavar="VERSION", help="what is installed, where it isn't seen here"
    )
    group.add_argument(
        "--uses", action="append", default=[], metavar="FLAG",
        help="what you use torch for: new_project, stable_training, ...; several with commas; `--uses help` lists them",
    )  # fmt: skip
    group.add_argument("--variant", metavar="NAME", help="the variant that you mean to take: cu126, cu130, ...")
    group.add_argument("--offline", action="store_true", help="use no network")
    scan = parser.add_argument_group("code")
    scan.add_argument(
        "--scan", action="append", default=[], metavar="PATH", help="scan this code for what changed; may be repeated"
    )
    scan.add_argument("--all", action="store_true", help="also what has changed up to the installed version")
    scan.add_argument("--fail-on", choices=_LEVELS, help="exit code 3 for a finding as bad as this, or worse")
    scan.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF, for code hosts; - for stdout")
    target(parser)
    machine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the verdict with its reasons; the exit code is 3 for must not, and for what --fail-on names."""
    from torchinstall.app.advise import advise
    from torchinstall.model.advice import Asking
    from torchinstall.output.advice import advice_lines, advice_to_json, progress_bar
    from torchinstall.output.language import language

    if (arguments.fail_on or arguments.sarif or arguments.all) and not arguments.scan:
        raise UsageError("--fail-on, --sarif and --all are about a scan", todo=["name the code with --scan PATH"])
    if arguments.sarif == "-" and arguments.json:
        raise UsageError("--json and --sarif - both want standard output", todo=["give --sarif a file"])
    text = None
    if arguments.machine and arguments.report:
        raise UsageError("--machine and --report together", why="both name the machine", todo=["give one of them"])
    if arguments.machine:
        from torchinstall.cli.cmd_plan import read_source

        text = read_source(arguments.machine)
    asking = Asking(
        to=arguments.to,
        installed=_version(arguments.from_version),
        uses=tuple(part.strip() for words in arguments.uses for part in words.split(",") if part.strip()),
        paths=tuple(arguments.scan),
        every=arguments.all,
    )
    progress = None if arguments.quiet else progress_bar(sys.stderr, os.environ)
    lang = "en" if arguments.json else language(os.environ)
    advised = advise(app(), options_of(arguments), asking, text, lang=lang, progress=progress)
    if arguments.sarif:
        _write_sarif(advised, arguments.sarif)
    if arguments.json:
        from torchinstall.output.jsonout import dumps

        print(dumps(advice_to_json(advised)))
    else:
        lines = advice_lines(advised, verbose=arguments.verbose > 0, lang=lang)
        say(lines[:1] if arguments.quiet else lines, to_stderr=arguments.sarif == "-")
    return exit_code(advised, arguments.fail_on)


def exit_code(advised: Advised, fail_on: str | None) -> int:
    """Return 3 for must not and for findings as bad as ``fail_on``; 4 where the target can't be known."""
    from torchinstall.model.advice import MUST_NOT, UNKNOWN

    if advised.judged.verdict == MUST_NOT:
        return EXIT_BLOCKED
    if fail_on is not None and advised.scan is not None:
        bad = _LEVELS[: _LEVELS.index(fail_on) + 1]
        if any(finding.severity in bad for finding in advised.scan.findings):
            return EXIT_BLOCKED
    # A scan has its own answer, whatever machine it runs on.
    return EXIT_UNDETERMINED if advised.judged.verdict == UNKNOWN and advised.scan is None else EXIT_OK


def _version(text: str | None) -> str | None:
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(text)) if text else None
    except InvalidVersion:
        raise UsageError(f"--from {text}: that isn't a version", todo=["write it as 2.6.0"]) from None


def _write_sarif(advised: Advised, name: str) -> None:
    from torchinstall._version import __version__
    from torchinstall.model.advice import Scan
    from torchinstall.output.jsonout import dumps
    from torchinstall.output.sarif import to_sarif

    text = dumps(to_sarif(advised.scan or Scan(), advised.rules, __version__)) + "\n"
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - as it was given
            file.write(text)
    except OSError as error:
        raise UsageError(f"--sarif {name} can't be written", why=str(error)) from None
