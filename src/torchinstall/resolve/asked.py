"""Options and requirement files to a request. Files are read by the caller's function."""

from __future__ import annotations

import json
import posixpath

from torchinstall.errors import MachineFileError, TorchInstallError, UsageError
from torchinstall.model.machine_json import machine_from_json
from torchinstall.model.request import Request
from torchinstall.model.variant import CPU
from torchinstall.resolve.mirrors import meant
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import merged, parse, parse_file, possible_markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options
    from torchinstall.model.plan import Plan
    from torchinstall.resolve.wishes import Environment, Parsed

_MEMO_BYTES = 64 * 2**20
"""About how much the kept answers of a batch may take: a memo against repetition, not a store."""
_REASON_BYTES = 800
"""About what one reason of a plan takes, with its words and facts (measured: 25 of them in 22 KB)."""

_DEEPEST = 20
"""Requirement files that include each other in a circle end here."""


def request_of(
    options: Options,
    machine: Machine | None,
    catalog: Catalog,
    *,
    constraint_files: Iterable[str] = (),
    offline: bool = False,
    read: Callable[[str], str],
) -> Request:
    """Return the request of a call. ``constraint_files``: those that uv and pip are configured with.

    ``read`` returns the text of a file, or raises ``UsageError``. Raises ``RequirementError`` for a text
    that isn't a requirement, ``UsageError`` for options that contradict each other.
    """
    if options.cpu and options.variant and options.variant != CPU:
        raise UsageError(f"--cpu and --variant {options.variant} contradict each other", todo=["leave one away"])
    if options.require_gpu and (options.cpu or options.variant == CPU):
        raise UsageError("--require-gpu and a CPU build contradict each other", todo=["leave one away"])
    environment = possible_markers(machine) if machine is not None else None
    origin = "the command line" if options.bundle is None else "the bundle"
    parsed = parse(options.requirements, catalog.joint, origin=origin, environment=environment)
    own = parse(options.of_project, catalog.joint, origin="pyproject.toml", environment=environment)
    files = [_file(name, catalog, environment, read) for name in options.requirement_files]
    inner = [name for found in files for name in found.constraint_files]
    names = dict.fromkeys([*options.constraint_files, *inner, *constraint_files])
    constraints = [_file(name, catalog, environment, read) for name in names]
    mirror, mirror_kind = meant(options.mirror, catalog)
    return Request(
        wishes=parsed.wishes + own.wishes + tuple(wish for found in files for wish in found.wishes),
        others=parsed.others + own.others + tuple(text for found in files for text in (*found.hints, *found.others)),
        constraints=tuple(wish for found in constraints for wish in found.wishes),
        variant=CPU if options.cpu else options.variant,
        pre=options.pre,
        upgrade=options.upgrade,
        require_gpu=options.require_gpu,
        offline=options.offline or offline,
        allow_older=options.allow_older,
        replace_vendor_build=options.replace_vendor_build,
        bundle=options.bundle is not None,
        mirror=mirror,
        mirror_kind=mirror_kind,
    )


def plans(
    lines: Iterable[str], general: Request, catalog: Catalog, complete: Callable[[Machine], Machine]
) -> Iterator[tuple[object, Plan | TorchInstallError]]:
    """Answer JSON lines one after the other, by the catalogue alone; equal questions are answered once.

    A line is a machine, or an object with ``id``, ``machine`` and ``request``. A bad line gets its error in
    its place, and the rest goes on. ``complete`` fills what a machine leaves to the running one.
    """
    memo: dict[str, Plan] = {}
    held = 0
    for line in lines:
        if not line.strip():
            continue
        identity: object = None
        try:
            document = loads(line)
            if not isinstance(document, dict):
                raise MachineFileError("the line isn't an object")
            identity = document.get("id")
            inner = document.get("machine", {name: v for name, v in document.items() if name != "id"})
            asked = document.get("request") or {}
            key = json.dumps([inner, asked], sort_keys=True)
            if key not in memo:
                machine = complete(machine_from_json(inner))
                plan = resolve(machine, with_asked(general, asked, machine, catalog), catalog, brief=True)
                weight = len(key) + _REASON_BYTES * (len(plan.rejected) + len(plan.alternatives) + len(plan.why) + 4)
                if held + weight > _MEMO_BYTES:
                    memo.clear()
                    held = 0
                held += weight
                memo[key] = plan
            yield identity, memo[key]
        except TorchInstallError as error:
            yield identity, error
        except (ValueError, RecursionError) as error:
            yield identity, MachineFileError(f"the line isn't JSON: {error}")


def loads(text: str) -> object:
    """Read JSON; ``NaN`` and its like aren't in it. Raises ``ValueError`` or ``RecursionError``."""
    return json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def with_asked(general: Request, asked: object, machine: Machine, catalog: Catalog) -> Request:
    """Return the request with what the ``request`` of a machine document asks for.

    Raises ``MachineFileError`` where it isn't of the documented form, ``RequirementError`` for its texts.
    """
    if not isinstance(asked, dict):
        raise MachineFileError("request isn't an object")
    requirements = asked.get("requirements") or []
    if not isinstance(requirements, list) or not all(isinstance(text, str) for text in requirements):
        raise MachineFileError("request.requirements isn't a list of strings")
    variant = asked.get("variant")
    if variant is not None and not isinstance(variant, str):
        raise MachineFileError("request.variant isn't a string")
    if not requirements and variant is None:
        return general
    parsed = parse(requirements, catalog.joint, origin="the request", environment=possible_markers(machine))
    return general.replace(
        wishes=parsed.wishes or general.wishes,
        others=parsed.others or general.others,
        variant=variant or general.variant,
    )


def _file(
    name: str,
    catalog: Catalog,
    environment: Environment,
    read: Callable[[str], str],
    depth: int = 0,
) -> Parsed:
    """Read a requirements or constraints file and the files that it includes."""
    if depth > _DEEPEST:
        raise UsageError(f"{name} is included by itself", todo=["look at its -r lines"])
    found = parse_file(read(name), catalog.joint, origin=name, environment=environment)
    folder = posixpath.dirname(name.replace("\\", "/"))
    inner = [_file(_beside(folder, other), catalog, environment, read, depth + 1) for other in found.includes]
    beside = tuple(_beside(folder, other) for other in found.constraint_files)
    return merged(found.replace(constraint_files=beside), inner)


def _beside(folder: str, name: str) -> str:
    return name if "://" in name else posixpath.join(folder, name)
