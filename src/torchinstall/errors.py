"""Failures that a user can act on: what was seen, why it fails, what to do next.

One base, one class a kind of failure, each with its exit code. The codes are
the ones of the documentation; code 1 is left to bugs in torchinstall itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_OK = 0
EXIT_BUG = 1
EXIT_USAGE = 2
EXIT_BLOCKED = 3
EXIT_UNDETERMINED = 4
EXIT_INSTALL = 5
EXIT_VERIFY = 6
EXIT_TARGET = 7
EXIT_INDEX = 8
EXIT_UNPROVEN = 9
EXIT_INTERRUPTED = 130


class TorchInstallError(Exception):
    """The base of every failure that torchinstall explains.

    ``what`` is what was seen, ``why`` is why it fails, ``todo`` are the next
    steps, best first; each of them one or two plain sentences.
    """

    exit_code = EXIT_BUG

    def __init__(self, what: str, *, why: str = "", todo: Sequence[str] = (), details: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.todo = tuple(todo)
        self.details = details


class UsageError(TorchInstallError):
    """The words of the call, or a file that it names, can't be used."""

    exit_code = EXIT_USAGE


class MachineFileError(UsageError):
    """A machine file can't be read, or isn't one."""


class RequirementError(UsageError):
    """A requirement isn't one that pip would take."""


class CatalogError(TorchInstallError):
    """A file of the compatibility data is missing or broken; names file and row."""

    exit_code = EXIT_USAGE


class BlockedError(TorchInstallError):
    """Nothing published fits."""

    exit_code = EXIT_BLOCKED


class UndeterminedError(TorchInstallError):
    """The target can't be known."""

    exit_code = EXIT_UNDETERMINED


class InstallError(TorchInstallError):
    """uv or pip failed; the environment is as it was."""

    exit_code = EXIT_INSTALL


class VerifyError(TorchInstallError):
    """The new build doesn't work, for a cause that another wheel could cure."""

    exit_code = EXIT_VERIFY


class TargetError(TorchInstallError):
    """The target environment can't be written."""

    exit_code = EXIT_TARGET


class IndexUnreachableError(TorchInstallError):
    """An index or mirror couldn't be reached, and it was needed."""

    exit_code = EXIT_INDEX


class UnprovenError(TorchInstallError):
    """Installed; the proof met a cause outside the wheel."""

    exit_code = EXIT_UNPROVEN


class StoppedError(TorchInstallError):
    """Stopped by the user; the environment is as it was."""

    exit_code = EXIT_INTERRUPTED
