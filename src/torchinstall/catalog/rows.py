"""The rows of the compatibility data. Every row says how sure it is (``status``) and whence (``source``)."""

from __future__ import annotations

from torchinstall.model.value import Value

MEASURED = "measured"
PUBLISHED = "published"
DECLARED = "declared"
REPORTED = "reported"
UNADVERTISED = "unadvertised"
UNVERIFIED = "unverified"
WITHDRAWN = "withdrawn"

STATUSES = (MEASURED, PUBLISHED, DECLARED, REPORTED, UNADVERTISED, UNVERIFIED, WITHDRAWN)
"""Best first: where two rows disagree, the better status wins."""

CHOSEN_OFFLINE = frozenset({MEASURED, PUBLISHED, DECLARED})
"""Rows that may be chosen without having seen the wheel in this run."""


class WheelTag(Value):
    """One platform tag of a build, and the Python tags that have a wheel with it.

    ``platform`` such as manylinux_2_28_x86_64; ``pythons`` such as cp312, cp313t (free-threaded) or
    ``py3`` for a wheel of every Python.
    """

    platform: str
    pythons: tuple[str, ...]


class Build(Value):
    """One torch build: version x variant x platform, as published.

    ``platform``: linux_x86_64, linux_aarch64, win_amd64, win_arm64, macos_arm64, macos_x86_64.
    ``default``: this is what the default index serves on the platform. ``local`` is the local part of its
    version on the variant's own index (``+cu126``), ``""`` for none, ``None`` where it isn't known.
    ``inherited``: the Python tags are those of the platform's default build and weren't seen for this one.
    """

    torch: str
    variant: str
    platform: str
    status: str
    source: str
    checked: str
    default: bool = False
    experimental: bool = False
    local: str | None = None
    wheels: tuple[WheelTag, ...] = ()
    inherited: bool = False
    note: str = ""
    index: str = ""
    """The index of a vendor that serves it, where that isn't PyTorch's; ``{family}`` in it stands for a folder."""
    extras: tuple[str, ...] = ()
    extras_on: tuple[str, ...] = ()
    """Extras that bring the device code, and the packages that have them (AMD's multi-arch wheels)."""


class Companion(Value):
    """One wheel of torchvision or torchaudio that belongs to builds of one torch release.

    It pairs with builds of torch release ``torch`` in these ``variants`` (``*`` for all) on these
    ``platforms`` (``*`` for all). ``pins_torch``: its metadata requires exactly that torch.
    """

    name: str
    version: str
    torch: str
    variants: tuple[str, ...]
    platforms: tuple[str, ...]
    status: str
    source: str
    checked: str
    pins_torch: bool = False
    wheels: tuple[WheelTag, ...] = ()
    note: str = ""
    requires: tuple[str, ...] = ()
    """What its metadata says of the other packages that are chosen together with it."""
    on_default: bool = False
    """The default index serves it, whatever index its torch comes from (torch-npu)."""


class Release(Value):
    """One torch release. ``requires_python`` as in its metadata."""

    torch: str
    date: str
    requires_python: str
    yanked: bool
    builds: tuple[Build, ...]
    companions: tuple[Companion, ...]
    warnings: tuple[str, ...] = ()


class ArchList(Value):
    """GPU code in one build: ``sass`` as numbers (86 is sm_86).

    ``inherited_from`` names the platform whose list it is, where the build has none of its own.
    """

    torch: str
    variant: str
    platform: str
    sass: tuple[int, ...]
    status: str
    source: str
    checked: str
    inherited_from: str | None = None


class Floor(Value):
    """A lowest driver version, for Linux and for Windows; ``None`` where the system isn't served or not known."""

    linux: str | None
    windows: str | None
    source: str
    status: str
    checked: str


class Generation(Value):
    """NVIDIA cards of some compute capabilities: first driver that knows them, first branch that doesn't any more.

    ``dropped_branch``: drivers of this branch and later no longer support the cards (590 for Pascal);
    ``last_branch`` is the one to stay on. ``open_module``: required, impossible, or either; ``module_source`` says so.
    """

    name: str
    compute_capabilities: tuple[str, ...]
    floor: Floor | None = None
    dropped_branch: int | None = None
    last_branch: int | None = None
    open_module: str = "either"
    module_source: str = ""
    source: str = ""
    status: str = DECLARED
    checked: str = ""


class Tegra(Value):
    """A Tegra SoC family: which L4T its ordinary (SBSA) wheels need, or which index has its own.

    ``sbsa_from_l4t``: from this L4T on, CUDA wheels of at least ``sbsa_from_cuda`` run; ``None``: none do.
    """

    name: str
    socs: tuple[str, ...]
    compute_capability: str
    sbsa_from_l4t: str | None
    sbsa_from_cuda: str | None
    advice: str
    source: str
    status: str
    checked: str
    own_code: bool = False
    """Code for this id serves no other card, and no other code serves it (5.3, 6.2, 7.2, 11.0)."""
