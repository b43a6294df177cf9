"""From parsed arguments to options, and the two ways of answering: text for people, JSON on stdout."""

from __future__ import annotations

import os
import sys

from torchinstall.model.options import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Any

    from torchinstall.app.base import App
    from torchinstall.output.lines import Line


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the options of a parsed command line; those that a command doesn't have keep their defaults."""
    given = vars(arguments)
    lists = {"requirements", "requirement_files", "constraint_files", "gpus", "drivers", "reports"}
    renamed = {
        "requirement_files": "requirement", "constraint_files": "constraint", "gpus": "gpu", "drivers": "driver",
        "reports": "report",
        "replace_vendor_build": "yes_replace_vendor_build",
    }  # fmt: skip
    values: dict[str, Any] = {}
    for name in Options._fields:
        key = renamed.get(name, name)
        if key in given:
            values[name] = tuple(given[key]) if name in lists else given[key]
    if given.get("no_verify"):
        values["verify"] = False
    return Options(**values)


def app() -> App:
    """Return the use cases, over this process's environment and working directory."""
    from torchinstall.app.base import App

    return App(os.environ)


def say(lines: Iterable[Line], *, to_stderr: bool = False) -> None:
    """Write text for people."""
    from torchinstall.output.lines import write

    write(lines, sys.stderr if to_stderr else sys.stdout, os.environ)


def on_terminal() -> bool:
    """Tell whether a person is at the other end, who could answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


STOPPED = "stopped; the environment is as it was"
GO_AHEAD = "Go ahead? [y/N]"


def in_words(text: str) -> str:
    """Return a text that isn't written as a line, in the language of the text for people."""
    lang = spoken()
    if lang == "en":
        return text
    from torchinstall.output.messages import translated

    return translated(text, lang)


def asked(question: str) -> bool:
    """Ask a person a question that only a yes answers; where nobody is there, the answer is no."""
    if not on_terminal():
        return False
    stop = ". " if spoken() == "en" else "\u3002"
    sys.stderr.write(f"{in_words(question)}{stop}{in_words(GO_AHEAD)} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def spoken() -> str:
    """Return the language of the text for people: ``--lang`` (or TORCHINSTALL_LANG), else that of the locale."""
    from torchinstall.output.language import language

    return language(os.environ)
