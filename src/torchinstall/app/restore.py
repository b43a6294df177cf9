"""Restore: undo the last installation in the target environment, from what was set aside."""

from __future__ import annotations

from torchinstall.app.around import python_of
from torchinstall.errors import UsageError
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.app.base import App
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options


class Restored(Value):
    """What was undone. ``undone``: the installation that is taken back, in words; ``when`` it was, in UTC.

    ``interrupted``: it had been stopped in the middle. ``packages``: the torch family as it is now. ``lost``: what
    was installed or changed since by somebody else, and is gone with it (``six==1.17.0``).
    """

    prefix: str
    undone: str = ""
    when: str = ""
    interrupted: bool = False
    packages: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()


def restore(app: App, options: Options) -> Restored:
    """Bring the environment back to what it was before the last installation by torchinstall.

    No network is used. Raises ``UsageError`` where nothing can be undone, ``TargetError`` where the
    environment can't be written or another run has it.
    """
    from torchinstall.install.journal import left_behind
    from torchinstall.install.process import terminations_as_interrupts
    from torchinstall.install.receipt import read_receipt
    from torchinstall.install.transaction import recover_target, restore_previous

    target = whole_target(app, options)
    prefix = str(target.prefix)
    with terminations_as_interrupts():
        left = left_behind(prefix)
        if left is not None and recover_target(target):
            return Restored(
                prefix=prefix, undone=left.wanted, when=left.began, interrupted=True, packages=_family(app, target)
            )
        receipt = read_receipt(prefix)
        before = _installed(target)
        if not restore_previous(target):
            made = receipt is not None
            raise UsageError(
                f"there is nothing to undo in {prefix}",
                why="the installation there has made the environment itself, or was undone before"
                if made
                else "torchinstall has changed nothing there, or that was undone before",
                todo=[f"remove {prefix}, if it isn't needed"] if made else ["name the environment: --venv or --python"],
            )
    undone = ", ".join(f"{name} {version}" for name, version in receipt.packages) if receipt else ""
    return Restored(
        prefix=prefix,
        undone=undone,
        when=receipt.when if receipt else "",
        packages=_family(app, target),
        lost=_lost(before, _installed(target), receipt.changes if receipt else ()),
    )


def whole_target(app: App, options: Options) -> Target:
    """Return the target environment with what its interpreter says of itself; the machine isn't looked at."""
    target = app.target(options)
    if not target.exists or target.python is None:
        raise UsageError(f"there is no environment in {target.prefix}", todo=["name another one with --venv"])
    return target.with_facts(python_of(app, target))


def _family(app: App, target: Target) -> tuple[tuple[str, str], ...]:
    found = _installed(target)
    return tuple((name, found[name]) for name in (*app.catalog.joint, "torch-npu") if name in found)


def _installed(target: Target) -> dict[str, str]:
    from torchinstall.install.preflight import target_paths
    from torchinstall.install.records import installed

    return {name: version for root in target_paths(target) for name, version, _ in installed(root)}


def _lost(before: Mapping[str, str], after: Mapping[str, str], changes: tuple[str, ...]) -> tuple[str, ...]:
    """Return what somebody else put in since: gone or changed now, though the installation hadn't brought it."""
    brought = {(words.split()[1], words.split()[-1]) for words in changes if not words.startswith("-")}
    return tuple(
        f"{name}=={version}"
        for name, version in sorted(before.items())
        if after.get(name) != version and (name, version) not in brought
    )
