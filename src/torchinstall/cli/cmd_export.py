"""``torchinstall export``: the plan as a file of another tool."""

from __future__ import annotations

import sys

from torchinstall.cli.common import app, in_words, options_of, say
from torchinstall.cli.groups import machine, request, target
from torchinstall.errors import EXIT_BLOCKED, EXIT_OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from torchinstall.app.export import Exported


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from torchinstall.app.export import FILES

    request(parser)
    target(parser)
    machine(parser)
    group = parser.add_argument_group("exporting")
    group.add_argument("--format", choices=list(FILES), help="which file; uv edits pyproject.toml in place")
    group.add_argument("-o", "--output", metavar="FILE", help="where to; - is standard output")
    group.add_argument("--check", action="store_true", help="only say whether the file is still right (exit code 3)")
    group.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    group.add_argument(
        "--installer", choices=["pip", "uv"], default="pip", help="who reads the requirements; uv's have hashes apart"
    )
    group.add_argument("--yes", "-y", action="store_true", help="replace sources that somebody else wrote")


def run(arguments: argparse.Namespace) -> int:
    """Write the file, or compare it."""
    from torchinstall.app.export import CHECKED, FILES, SEVERAL, export, write

    kind = arguments.format
    if kind is None:
        raise UsageError("which file?", todo=[f"--format {'|'.join(FILES)}"])
    if arguments.check and kind not in CHECKED:
        raise UsageError(f"--check can't compare --format {kind}", why="it is a part of a file, pasted by hand")
    if arguments.machine and arguments.report:
        raise UsageError("--machine and --report together", why="both name the machine", todo=["give one of them"])
    ground, options = app(), options_of(arguments)
    exported = export(
        ground,
        options,
        kind,
        machines=ground.reported(options) if arguments.report else _machines(arguments.machine),
        output=arguments.output,
        flavour=arguments.installer,
        check=arguments.check,
    )
    if exported.stopped is not None:
        return _stopped(exported, arguments)
    if arguments.check:
        return _check(exported, arguments)
    to_file = arguments.output != "-" and (arguments.output is not None or kind in SEVERAL)
    changed = write(exported) if to_file and not arguments.dry_run else False
    _tell(exported, arguments, changed=changed, to_file=to_file)
    return EXIT_OK


def _machines(name: str | None) -> list[str]:
    if not name:
        return []
    from torchinstall.cli.documents import opened

    batch, lines = opened(name)
    return [line for line in lines if line.strip()] if batch else ["".join(lines)]


def _stopped(exported: Exported, arguments: argparse.Namespace) -> int:
    planned = exported.stopped
    if planned is None:
        return EXIT_OK
    if arguments.json:
        from torchinstall.output.jsonout import dumps, plan_to_json

        print(dumps(plan_to_json(planned.plan)))
    else:
        from torchinstall.output.text import machine_lines, plan_lines

        say([*machine_lines(planned.machine, plan=planned.plan), *plan_lines(planned.plan)], to_stderr=True)
    return planned.plan.exit_code


def _check(exported: Exported, arguments: argparse.Namespace) -> int:
    differs = bool(exported.difference)
    if arguments.json:
        _print_json(exported, changed=False)
    elif differs:
        print(_difference(exported))
    elif not arguments.quiet:
        print(in_words(f"{exported.path} is what this machine needs"))
    return EXIT_BLOCKED if differs else EXIT_OK


def _difference(exported: Exported) -> str:
    """Return the difference; its head is ours, the rest is of the files."""
    return "\n".join([*map(in_words, exported.difference[:2]), *exported.difference[2:]])


def _tell(exported: Exported, arguments: argparse.Namespace, *, changed: bool, to_file: bool) -> None:
    if arguments.json:
        _print_json(exported, changed=changed)
        return
    if not to_file:
        sys.stdout.write(exported.text)
    elif arguments.dry_run:
        print(_difference(exported) or in_words("nothing would change"))
    from torchinstall.output.lines import GOOD, NOTE, section
    from torchinstall.output.text import summary

    lines = section("Note", exported.notes, NOTE)
    if to_file and not arguments.dry_run:
        what = "; ".join(summary(planned.plan) for planned in exported.planned)
        state = "written" if changed else "already says so"
        lines += section("Done", [f"{exported.path} {state}: {what}"], GOOD)
    if not arguments.quiet:
        say(lines, to_stderr=True)


def _print_json(exported: Exported, *, changed: bool) -> None:
    from torchinstall.output.jsonout import SCHEMA, dumps, plan_to_json

    document = {
        "schema": SCHEMA,
        "format": exported.format,
        "path": exported.path,
        "text": exported.text,
        "changed": changed,
        "difference": list(exported.difference),
        "notes": list(exported.notes),
        "plans": [plan_to_json(planned.plan) for planned in exported.planned],
    }
    print(dumps(document))
