"""Which variant folders to look for on a PyTorch index: all that are known, and the next steps of their numbering."""

from __future__ import annotations

from torchinstall.model.variant import backend, order, toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_AHEAD = 2
"""How many minor numbers past the highest are tried; CUDA variants have skipped one (cu130, cu132, cu134)."""


def folders(known: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the folders to ask for, known ones first, both newest first."""
    names = tuple(dict.fromkeys(sorted(known, key=lambda name: (backend(name), order(name)), reverse=True)))
    return tuple(dict.fromkeys((*names, *_cuda_steps(names), *_rocm_steps(names))))


def majors(known: Iterable[str], kind: str) -> frozenset[int]:
    """Return the toolkit majors (12, 13) of the variants of one backend."""
    return frozenset(numbers(toolkit(name))[0] for name in known if backend(name) == kind)


def _cuda_steps(names: tuple[str, ...]) -> list[str]:
    found = sorted(numbers(toolkit(name))[:2] for name in names if backend(name) == "cuda")
    if not found:
        return []
    major, minor = found[-1]
    return [f"cu{major}{step}" for step in range(min(minor + _AHEAD, 9), -1, -1)] + [f"cu{major + 1}0"]


def _rocm_steps(names: tuple[str, ...]) -> list[str]:
    """Return the next minors of the two highest majors (the 7.x line goes on beside 10.x), and the next major."""
    minors: dict[int, int] = {}
    for name in names:
        if backend(name) == "rocm":
            major, minor = (*numbers(toolkit(name)), 0)[:2]
            minors[major] = max(minor, minors.get(major, 0))
    highest = sorted(minors, reverse=True)
    steps = [f"rocm{major}.{minors[major] + ahead}" for major in highest[:2] for ahead in range(1, _AHEAD + 1)]
    return [*steps, *(f"rocm{major + 1}.0" for major in highest[:1])]
