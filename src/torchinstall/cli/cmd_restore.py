"""``torchinstall restore``."""

from __future__ import annotations

from torchinstall.cli.common import app, options_of, say
from torchinstall.cli.groups import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    target(parser)


def run(arguments: argparse.Namespace) -> int:
    """Undo the last installation, and say what is there now."""
    from torchinstall.app.restore import restore

    done = restore(app(), options_of(arguments))
    if arguments.json:
        from torchinstall.output.jsonout import SCHEMA, dumps

        document = {
            "schema": SCHEMA,
            "restored": True,
            "prefix": done.prefix,
            "undone": done.undone,
            "when": done.when,
            "interrupted": done.interrupted,
            "packages": dict(done.packages),
            "lost": list(done.lost),
        }
        print(dumps(document))
        return 0
    from torchinstall.output.lines import GOOD, NOTE, section

    what = done.undone or "the last installation"
    stopped = ", which had been stopped in the middle" if done.interrupted else ""
    when = f" ({done.when})" if done.when else ""
    now = ", ".join(f"{name} {version}" for name, version in done.packages) or "no torch"
    lines = section("Undone", [f"{what}{when}{stopped}"])
    if done.lost:
        words = "installed since then, and gone with it; uv pip install puts it in again:"
        lines += section("Lost", [words, " ".join(done.lost)], NOTE)
    lines += section("Now", [f"{now}, in {done.prefix}"], GOOD)
    say(lines)
    return 0
