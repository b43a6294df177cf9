"""The rules of the scan, turned round: from what stands in a file to the rules that are about it."""

from __future__ import annotations

import re

from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torchinstall.advise.span import Active

_BELOW = ".*"
_CALLS = frozenset({"call", "call-with", "call-without", "call-positional"})


class Target(Value):
    """What the project files are held against.

    ``versions``: the target's version of each package of the torch family; ``gone``: variants without a
    wheel at the target; ``torch``: the target.
    """

    torch: str
    versions: Mapping[str, str] = EMPTY
    gone: frozenset[str] = frozenset()


class Index:
    """Dotted names to rules; a name stands for itself and all below it, ``x.*`` for what is below it alone."""

    __slots__ = ("_below", "_known", "_self")

    def __init__(self) -> None:
        self._self: dict[str, list[Active]] = {}
        self._below: dict[str, list[Active]] = {}
        self._known: dict[str, tuple[tuple[Active, str], ...]] = {}

    def add(self, name: str, rule: Active) -> None:
        """Add a rule under a name."""
        table, key = (self._below, name.removesuffix(_BELOW)) if name.endswith(_BELOW) else (self._self, name)
        table.setdefault(key, []).append(rule)

    def match(self, dotted: str) -> tuple[tuple[Active, str], ...]:
        """Return each rule about a dotted name, with the part of the name that it is about."""
        found = self._known.get(dotted)
        if found is None:
            found = self._known[dotted] = tuple(self._matches(dotted))
        return found

    def _matches(self, dotted: str) -> Iterable[tuple[Active, str]]:
        end = -1
        while True:
            end = dotted.find(".", end + 1)
            part = dotted if end < 0 else dotted[:end]
            yield from ((rule, part) for rule in self._self.get(part, ()))
            if end < 0:
                return
            yield from ((rule, part) for rule in self._below.get(part, ()))


class Table:
    """All rules of a scan by what they look for. Can be sent to another process."""

    def __init__(self, rules: Iterable[Active], target: Target) -> None:
        self.target = target
        self.names = Index()
        self.imports = Index()
        self.calls = Index()
        self.attributes: dict[str, list[Active]] = {}
        self.methods: dict[str, list[Active]] = {}
        self.strings: list[tuple[re.Pattern[str], Active]] = []
        self.requirements: dict[str, list[Active]] = {}
        self.like: list[tuple[re.Pattern[str], Active]] = []
        self.lines: list[tuple[re.Pattern[str], Active]] = []
        self.channels: dict[str, list[Active]] = {}
        self.index: Active | None = None
        for rule in rules:
            self._add(rule)
        self.watched = frozenset(self.attributes) | frozenset(self.methods)

    def _add(self, active: Active) -> None:
        rule = active.rule
        index = self.calls if rule.detect in _CALLS else self.imports if rule.detect == "import" else self.names
        if rule.detect == "string":
            self.strings.append((re.compile(rule.pattern), active))
        else:
            for name in rule.names:
                index.add(name, active)
        methods = self.methods if rule.detect == "tensor-method" else self.attributes
        for name in rule.attributes:
            methods.setdefault(name, []).append(active)
        for name in rule.requirements:
            if "*" in name:
                self.like.append((re.compile(re.escape(name).replace(r"\*", "[a-z0-9-]+")), active))
            else:
                self.requirements.setdefault(name, []).append(active)
        for name in rule.channels:
            self.channels.setdefault(name, []).append(active)
        if rule.lines:
            self.lines.append((re.compile(rule.lines), active))
        if rule.detect == "index":
            self.index = active
