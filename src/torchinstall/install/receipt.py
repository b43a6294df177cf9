"""What an installation did, written into the environment: plan, versions, time."""

from __future__ import annotations

import json
import os
from pathlib import Path

from torchinstall._version import __version__
from torchinstall.index.location import canonical, redact
from torchinstall.install.records import installed
from torchinstall.install.snapshot import RECEIPT
from torchinstall.install.trees import STATE_DIR
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from torchinstall.install.backend import Change, Job

_SCHEMA = 1


class Receipt(Value):
    """The last installation. ``packages``: name to version of the torch family; ``changes`` in words."""

    when: str
    installer: str
    torch: str | None = None
    variant: str | None = None
    packages: tuple[tuple[str, str], ...] = ()
    changes: tuple[str, ...] = ()


def write_receipt(job: Job, installer: str, changes: Sequence[Change]) -> None:
    """Write the receipt, in one step. Raises ``OSError`` where that can't be done."""
    from datetime import datetime, timezone

    plan = job.plan
    document: dict[str, Any] = {
        "schema": _SCHEMA,
        "torchinstall": __version__,
        "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "installer": installer,
        "torch": plan.torch,
        "variant": plan.variant,
        "packages": [
            {
                "name": pin.name,
                "version": pin.version,
                "index": redact(pin.index),
                **({"sha256": pin.sha256} if pin.sha256 else {}),
            }
            for pin in plan.packages
        ],
        "others": [redact(text) for text in plan.others],
        "changes": [change.words() for change in changes],
        "catalog": plan.catalog.date,
    }
    folder = Path(str(job.target.prefix)) / STATE_DIR
    folder.mkdir(exist_ok=True)
    part = folder / f"{RECEIPT}.part"
    part.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    part.replace(folder / RECEIPT)


def read_receipt(prefix: str | Path) -> Receipt | None:
    """Return the receipt of an environment, ``None`` where there is none that can be read."""
    try:
        data = json.loads(Path(prefix, STATE_DIR, RECEIPT).read_text("utf-8"))
        if data["schema"] != _SCHEMA:
            return None
        return Receipt(
            when=str(data["when"]),
            installer=str(data["installer"]),
            torch=data["torch"],
            variant=data["variant"],
            packages=tuple((str(row["name"]), str(row["version"])) for row in data["packages"]),
            changes=tuple(map(str, data["changes"])),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def constraints(roots: Iterable[str | Path], names: Iterable[str]) -> str:
    """Return a constraints file that keeps these packages at the versions that are installed now.

    Other installs that obey it (``pip install -c FILE``, ``PIP_CONSTRAINT``, ``UV_CONSTRAINT``) can't replace
    them. A version from the default index has no local part there, and so none here.
    """
    wanted = {canonical(name) for name in names}
    found: dict[str, str] = {}
    for root in dict.fromkeys(os.path.realpath(root) for root in roots):
        found.update({name: version for name, version, _ in installed(root) if name in wanted})
    lines = ["# Written by torchinstall: keeps other installs from replacing the torch family.\n"]
    lines += [f"{name}=={found[name]}\n" for name in sorted(found)]
    return "".join(lines)
