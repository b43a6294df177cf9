"""From a name in a scope to the dotted name that it was imported as."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.advise.syntax import Chain, Syntax

_DEEPEST = 8
"""An alias of an alias of an alias: past this it isn't followed."""


class Names:
    """The names of one module, looked up as Python would."""

    def __init__(self, syntax: Syntax) -> None:
        self._scopes = syntax.scopes
        self._known: dict[tuple[str, int], str | None] = {}
        self._made: dict[tuple[str, int], str | None] = {}

    def dotted(self, chain: Chain, scope: int, depth: int = 0) -> str | None:
        """Return what a chain stands for, such as ``torch.jit.script``; ``None`` where no import is behind it."""
        root = self.root(chain[0], scope, depth)
        if root is None:
            return None
        return ".".join((root, *chain[1:])) if len(chain) > 1 else root

    def root(self, name: str, scope: int, depth: int = 0) -> str | None:
        """Return the dotted name that a plain name was imported as, or bound to once.

        A name that is imported and bound in the same scope counts as imported: that is how fallbacks look.
        """
        key = (name, scope)
        if key not in self._known:
            self._known[key] = self._look_up(name, scope, depth, made=False)
        return self._known[key]

    def maker(self, name: str, scope: int) -> str | None:
        """Return the dotted name whose call made what a name is bound to, or that annotates it."""
        key = (name, scope)
        if key not in self._made:
            self._made[key] = self._look_up(name, scope, 0, made=True)
        return self._made[key]

    def _look_up(self, name: str, scope: int, depth: int, *, made: bool) -> str | None:
        number, first = scope, True
        while number >= 0:
            here = self._scopes[number]
            # The names of a class aren't seen from its methods.
            if first or not here.is_class:
                imported = here.imports.get(name)
                if imported is not None:
                    return None if made else imported
                if name in here.bound:
                    return self._alias(name, number, depth, made=made)
            number, first = here.parent, False
        return None

    def _alias(self, name: str, scope: int, depth: int, *, made: bool) -> str | None:
        here = self._scopes[scope]
        alias = here.aliases.get(name)
        if alias is None or alias[1] is not made or here.bound[name] != 1 or depth >= _DEEPEST:
            return None
        return self.dotted(alias[0], scope, depth + 1)
