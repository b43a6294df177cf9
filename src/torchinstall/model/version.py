"""Version numbers that aren't PEP 440: drivers, CUDA, ROCm, CANN, macOS, glibc.

They are compared as numbers, part by part, so rocm7.14 is above rocm7.2.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"\d+")
_LONGEST = 18
"""Digits of a number that count; Python refuses to convert thousands."""

Numbers = tuple[int, ...]


@lru_cache(maxsize=4096)
def numbers(text: str) -> Numbers:
    """Return the numeric parts of ``text``: ``"580.65.06"`` is ``(580, 65, 6)``; no digits, no parts."""
    return tuple(int(part[:_LONGEST]) for part in _NUMBER.findall(text))


def at_least(found: str, minimum: str) -> bool:
    """Tell whether ``found`` is ``minimum`` or newer, part by part; missing parts count as 0."""
    left, right = numbers(found), numbers(minimum)
    width = max(len(left), len(right))
    return left + (0,) * (width - len(left)) >= right + (0,) * (width - len(right))


_DRIVER = re.compile(r"\d{2,4}(\.\d{1,4}){0,3}")


def is_driver_version(text: str) -> bool:
    """Tell whether ``text`` is the version of an NVIDIA driver or a bare branch, such as ``570.86`` or ``580``."""
    return _DRIVER.fullmatch(text) is not None


def driver_at_least(found: str, minimum: str) -> bool:
    """Tell whether an NVIDIA driver reaches ``minimum``; a bare branch stands for its newest release."""
    parts = numbers(found)
    if len(parts) == 1:
        return parts[0] >= numbers(minimum)[0]
    return at_least(found, minimum)


def is_newer(version: str, other: str) -> bool:
    """Tell whether a PEP 440 version is above another, local parts aside; what isn't PEP 440 goes by its numbers."""
    left, right = version.partition("+")[0], other.partition("+")[0]
    if left == right:
        return False
    from packaging.version import InvalidVersion, Version

    try:
        return Version(left) > Version(right)
    except InvalidVersion:
        return numbers(left) > numbers(right)
