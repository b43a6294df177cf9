"""Where the packages of a plan lie, in the words of the files that name it."""

from __future__ import annotations

import re

from torchinstall.index.location import canonical, is_url, local_path, project_url
from torchinstall.model.variant import XPU, backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.plan import Pin, Plan

DEFAULT = "default"
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_OWN_SOFTWARE = frozenset({"rocm", XPU})


def public(url: str) -> str:
    """Return a URL without user and password: a file is copied, committed and mailed."""
    return _USERINFO.sub("", url)


def has_credentials(plan: Plan) -> bool:
    """Tell whether an index of the plan is asked with a user or password."""
    return any(public(pin.index) != pin.index for pin in plan.packages)


def local_folder(pin: Pin) -> bool:
    """Tell whether a package comes from a folder, which only this machine has."""
    return pin.index not in {DEFAULT, "installed"} and local_path(pin.index) is not None


def needs_own_index(plan: Plan) -> bool:
    """Tell whether the wheels also require packages that only their own index has right.

    ROCm and XPU wheels require triton-rocm, oneAPI and others, under names that are free for anybody on the
    default index.
    """
    return backend(plan.variant or "") in _OWN_SOFTWARE


def requirement(pin: Pin) -> str:
    """Return ``torch[extra]==2.14.1+cu126``."""
    return f"{named(pin)}=={pin.version}"


def named(pin: Pin) -> str:
    """Return the name with its extras."""
    return f"{canonical(pin.name)}[{','.join(pin.extras)}]" if pin.extras else canonical(pin.name)


def page(pin: Pin) -> str | None:
    """Return the one page that lists a package's wheels; ``None``: the default index serves it."""
    if pin.index == DEFAULT:
        return None
    if pin.kind != "simple" or not is_url(pin.index):
        return public(pin.index)
    return project_url(public(pin.index), pin.name)


def wheel(pin: Pin, plan: Plan) -> str | None:
    """Return the wheel's own URL where it is known and the same for whoever reads the file.

    A plan for no particular Python was shown the wheel of some Python: that is nobody's in particular.
    """
    if pin.url is None or pin.index == DEFAULT or plan.python is None or not is_url(pin.url):
        return None
    return public(pin.url)


def title(plan: Plan) -> str:
    """Return what the file is for, in one line."""
    python = f", Python {plan.python}" if plan.python else ""
    return f"torch {plan.torch} ({plan.variant}) for {plan.platform}{python}"


def python_version(plan: Plan) -> str:
    """Return the Python of the plan, or the newest that all its packages have wheels for, as ``3.12``."""
    if plan.python:
        return ".".join(plan.python.rstrip("t").split(".")[:2])
    plain = [name for name in plan.pythons if re.fullmatch(r"3\.\d+", name)]
    # The newest Python lacks wheels of other packages for months; the one before it has them.
    return plain[-2] if len(plain) > 1 else (plain[0] if plain else "3.12")
