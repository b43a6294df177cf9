"""What the user asked for."""

from __future__ import annotations

from torchinstall.model.value import Value


class Wish(Value):
    """One requirement. ``specifier`` without a local part; ``variant`` is the local part that was asked for.

    ``origin`` says where it was written: the command line, a bundle, or a file and line. ``hashes`` as pip writes them
    (``sha256:...``): one of them the wheel must have.
    """

    name: str
    specifier: str = ""
    variant: str | None = None
    extras: tuple[str, ...] = ()
    text: str
    origin: str = "the command line"
    hashes: tuple[str, ...] = ()


class Request(Value):
    """One call. ``wishes`` are about the torch family, ``others`` are passed to the installer word for word.

    ``constraints`` bind the torch family without asking for it.
    """

    wishes: tuple[Wish, ...] = ()
    others: tuple[str, ...] = ()
    constraints: tuple[Wish, ...] = ()
    variant: str | None = None
    pre: bool = False
    upgrade: bool = False
    require_gpu: bool = False
    require_hashes: bool = False
    offline: bool = False
    allow_older: bool = False
    replace_vendor_build: bool = False
    bundle: bool = False
    """A bundle says what is wanted, and is the one source of it."""
    mirror: str | None = None
    mirror_kind: str = "simple"
