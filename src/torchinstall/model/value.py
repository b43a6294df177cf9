"""The base of all values: frozen, keyword-only, compared by content.

Type checkers read it as a frozen dataclass. It isn't one, because importing
``dataclasses`` and generating 25 classes costs more start-up time than the
rest of a plan together (docs/decisions.md has the figures).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    from typing_extensions import Self, dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_options):  # noqa: ANN003, ANN201
        """Stand in for ``typing.dataclass_transform`` (Python 3.11+), which does nothing at run time."""
        return lambda cls: cls


_MISSING = object()


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=True)
class Value:
    """A frozen record; fields are the annotations of the class, defaults its attributes.

    Raises ``TypeError`` for a field that doesn't exist or is missing, as a
    dataclass does. Defaults must be immutable: they are shared.
    """

    _fields: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - filled once per class, never written after
    _blank: dict[str, Any] = {}  # noqa: RUF012 - as above: every field with its default
    _required: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        names = [name for name in cls.__annotations__ if not name.startswith("_")]
        cls._fields = (*[n for n in cls._fields if n not in names], *names)
        own = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        cls._defaults = {**cls._defaults, **own}
        cls._blank = {name: cls._defaults.get(name, _MISSING) for name in cls._fields}
        cls._required = tuple(name for name in cls._fields if name not in cls._defaults)

    if not TYPE_CHECKING:

        def __init__(self, **values):  # noqa: ANN003, ANN204
            fields = self.__dict__
            fields.update(self._blank)  # in the order of the fields, whatever the order of the arguments
            fields.update(values)
            for name in self._required:
                if fields[name] is _MISSING:
                    raise TypeError(f"{type(self).__name__} needs {name!r}")
            if len(fields) != len(self._blank):
                raise TypeError(
                    f"{type(self).__name__} has no {', '.join(map(repr, sorted(set(values) - set(self._blank))))}"
                )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items() if v != self._defaults.get(k, _MISSING))
        return f"{type(self).__name__}({shown})"

    @classmethod
    def unchecked(cls, fields: Mapping[str, Any]) -> Self:
        """Return a value of all its fields, given in their order and not looked at: for those made by the million."""
        value = object.__new__(cls)
        value.__dict__.update(fields)
        return value

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed."""
        return type(self)(**{**self.__dict__, **changes})


EMPTY: dict[str, str] = {}
"""The shared empty mapping for defaults. Never written to."""
