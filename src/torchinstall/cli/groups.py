"""Groups of options that several commands share."""

from __future__ import annotations

import argparse  # noqa: TC003 - the annotations of helpers name it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def request(parser: ArgumentParser) -> None:
    """Add what to install: requirements, files, variant, and how to choose."""
    group = parser.add_argument_group("what to install")
    group.add_argument(
        "requirements", nargs="*", default=[], metavar="REQ", help="as pip takes it; torch if none is given"
    )
    group.add_argument("-r", "--requirement", action="append", default=[], metavar="FILE", help="requirements file")
    group.add_argument("-c", "--constraint", action="append", default=[], metavar="FILE", help="constraints file")
    group.add_argument("--variant", metavar="NAME", help="cu126, cu130, rocm7.2, xpu, cpu, ...")
    group.add_argument("--cpu", action="store_true", help="a CPU build, though an accelerator may be here")
    group.add_argument("--require-gpu", action="store_true", help="fail where the answer would be a CPU build")
    group.add_argument("--upgrade", "-U", action="store_true", help="take the newest, though what is installed fits")
    group.add_argument("--pre", action="store_true", help="allow pre-releases")
    group.add_argument("--allow-older", action="store_true", help="take an older torch if an index can't be reached")
    group.add_argument("--offline", action="store_true", help="use no network; folders of wheels are read")
    group.add_argument(
        "--mirror",
        metavar="NAME_OR_URL",
        help="mirror of the PyTorch index: aliyun, nju, sjtu, auto, or a URL; {variant} stands for cu126 and so on",
    )


def target(parser: ArgumentParser, *, makes: bool = False) -> None:
    """Add the target environment; ``makes`` says that a missing one is made."""
    group = parser.add_argument_group("target environment")
    group.add_argument("--python", metavar="PATH_OR_VERSION", help="interpreter of the environment, or a version")
    group.add_argument("--venv", metavar="DIR", help="this environment" + ("; made if missing" if makes else ""))
    group.add_argument("--system", action="store_true", help="the system's Python, on purpose")


def machine(parser: ArgumentParser, *, file: bool = True) -> None:
    """Add the declared machine; with ``file`` also one from a document."""
    group = parser.add_argument_group("target machine, where it isn't this one")
    group.add_argument(
        "--gpu", action="append", default=[], metavar="SPEC", help='"RTX 4090", cc:8.9, gfx1100, 910B3, none'
    )
    group.add_argument("--driver", action="append", default=[], metavar="VERSION", help="580.95.05, or cann=8.2")
    group.add_argument("--os", metavar="NAME", help="linux, windows, macos-14")
    group.add_argument("--arch", metavar="NAME", help="x86_64, aarch64")
    group.add_argument("--glibc", metavar="VERSION", help="for example 2.28")
    if file:
        group.add_argument("--machine", metavar="FILE", help="machine JSON, or JSON lines; - for stdin")
        group.add_argument(
            "--report", action="append", default=[], metavar="FILE",
            help="what a tool printed there: collect_env, nvidia-smi, rocminfo, npu-smi, lspci -nn, ...; - for stdin",
        )  # fmt: skip
    sysroot(group)


def output(parser: ArgumentParser) -> None:
    """Add what every command has."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="one JSON document on stdout")
    group.add_argument("--lang", choices=["en", "zh"], help="language of the text; else that of the locale")
    group.add_argument("-v", "--verbose", action="count", default=0, help="more: every fact with its source")
    group.add_argument("-q", "--quiet", action="count", default=0, help="less")
    group.add_argument("--version", "-V", action="store_true", help="the version of torchinstall")


def sysroot(group: argparse._ActionsContainer) -> None:
    """Add ``--sysroot``: a folder that stands for the machine."""
    group.add_argument("--sysroot", metavar="DIR", help="look at the files and commands under DIR instead")
