"""``torchinstall install``, which is also what ``torchinstall`` alone does."""

from __future__ import annotations

import os
import sys

from torchinstall.cli.cmd_verify import exit_code
from torchinstall.cli.common import STOPPED, app, asked, in_words, options_of, say, spoken
from torchinstall.cli.groups import machine, request, target
from torchinstall.errors import EXIT_INDEX, EXIT_INTERRUPTED, EXIT_OK
from torchinstall.model.plan import BLOCKED, SATISFIED, UNDETERMINED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from torchinstall.app.base import Planned
    from torchinstall.app.transact import Installed
    from torchinstall.output.lines import Line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    request(parser)
    target(parser, makes=True)
    machine(parser, file=False)
    group = parser.add_argument_group("installing")
    group.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    group.add_argument("--yes", "-y", action="store_true", help="answer the risky questions with yes")
    group.add_argument("--keep", action="store_true", help="keep the new build though its verification fails")
    group.add_argument("--no-verify", action="store_true", help="don't prove the result")
    group.add_argument(
        "--yes-replace-vendor-build", action="store_true", help="replace a torch that isn't PyTorch's own wheel"
    )
    group.add_argument("--from", dest="bundle", metavar="DIR", help="install a bundle; no network is used")
    group.add_argument("--installer", choices=["uv", "pip"], default="uv", help="what installs")
    group.add_argument("--require-hashes", action="store_true", help="nothing without a known hash")
    group.add_argument(
        "--write-constraints", metavar="FILE", help="write a constraints file that keeps torch from being replaced"
    )


def run(arguments: argparse.Namespace) -> int:
    """Install, and leave with what came of it."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        stopped()
        return EXIT_INTERRUPTED


def stopped() -> None:
    """Say that we were stopped; where the terminal went away, there is nobody to say it to."""
    try:
        print(f"\n{in_words(STOPPED)}", file=sys.stderr, flush=True)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):  # else Python fails once more when it flushes at its end
            os.dup2(nowhere, number)


def _run(arguments: argparse.Namespace) -> int:
    options = options_of(arguments)
    verbose = arguments.verbose > 0

    def show(planned: Planned) -> None:
        from torchinstall.output.text import machine_lines, plan_lines

        plan = planned.plan
        if not arguments.quiet or plan.outcome in {BLOCKED, UNDETERMINED}:
            say(
                [
                    *machine_lines(planned.machine, verbose=verbose, plan=plan),
                    *plan_lines(plan, verbose=verbose, lang=spoken()),
                ],
                to_stderr=arguments.json,
            )

    def tell(notes: Sequence[str]) -> None:
        from torchinstall.output.lines import NOTE, section

        if notes and not arguments.quiet:
            say(section("Before", notes, NOTE), to_stderr=arguments.json)

    from torchinstall.app.install import install

    progress = not arguments.json and not arguments.quiet
    result = install(app(), options, show=show, ask=asked, tell=tell, progress=progress)
    plan = result.planned.plan
    if arguments.json:
        from torchinstall.output.jsonout import dumps, installed_to_json

        document = installed_to_json(
            plan, result.verdict, result.changes, changed=result.changed, restored=result.restored
        )
        document["orphans"], document["constraints"] = list(result.orphans), result.constraints
        print(dumps(document))
    elif not result.stopped:
        say(_result_lines(result, dry_run=options.dry_run, verbose=verbose))
    if result.stopped:
        return EXIT_INDEX if plan.unreachable is not None else plan.exit_code
    return EXIT_OK if result.verdict is None else exit_code(result.verdict)


def _result_lines(result: Installed, *, dry_run: bool, verbose: bool) -> list[Line]:
    from torchinstall.output.lines import GOOD, NOTE, section
    from torchinstall.output.text import verdict_lines

    lines: list[Line] = []
    if dry_run:
        return section("Would do", result.changes or ["nothing: all of it is installed"])
    if result.changes and verbose:
        lines += section("Changed", result.changes)
    if result.verdict is not None:
        lines += verdict_lines(result.verdict, verbose=verbose)
    target = result.planned.target
    if result.constraints:
        lines += section("Written", [f"{result.constraints}: obeyed with -c, PIP_CONSTRAINT or UV_CONSTRAINT"])
    if result.orphans:
        command = f"uv pip uninstall --python {target.python if target else ''} {' '.join(result.orphans)}"
        words = "packages of another CUDA major that nothing requires any more; they go with:"
        lines += section("Left over", [words, command], NOTE)
    if result.restored:
        lines += section("Restored", ["the environment is as it was before"])
    elif result.planned.plan.outcome == SATISFIED and not result.changes:
        lines += section("Done", ["nothing had to change"], GOOD)
    elif result.verdict is None or result.verdict.outcome == "proved":
        lines += section("Done", [f"torch {result.planned.plan.torch} is in {target.prefix if target else ''}"], GOOD)
    return lines
