"""The argument parser. Only the sub-parser of the command in hand is built: start-up is a feature."""

from __future__ import annotations

import argparse
import sys

from torchinstall.cli.groups import output
from torchinstall.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

COMMANDS = {
    "install": "detect, resolve, show the plan, install, verify on the device (the default command)",
    "detect": "what this machine is: accelerators, driver, container, target Python",
    "plan": "the decision with its reasons; changes nothing",
    "doctor": "what is wrong with an installed, broken environment, or a reported one, and what mends it",
    "explain": "why a variant or version is, or isn't, possible here, and what would make it so",
    "advise": "upgrade now, no hurry, wait, or must not: with every reason; scans code for what changed",
    "catalog": "what is known of torch's builds, how old, from where; refreshed from the indexes",
    "export": "the plan as a file: requirements, pylock, a uv project, conda environment, Dockerfile",
    "verify": "run a real kernel on every visible device in the target environment",
    "bundle": "every wheel of the plan in a folder, for machines with no network (install --from DIR)",
    "restore": "undo the last install in the target environment",
}
SYNC = "--sync"
"""The one use that is an option: an installation that also mends what undid the last one."""

RESERVED: frozenset[str] = frozenset()
"""Commands of the published interface that this version doesn't have; never taken for a package's name."""

# argparse looks for a translation of each of its words, on disk and by the locale, and has none.
setattr(argparse, "_", str)  # noqa: B010 - no public name

PREFIX = "TORCHINSTALL_"
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"", "0", "false", "f", "no", "n", "off"})
_EXAMPLES = """\
examples:
  torchinstall torch torchvision            install the pair that fits this machine
  torchinstall --venv .venv torch           into a new environment
  torchinstall plan --gpu "RTX 5090" --driver 570.86
  torchinstall --cpu torch                  a CPU build, on purpose
  torchinstall --sync                       after `uv sync` or pip undid it: who did, and the project mended
"""


class Formatter(argparse.HelpFormatter):
    """Help at a fixed width: argparse makes a formatter for each option, and asks the terminal each time."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=110)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are ``UsageError``."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and leaving."""
        raise UsageError(message, todo=[f"{self.prog} --help"])


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> argparse.Namespace:
    """Read the command line; variables ``TORCHINSTALL_<OPTION>`` stand in for options that aren't given.

    Raises ``UsageError`` for anything that isn't an option, and for a variable that has no sense.
    """
    command, rest = _command(argv)
    parser = _parser(command)
    arguments = parser.parse_intermixed_args(rest)
    arguments.command = command
    _from_environment(parser, arguments, rest, environ)
    return arguments


def command_module(command: str) -> Any:
    """Return the module of a command; ``importlib`` does the same, and imports ``warnings`` first."""
    return __import__(f"torchinstall.cli.cmd_{command}", fromlist=["run"])


def help_text() -> str:
    """Return the overview of all commands."""
    width = max(map(len, COMMANDS)) + 2
    lines = ["usage: torchinstall [COMMAND] [REQ ...] [options]", ""]
    lines += [
        "Sees the machine, picks the one right PyTorch build, installs it with uv, proves it by a real kernel.",
        "",
    ]
    lines += ["commands:", *(f"  {name:<{width}}{text}" for name, text in COMMANDS.items()), ""]
    lines += ["  torchinstall COMMAND --help   shows the options of a command", "", _EXAMPLES]
    return "\n".join(lines)


def _command(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command, wherever among the options it stands, and the rest; none given means install."""
    if SYNC in argv:
        return "sync", [word for word in argv if word not in {SYNC, "install"}]
    skip = False
    for number, word in enumerate(argv):
        if skip or word.startswith("-"):
            skip = not skip and word in _WITH_VALUE
            continue
        if word in COMMANDS:
            return word, [*argv[:number], *argv[number + 1 :]]
        if word in RESERVED:
            raise UsageError(
                f"`torchinstall {word}` isn't in this version yet",
                why="its name is kept free, so that it is never taken for a package",
                todo=["torchinstall --help lists what there is"],
            )
        _refuse_typo(word)
        break
    return "install", list(argv)


_WITH_VALUE = frozenset(
    {"-r", "--requirement", "-c", "--constraint", "--variant", "--mirror", "--python", "--venv", "--gpu", "--driver"}
    | {"--os", "--arch", "--glibc", "--machine", "--sysroot", "--installer", "--lang", "--report", "--from", "--to"}
    | {"--format", "-o", "--output"}
)
"""Options that take the next word; a command's name behind one of them is its value."""


def _refuse_typo(word: str) -> None:
    """Refuse a first word that is nearly a command: as a package's name it might be somebody's trap."""
    import re

    if not re.fullmatch(r"[a-z]+", word) or word.startswith("torch"):
        return
    import difflib

    close = difflib.get_close_matches(word, [*COMMANDS, *RESERVED], n=1, cutoff=0.8)
    if close:
        raise UsageError(
            f"`{word}` is no command; did you mean `{close[0]}`?",
            why="it is so near to a command that it isn't taken for a package",
            todo=[f"torchinstall {close[0]}", f"torchinstall install {word} installs a package of that name"],
        )


_SHOWN = {"install": "", "sync": SYNC}
"""Commands that are called otherwise than by their name."""


def _parser(command: str) -> Parser:
    about = COMMANDS.get(command, "say who undid the last installation, and mend it where it comes from")
    epilog = "Each option is also a variable: --gpu is TORCHINSTALL_GPU. The option wins."
    options: dict[str, bool] = {"suggest_on_error": True} if sys.version_info >= (3, 14) else {}
    parser = Parser(
        prog=f"torchinstall {_SHOWN.get(command, command)}".rstrip(),
        description=about[0].upper() + about[1:] + ".",
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=Formatter,
        **options,  # type: ignore[arg-type]
    )
    command_module(command).configure(parser)
    output(parser)
    return parser


def _from_environment(
    parser: Parser, arguments: argparse.Namespace, rest: Sequence[str], environ: Mapping[str, str]
) -> None:
    for action in parser._actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if not names or action.dest in {"help", "version"}:
            continue
        variable = PREFIX + names[0][2:].upper().replace("-", "_")
        text = environ.get(variable)
        if text is None or _given(action, rest):
            continue
        setattr(arguments, action.dest, _value(action, text, variable))


def _given(action: argparse.Action, words: Sequence[str]) -> bool:
    """Tell whether an option is on the command line: whole, with ``=``, or short with its value glued on."""
    for word in words:
        if word.split("=")[0] in action.option_strings:
            return True
        if word[:1] == "-" and word[:2] != "--" and any(o == word[:2] for o in action.option_strings):
            return True
    return False


def _value(action: argparse.Action, text: str, variable: str) -> object:
    if action.nargs == 0:
        plain = text.strip().lower()
        if plain not in _TRUE | _FALSE:
            raise UsageError(f"{variable}={text!r} is neither yes nor no", todo=[f"{variable}=1 or {variable}=0"])
        on = plain in _TRUE
        return int(on) if action.dest in {"verbose", "quiet"} else on
    if isinstance(action.default, list):
        return [part.strip() for part in text.split(";") if part.strip()]
    if not text:
        return None
    if action.choices is not None and text not in action.choices:
        raise UsageError(f"{variable}={text!r}: choose from {', '.join(map(str, action.choices))}")
    return text
