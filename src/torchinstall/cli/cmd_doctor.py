"""``torchinstall doctor``: what is wrong with an environment or a reported one, and what mends it."""

from __future__ import annotations

import sys

from torchinstall.cli.common import app, asked, options_of, say
from torchinstall.cli.groups import machine, target
from torchinstall.errors import EXIT_USAGE, TorchInstallError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from torchinstall.app.base import Planned
    from torchinstall.model.finding import Diagnosis
    from torchinstall.model.options import Options


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "requirements", nargs="*", default=[], metavar="REQ", help="what is wanted, where that isn't just torch"
    )
    target(parser)
    machine(parser)
    group = parser.add_argument_group("diagnosis")
    group.add_argument("--live", action="store_true", help="the reports are about this machine: look at it too")
    group.add_argument("--verify", action="store_true", help="also run a real kernel in the environment")
    group.add_argument("--fix", action="store_true", help="do what mends it, where an install does")
    group.add_argument("--yes", "-y", action="store_true", help="with --fix: don't ask")
    group.add_argument("--offline", action="store_true", help="use no network")
    group.add_argument("--cpu", action="store_true", help="a CPU build is meant, though an accelerator may be here")
    group.add_argument("--bundle-report", action="store_true", help="print what to paste into an issue")


def run(arguments: argparse.Namespace) -> int:
    """Diagnose; 0: nothing wrong, 3: something found, 4: can't tell."""
    options = options_of(arguments)
    if arguments.machine or (arguments.report and not arguments.live):
        if arguments.fix:
            raise UsageError(
                "--fix mends this machine's environment, and another machine is described",
                todo=[
                    "run `torchinstall doctor --fix` on that machine",
                    "--live says that the report is about this one",
                ],
            )
        return _described(arguments, options)
    return _live(arguments, options)


def _described(arguments: argparse.Namespace, options: Options) -> int:
    from torchinstall.app.doctor import doctor_texts

    text = None
    if arguments.machine:
        from torchinstall.cli.documents import opened

        batch, lines = opened(arguments.machine)
        if batch:
            return _batch(lines, options)
        text = "".join(lines)
    diagnoses = doctor_texts(app(), options, text)
    for diagnosis in diagnoses:
        _show(diagnosis, arguments, several=len(diagnoses) > 1)
    return max(diagnosis.exit_code for diagnosis in diagnoses)


def _live(arguments: argparse.Namespace, options: Options) -> int:
    from torchinstall.app.live import doctor_live

    ground = app()
    checkup = doctor_live(ground, options, verify=arguments.verify)
    if not arguments.fix or checkup.diagnosis.exit_code == 0:
        _show(checkup.diagnosis, arguments)
        return checkup.diagnosis.exit_code
    if not arguments.json:
        _show(checkup.diagnosis, arguments)
    from torchinstall.app.mend import mend

    def show(planned: Planned) -> None:
        from torchinstall.output.text import plan_lines

        if not arguments.quiet:
            say(plan_lines(planned.plan), to_stderr=True)

    def tell(notes: Sequence[str]) -> None:
        from torchinstall.output.lines import section

        if notes and not arguments.quiet:
            say(section("Note", notes), to_stderr=True)

    mended = mend(ground, options, checkup, ask=asked, show=show, tell=tell, progress=not arguments.quiet)
    _show(mended.diagnosis, arguments)
    return mended.diagnosis.exit_code


def _batch(lines: Iterator[str], options: Options) -> int:
    from torchinstall.app.doctor import doctor_lines
    from torchinstall.output.findings import diagnosis_to_json
    from torchinstall.output.jsonout import dumps, error_to_json

    code = 0
    write = sys.stdout.write
    for identity, answer in doctor_lines(app(), lines, options):
        if isinstance(answer, TorchInstallError):
            write(dumps(error_to_json(answer, identity), indent=None) + "\n")
            code = EXIT_USAGE
            continue
        write(dumps(diagnosis_to_json(answer, identity), indent=None) + "\n")
    return code


def _show(diagnosis: Diagnosis, arguments: argparse.Namespace, *, several: bool = False) -> None:
    from torchinstall.output.findings import bundle_lines, diagnosis_lines, diagnosis_to_json

    if arguments.json:
        from torchinstall.output.jsonout import dumps

        print(dumps(diagnosis_to_json(diagnosis), indent=None if several else 1))
    elif arguments.bundle_report:
        from torchinstall._version import __version__

        for line in bundle_lines(diagnosis, {"torchinstall": __version__, "catalogue": _date(diagnosis)}):
            print(line.text)
    else:
        verbose = arguments.verbose > 0
        lines = []
        if verbose or several:
            from torchinstall.output.text import machine_lines

            lines += machine_lines(diagnosis.machine, verbose=verbose)
        say([*lines, *diagnosis_lines(diagnosis, verbose=verbose)])


def _date(diagnosis: Diagnosis) -> str:
    return diagnosis.plan.catalog.date if diagnosis.plan is not None else "unknown"
