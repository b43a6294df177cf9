"""What the transaction wants of an installer, whichever it is."""

from __future__ import annotations

from torchinstall.install.settings import Settings
from torchinstall.install.target import Target
from torchinstall.model.plan import Plan
from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Protocol


class Job(Value):
    """One installation. ``cwd`` is what relative paths in ``plan.others`` are relative to.

    ``reinstall``: packages to replace even where the version looks right (metadata of the default index has
    no local part). ``bound``: other packages that must come from one index (triton of a ROCm build), by name.
    ``show``: the installer's progress may go to the terminal. ``held``: descriptors that it inherits, so that
    the lock of the environment stays for as long as it runs. ``hashes``: where it has any, only files with these
    (``name==version`` to sha256). ``kept``: packages that stay at the version that they have, by name.
    """

    plan: Plan
    target: Target
    settings: Settings
    cwd: Path
    reinstall: tuple[str, ...] = ()
    bound: Mapping[str, str] = EMPTY
    offline: bool = False
    show: bool = True
    held: tuple[int, ...] = ()
    hashes: Mapping[str, str] = EMPTY
    kept: Mapping[str, str] = EMPTY


class Change(Value):
    """One package before and after: added (no ``before``), removed (no ``after``), replaced or reinstalled."""

    name: str
    before: str | None = None
    after: str | None = None

    def words(self) -> str:
        """Return the change in one line, in uv's signs."""
        if self.before is None:
            return f"+ {self.name} {self.after}"
        if self.after is None:
            return f"- {self.name} {self.before}"
        return f"~ {self.name} {self.before} -> {self.after}"


def all_new(plan: Plan) -> tuple[Change, ...]:
    """Return the changes of a plan in an environment that isn't there yet; dependencies aren't known then."""
    return tuple(Change(name=pin.name, after=pin.version) for pin in plan.packages)


if TYPE_CHECKING:

    class Installer(Protocol):
        """uv or pip."""

        name: str

        def preview(self, job: Job) -> tuple[Change, ...]:
            """Return what an installation would change, without changing it. Errors as ``install``."""

        def install(self, job: Job) -> tuple[Change, ...]:
            """Install, and return what was changed.

            Raises ``InstallError``, ``IndexUnreachableError`` or ``TargetError`` in words of ours, with the
            installer's last lines as details. Passes on ``KeyboardInterrupt`` after ending the installer.
            """
