"""torch.cuda of the stand-in."""

from __future__ import annotations

from torch import _act

OutOfMemoryError = _act.OutOfMemoryError


class device:  # noqa: N801 - the name that torch has
    def __init__(self, _index):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None


def is_available():
    _act.warn("cuda")
    return not _act.unavailable("cuda")


def device_count():
    return 0 if _act.unavailable("cuda") else len(_act.cards())


def get_device_name(index=0):
    return _act.cards()[index or 0]["name"]


def get_device_capability(index=0):
    return tuple(_act.cards()[index or 0]["capability"])


def get_arch_list():
    return list(_act.ARCHES) if is_available() else []


def is_bf16_supported(including_emulation=True):
    return including_emulation or get_device_capability(0) >= (8, 0)


def synchronize(_index=None):
    return None


def init():
    if reason := _act.unavailable("cuda"):
        raise RuntimeError(reason)
