"""What an environment looks like from outside: packages, files and libraries, read without importing torch."""

from __future__ import annotations

from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Copy(Value):
    """One place where Python finds a package of a name. ``folder`` is the entry of the path that has it.

    ``version``: of its metadata, ``None`` where there is none; ``inner``: of its own version file.
    ``why``: how the folder came onto the path (PYTHONPATH, user site, environment, current folder).
    """

    name: str
    folder: str
    version: str | None = None
    inner: str | None = None
    why: str = ""


class Gap(Value):
    """A requirement that isn't met: ``wanted`` as written, ``found`` the version that is there or ``None``.

    ``built_against``: it is of the torch family or one of the libraries that a build is made for.
    """

    package: str
    version: str
    wanted: str
    name: str
    found: str | None = None
    built_against: bool = True


class Unresolved(Value):
    """A shared library that can't be found: who needs it, and which package brings the needing file."""

    library: str
    needed_by: str
    package: str


class Shadow(Value):
    """A library that the loader would take from elsewhere than the environment's own copy.

    ``own`` and ``other`` are the files; their versions where names or metadata tell them.
    """

    library: str
    own: str
    other: str
    variable: str = "LD_LIBRARY_PATH"
    own_version: str = ""
    other_version: str = ""


class Damaged(Value):
    """A package that isn't whole on disk, in words."""

    name: str
    version: str
    words: str


class Inspection(Value):
    """All that was seen of one environment. Everything may be empty: then nothing speaks against it.

    ``path``: the folders of import, in order. ``copies``: every torch and companion on it. ``files``: files
    that would be imported as torch. ``half``: packages whose folder is there without metadata, or the other
    way round. ``debris``: folders that an uninstall left (``~orch``). ``clashes``: packages of two CUDA majors
    that write the same folder. ``stale``: nvidia packages of a CUDA major that torch doesn't use.
    ``journal``: what a killed run left behind, in words. ``settings``: index settings of pip and uv that bear
    on torch, with their origin. ``free_mib``: room on the environment's disk; ``temporary``: the folder for
    temporary files and the room there. ``variables``: those that bear on what is loaded and on the network.
    ``lost``: variables that name a file that isn't there.
    """

    path: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()
    files: tuple[str, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    half: tuple[str, ...] = ()
    debris: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    clashes: tuple[tuple[str, str], ...] = ()
    stale: tuple[str, ...] = ()
    journal: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    free_mib: int | None = None
    variables: Mapping[str, str] = EMPTY
    temporary: tuple[str, int] | None = None
    lost: tuple[tuple[str, str], ...] = ()
    cann_missing: bool = False
