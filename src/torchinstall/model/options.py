"""The options of a call, as values: what the command line and the Python interface have in common."""

from __future__ import annotations

from torchinstall.model.value import Value


class Options(Value):
    """All options; those that a use case has no use for are left at their defaults.

    ``of_project``: what a project file requires itself. ``machine`` is the text of a machine document,
    ``sysroot`` a folder that stands for the machine, ``reports`` files with what a tool printed on the machine
    that is meant (``-`` for stdin).
    """

    requirements: tuple[str, ...] = ()
    of_project: tuple[str, ...] = ()
    requirement_files: tuple[str, ...] = ()
    constraint_files: tuple[str, ...] = ()
    variant: str | None = None
    cpu: bool = False
    require_gpu: bool = False
    upgrade: bool = False
    pre: bool = False
    allow_older: bool = False
    offline: bool = False
    python: str | None = None
    venv: str | None = None
    system: bool = False
    gpus: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    os: str | None = None
    arch: str | None = None
    glibc: str | None = None
    sysroot: str | None = None
    reports: tuple[str, ...] = ()
    mirror: str | None = None
    dry_run: bool = False
    yes: bool = False
    keep: bool = False
    verify: bool = True
    compile: bool = False
    replace_vendor_build: bool = False
    installer: str = "uv"
    require_hashes: bool = False
    write_constraints: str | None = None
    bundle: str | None = None

    @property
    def declares(self) -> bool:
        """Tell whether the target machine is named instead of seen."""
        return bool(self.gpus or self.drivers or self.os or self.arch or self.glibc)
