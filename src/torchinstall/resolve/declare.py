"""Declared machines: ``--gpu``, ``--driver``, ``--os`` and their like laid over what was seen."""

from __future__ import annotations

import re

from torchinstall.catalog.names import significant
from torchinstall.errors import UsageError
from torchinstall.model.machine import (
    LINUX,
    MACOS,
    WINDOWS,
    AmdDriver,
    AscendDriver,
    Gpu,
    Machine,
    NvidiaDriver,
    Os,
    Python,
)
from torchinstall.model.pattern import pattern
from torchinstall.model.value import Value
from torchinstall.model.version import at_least, is_driver_version, numbers
from torchinstall.resolve.cards import established_capability
from torchinstall.resolve.target import known_arch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.card import Card

_CAPABILITY = pattern(r"(?:cc|sm)[:_ ]?(\d{1,2})[.](\d)|sm_?(\d{2,3})", re.IGNORECASE)
_GFX = pattern(r"gfx[0-9a-f]{3,5}", re.IGNORECASE)
_ASCEND = pattern(r"(?:ascend[ -]?)?((?:310|910|950)[a-z0-9]{0,4}(?:-\d)?)", re.IGNORECASE)
# M10, M40 and M60 are Teslas.
_APPLE = pattern(r"apple(?:[ -]?silicon)?|(?:apple[ -]?)?(m\d)[ -]?(pro|max|ultra)?", re.IGNORECASE)
_OSES = {
    "linux": LINUX, "windows": WINDOWS, "win": WINDOWS, "win32": WINDOWS,
    "macos": MACOS, "darwin": MACOS, "osx": MACOS, "mac": MACOS,
}  # fmt: skip
_OS = pattern(r"([a-zA-Z]+\d*?)(?:[ =:-](\d[\d.]*))?")
_DRIVER_NAMES = ("nvidia", "cann", "ascend", "rocm", "amdgpu")


class Declaration(Value):
    """What the user says of the target machine. ``os`` may carry a version (``macos-13``)."""

    gpus: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    os: str | None = None
    arch: str | None = None
    glibc: str | None = None
    python: str | None = None


def declared(machine: Machine, said: Declaration, catalog: Catalog) -> Machine:
    """Return the machine with the declaration laid over it.

    ``--gpu`` that names a card which is there selects it and keeps the driver that was seen; any other
    makes it another machine, of which only what was said is known. Raises ``UsageError`` for names and
    versions that mean nothing.
    """
    machine = _with_os(machine, said)
    if said.glibc is not None:
        if not re.fullmatch(r"\d+\.\d+", said.glibc):
            raise UsageError(f"--glibc {said.glibc} isn't a version", todo=["write it as 2.28"])
        machine = machine.replace(os=machine.os.replace(glibc=said.glibc, musl=None))
    if said.python is not None:
        machine = machine.replace(python=python_version(said.python))
    if said.gpus:
        machine = _with_gpus(machine, said.gpus, catalog, said.arch)
    for text in said.drivers:
        machine = _with_driver(machine, text)
    if said.drivers and not said.gpus and not machine.gpus:
        # Who names a driver speaks of a card, though no card is here or named: which one, nobody knows.
        machine = machine.replace(gpus=None)
    return machine


def with_jetpack(machine: Machine, catalog: Catalog) -> Machine:
    """Return the machine with the JetPack release that its L4T belongs to: people know boards by that."""
    board = machine.jetson
    if board is None or board.l4t is None or board.jetpack is not None:
        return machine
    rows = [
        row
        for row in catalog.jetpacks
        if numbers(row.l4t)[:1] == numbers(board.l4t)[:1] and at_least(board.l4t, row.l4t)
    ]
    if not rows:
        return machine
    newest = max(rows, key=lambda row: numbers(row.l4t))
    sources = {**machine.sources, "jetson.jetpack": "table of JetPack releases"}
    return machine.replace(jetson=board.replace(jetpack=newest.jetpack), sources=sources)


def gpu_from_text(text: str, catalog: Catalog) -> Gpu | None:
    """Return the accelerator that a text names; ``None`` for "none".

    Raises ``UsageError`` for a name that isn't known, and for one that means cards of several architectures.
    """
    plain = " ".join(text.split())
    if not plain:
        # An unset variable of a script: a CPU build isn't what it asks for.
        raise UsageError("--gpu '' names no card", todo=["name the card, leave --gpu out, or write --gpu none"])
    if plain.lower() in {"none", "cpu"}:
        return None
    if match := _CAPABILITY.fullmatch(plain):
        number = match[3]
        capability = f"{match[1]}.{match[2]}" if match[1] else f"{number[:-1]}.{number[-1]}"
        return Gpu(vendor="nvidia", compute_capability=capability)
    if _GFX.fullmatch(plain):
        return Gpu(vendor="amd", gfx=plain.lower())
    if match := _ASCEND.fullmatch(plain):
        return Gpu(vendor="ascend", name=f"Ascend {match[1].upper()}", soc=match[1].upper())
    if match := _APPLE.fullmatch(plain):
        chip = " ".join(part for part in (match[1], match[2]) if part)
        return Gpu(vendor="apple", name=f"Apple {chip.title() or 'silicon'}", integrated=True)
    found = catalog.find_cards(plain.replace("-", " ")) or catalog.find_cards(plain)
    if not found and (maker := _maker(plain, catalog)) is not None:
        return Gpu(vendor=maker, name=plain)
    if not found:
        raise UsageError(
            f"--gpu {text!r}: no such card is known",
            why="the name is matched with the names that NVIDIA, AMD and Intel give their products",
            todo=[
                "write the product's name, such as 'RTX 4090', 'RX 7900 XTX' or 'Arc B580'",
                "or the architecture: cc:8.9 (NVIDIA), gfx1100 (AMD), 910B3 (Ascend), apple",
            ],
        )
    architectures = {_architecture(card) for card in found}
    if len(architectures) > 1:
        lines = [f"{card.name} ({_architecture(card)})" for card in found[:8]]
        more = f" and {len(found) - 8} more" if len(found) > len(lines) else ""
        raise UsageError(
            f"--gpu {text!r} means several cards: {', '.join(lines)}{more}",
            why="they need different wheels",
            todo=["write the whole name, or the architecture (cc:8.9, gfx1100)"],
        )
    card = min(found, key=lambda c: len(c.name))
    return Gpu(
        vendor=card.vendor,
        name=card.name,
        compute_capability=card.compute_capability,
        gfx=card.gfx,
        family=card.family,
        soc=card.soc,
        integrated=card.integrated,
    )


def _maker(text: str, catalog: Catalog) -> str | None:
    """Return the maker whose name, or the name of whose line, the text begins with: ``MLU370``, ``MetaX C500``."""
    plain = text.lower()
    for row in catalog.makers:
        for name in (row.vendor, row.name.lower(), *row.aliases):
            if re.match(rf"{re.escape(name)}(?![a-z])", plain):
                return row.vendor
    return None


def _architecture(card: Card) -> str:
    return card.compute_capability or card.gfx or card.family or card.soc or card.vendor


def _with_gpus(machine: Machine, texts: tuple[str, ...], catalog: Catalog, said_arch: str | None) -> Machine:
    wanted = [gpu_from_text(text, catalog) for text in texts]
    named = [gpu for gpu in wanted if gpu is not None]
    if len(named) < len(wanted) and named:
        raise UsageError("--gpu none together with a card", why="a machine has cards or none")
    if named and machine.gpus and not machine.declared:
        matches = [_here(machine.gpus, gpu, catalog) for gpu in named]
        if all(matches):
            selected = {number for found in matches for number in found}
            return machine.replace(
                gpus=tuple(
                    gpu if number in selected else gpu.replace(visible=False) for number, gpu in enumerate(machine.gpus)
                )
            )
    if any(gpu.vendor == "apple" for gpu in named) and said_arch is None:
        # There is no Apple GPU beside another processor than Apple's: the host's architecture isn't the target's.
        machine = machine.replace(arch="arm64", python=machine.python.replace(arch=None))
    elif said_arch is None and named and all(_on_arm(gpu, catalog) for gpu in named):
        machine = machine.replace(arch="aarch64", python=machine.python.replace(arch=None))
    return machine.replace(
        gpus=tuple(named), declared=True, nvidia=None, amd=None, intel=None, ascend=None, jetson=None
    )


def _on_arm(gpu: Gpu, catalog: Catalog) -> bool:
    return gpu.vendor == "nvidia" and catalog.has_arm_host(gpu.name or "", gpu.compute_capability)


def _here(gpus: tuple[Gpu, ...], wanted: Gpu, catalog: Catalog) -> list[int]:
    """Return the places of the cards that a name means; the very name wins over names that contain it."""
    same = [number for number, here in enumerate(gpus) if _same(here, wanted, catalog)]
    exact = [number for number in same if significant(gpus[number].name or "") == significant(wanted.name or "")]
    return exact if wanted.name and exact else same


def _same(here: Gpu, wanted: Gpu, catalog: Catalog) -> bool:
    if here.vendor != wanted.vendor:
        return False
    if wanted.name and here.name:
        # One PCI id may stand for several products: "Radeon RX 7900 XT/7900 XTX".
        asked, seen = significant(wanted.name), significant(here.name)
        return bool(asked and seen) and (asked <= seen or seen <= asked)
    if wanted.compute_capability:
        return established_capability(here, catalog) == wanted.compute_capability
    return bool(wanted.gfx and wanted.gfx == here.gfx) or bool(wanted.soc and wanted.soc == here.soc)


def _with_driver(machine: Machine, text: str) -> Machine:
    name, _, value = text.rpartition("=")
    name = (name or "nvidia").strip().lower()
    value = value.strip()
    if name not in _DRIVER_NAMES:
        raise UsageError(f"--driver {text!r}: {name!r} isn't known", todo=[f"use one of {', '.join(_DRIVER_NAMES)}"])
    if name == "nvidia":
        if not is_driver_version(value):
            raise UsageError(
                f"--driver {text!r} isn't the version of an NVIDIA driver",
                why="it is the number that nvidia-smi shows, such as 580.95.05, or a branch, such as 580",
                todo=["--driver 580.95.05"],
            )
        before = machine.nvidia or NvidiaDriver()
        return machine.replace(nvidia=before.replace(version=value, state="ok", cuda=None, libcuda=None))
    if not re.match(r"\d+(\.\d+)*", value):
        raise UsageError(f"--driver {text!r} has no version", todo=[f"--driver {name}=X.Y"])
    if name == "cann":
        return machine.replace(ascend=(machine.ascend or AscendDriver()).replace(cann=value))
    if name == "ascend":
        return machine.replace(ascend=(machine.ascend or AscendDriver()).replace(driver=value))
    field = "rocm" if name == "rocm" else "amdgpu"
    return machine.replace(amd=(machine.amd or AmdDriver()).replace(**{field: value}))


def _with_os(machine: Machine, said: Declaration) -> Machine:
    if said.os is not None:
        match = _OS.fullmatch(said.os.strip())
        name = _OSES.get(match[1].lower()) if match else None
        if name is None:
            raise UsageError(
                f"--os {said.os!r} isn't known",
                why="torch has wheels for Linux, Windows and macOS",
                todo=["--os linux, --os windows or --os macos-14"],
            )
        version = match[2] if match else None
        if name != machine.os.name:
            # Another system: nothing that was seen of this one's libc, drivers or container holds there.
            machine = machine.replace(
                os=Os(name=name, version=version), nvidia=None, amd=None, intel=None, ascend=None, container=None,
                jetson=None, declared=True, python=Python(version=machine.python.version),
            )  # fmt: skip
        elif version is not None:
            machine = machine.replace(os=machine.os.replace(version=version))
    if said.arch is not None:
        if not known_arch(said.arch):
            raise UsageError(f"--arch {said.arch!r} isn't known", todo=["--arch x86_64 or --arch aarch64"])
        machine = machine.replace(arch=said.arch, python=machine.python.replace(arch=None))
    return machine


def python_version(text: str) -> Python:
    """Return a target Python of which only the version is known (``3.12``, ``3.13t``, ``cp312``)."""
    match = re.fullmatch(r"(?:python|cpython|cp)?@?(\d+\.\d+(?:\.\d+)?)(t|\+freethreaded)?", text.strip().lower())
    if match is None:
        raise UsageError(
            f"--python {text!r} isn't a Python",
            why="it is neither the path of an interpreter nor a version",
            todo=["--python 3.12", "--python /path/to/python"],
        )
    return Python(version=match[1], free_threaded=bool(match[2]) or None)
