"""What was read out of one wheel, without loading all of it."""

from __future__ import annotations

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SASS_STREAM = "fat binaries of libtorch_cuda.so"
SASS_TABLE = "PYTORCH_RELEASES_CODE_CC of the wheel"

_KEPT = (
    "filename", "name", "version", "inner", "variant", "requires_python", "requires", "sass", "partial", "sass_from",
    "table", "full",
)  # fmt: skip


class Measured(Value):
    """The facts inside one wheel, as measured.

    ``version`` is that of METADATA, ``inner`` what version.py says (with the local part that the file name
    may hide), ``variant`` what follows from it, ``None`` where the wheel doesn't say. ``sass``: GPU code that
    (almost) every kernel has, as numbers (86 is sm_86); ``partial``: what only some kernels have, known from
    a full reading alone. ``sass_from`` says where the list is from. ``table``: the lists that the wheel
    declares for the CUDA versions of its release, published or not. ``requests`` and ``transferred`` (bytes)
    are what the reading cost, ``size`` (bytes) is the whole wheel.
    """

    filename: str
    url: str
    name: str
    version: str
    inner: str | None = None
    variant: str | None = None
    requires_python: str | None = None
    requires: tuple[str, ...] = ()
    sass: tuple[int, ...] = ()
    partial: tuple[int, ...] = ()
    sass_from: str = ""
    table: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    """(CUDA version, platform or "", architectures) a row."""
    full: bool = False
    notes: tuple[str, ...] = ()
    requests: int = 0
    transferred: int = 0
    size: int = 0


def to_facts(found: Measured) -> dict[str, Any]:
    """Return what was read as JSON values, without what the reading cost and where the wheel lay."""
    return {name: getattr(found, name) for name in _KEPT}


def from_facts(facts: object) -> Measured | None:
    """Return what ``to_facts`` made; ``None`` for anything else."""
    if not isinstance(facts, dict) or set(facts) != set(_KEPT):
        return None
    texts = ("filename", "name", "version", "sass_from")
    if not all(isinstance(facts[name], str) for name in texts):
        return None
    if not all(facts[name] is None or isinstance(facts[name], str) for name in ("inner", "variant", "requires_python")):
        return None
    if not all(isinstance(facts[name], (list, tuple)) for name in ("requires", "sass", "partial", "table")):
        return None
    if not all(type(sm) is int for sm in (*facts["sass"], *facts["partial"])):
        return None
    rows = [row for row in facts["table"] if isinstance(row, (list, tuple)) and len(row) == 3]  # noqa: PLR2004
    table = tuple((str(cuda), str(where), tuple(int(sm) for sm in archs)) for cuda, where, archs in rows)
    requires = tuple(str(text) for text in facts["requires"])
    values = {**facts, "requires": requires, "sass": tuple(facts["sass"]), "partial": tuple(facts["partial"])}
    return Measured(**{**values, "table": table, "full": bool(facts["full"]), "url": ""})
