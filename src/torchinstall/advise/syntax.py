"""One walk over a syntax tree: what is imported, bound and used, in which scope, and under which guard.

The walk has a stack of its own: ``ast.walk`` doesn't know scopes, a ``NodeVisitor`` is three times slower,
and a deep expression must not end in a RecursionError.
"""

from __future__ import annotations

import ast
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Chain: TypeAlias = tuple[str, ...]
    """A dotted name in parts; the first part is a name, the others are attributes."""

GUARDED = 1
"""The code is ready for the name to be missing: a try with ImportError or AttributeError."""
PASSIVE = 2
"""The name is only looked at: an annotation, isinstance."""
TESTED = 4
"""The code has asked first: hasattr, or a comparison of versions."""

_VERSION = re.compile(r"\d+\.\d")
_NAMED_VERSION = re.compile(r"(?:^|_)(?:version|VERSION)|(?:^|[a-z_])Version")
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})
_BROAD = frozenset({"Exception", "BaseException"})
_LEFT_OUT = frozenset({"ctx", "op", "ops", "type_comment", "kind", "id", "attr", "conversion", "level", "type_params"})
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(field for field in kind._fields if field not in _LEFT_OUT)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


class Scope:
    """A namespace: a module, class, function or comprehension."""

    __slots__ = ("aliases", "bound", "imports", "is_class", "parent")

    def __init__(self, parent: int, *, is_class: bool = False) -> None:
        self.parent = parent
        self.is_class = is_class
        self.imports: dict[str, str] = {}
        self.bound: dict[str, int] = {}
        self.aliases: dict[str, tuple[Chain, bool]] = {}
        """Names bound once to a dotted name, or (true) to what a call of it returns."""


class Syntax:
    """What one walk found. Each use is (chain, scope, flags, node).

    Each import is (dotted name, module, flags, name's node, statement); the module of ``import a.b`` is ``a.b``.
    """

    __slots__ = ("attributes", "calls", "defined", "imports", "scopes", "strings", "uses")

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.imports: list[tuple[str, str, int, ast.alias, ast.stmt]] = []
        self.uses: list[tuple[Chain, int, int, ast.Attribute]] = []
        self.calls: list[tuple[Chain, int, int, ast.Call]] = []
        self.attributes: list[tuple[str, int, int, ast.Attribute]] = []
        self.defined: set[str] = set()
        self.strings: list[ast.Constant] = []


def read(tree: ast.AST, attributes: frozenset[str] = frozenset(), *, strings: bool = False) -> Syntax:
    """Return what a module has; ``attributes`` are names to look for behind any expression."""
    return _Walk(attributes, strings=strings).run(tree)


def chain_of(node: ast.AST) -> Chain | None:
    """Return the parts of a dotted name, ``None`` for any other expression."""
    parts = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    parts.append(node.id)
    parts.reverse()
    return tuple(parts)


class _Walk:
    def __init__(self, attributes: frozenset[str], *, strings: bool) -> None:
        self.watched = attributes
        self.found = Syntax()
        self.stack: list[tuple[ast.AST, int, int]] = []
        self.special: dict[type[ast.AST], Any] = {
            ast.Name: self.name, ast.Attribute: self.attribute, ast.Call: self.call, ast.Constant: self.nothing,
            ast.FunctionDef: self.function, ast.AsyncFunctionDef: self.function, ast.Lambda: self.function,
            ast.ClassDef: self.a_class, ast.Import: self.an_import, ast.ImportFrom: self.import_from,
            ast.Assign: self.assign, ast.AnnAssign: self.annotated, ast.Try: self.a_try, ast.If: self.test,
            ast.IfExp: self.test, ast.BoolOp: self.bool_op, ast.ListComp: self.comprehension,
            ast.SetComp: self.comprehension, ast.DictComp: self.comprehension, ast.GeneratorExp: self.comprehension,
            ast.ExceptHandler: self.handler,
        }  # fmt: skip
        if strings:
            self.special[ast.Constant] = self.string
        if hasattr(ast, "TryStar"):
            self.special[ast.TryStar] = self.a_try

    def run(self, tree: ast.AST) -> Syntax:
        found, stack, special, fields = self.found, self.stack, self.special, _FIELDS
        found.scopes.append(Scope(-1))
        stack.append((tree, 0, 0))
        node_type = ast.AST
        while stack:
            node, scope, flags = stack.pop()
            visit = special.get(type(node))
            if visit is not None:
                visit(node, scope, flags)
                continue
            for field in fields[type(node)]:
                value = getattr(node, field, None)
                if type(value) is list:
                    for item in value:
                        if isinstance(item, node_type):
                            stack.append((item, scope, flags))
                elif isinstance(value, node_type):
                    stack.append((value, scope, flags))
        special.clear()  # its methods hold this walk: a circle, which would keep the whole tree until a collection
        return found

    def push(self, nodes: Any, scope: int, flags: int) -> None:
        """Put nodes, some of which may be absent, on the stack."""
        self.stack.extend([(node, scope, flags) for node in nodes if node is not None])

    def nothing(self, node: ast.Constant, _scope: int, _flags: int) -> None:
        """Pass over a constant."""

    def string(self, node: ast.Constant, _scope: int, _flags: int) -> None:
        if type(node.value) is str:
            self.found.strings.append(node)

    def bind(self, name: str, scope: int) -> None:
        bound = self.found.scopes[scope].bound
        bound[name] = bound.get(name, 0) + 1

    def name(self, node: ast.Name, scope: int, _flags: int) -> None:
        if type(node.ctx) is ast.Store:
            self.bind(node.id, scope)

    def attribute(self, node: ast.Attribute, scope: int, flags: int) -> None:
        parts: list[str] = []
        inner: ast.AST = node
        while type(inner) is ast.Attribute:
            parts.append(inner.attr)
            inner = inner.value
        if type(inner) is ast.Name:
            parts.append(inner.id)
            parts.reverse()
            self.found.uses.append((tuple(parts), scope, flags, node))
            return
        if not self.watched.isdisjoint(parts):
            self.found.attributes.extend((part, scope, flags, node) for part in parts if part in self.watched)
        self.stack.append((inner, scope, flags))

    def call(self, node: ast.Call, scope: int, flags: int) -> None:
        chain = chain_of(node.func)
        if chain is not None:
            self.found.calls.append((chain, scope, flags, node))
            if len(chain) == 1 and chain[0] in {"isinstance", "issubclass"}:
                flags |= PASSIVE
        self.stack.append((node.func, scope, flags))
        self.push(node.args, scope, flags)
        self.push([keyword.value for keyword in node.keywords], scope, flags)

    def function(self, node: ast.FunctionDef | ast.Lambda, scope: int, flags: int) -> None:
        inner = self.scope(scope)
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.push(arguments.defaults, scope, flags)
        self.push(arguments.kw_defaults, scope, flags)
        for argument in every:
            if argument is not None:
                self.bind(argument.arg, inner)
                annotation = argument.annotation
                if annotation is not None:
                    self.stack.append((annotation, scope, flags | PASSIVE))
                    self.alias(argument.arg, annotation, inner, made=True)
        if isinstance(node, ast.Lambda):
            self.stack.append((node.body, inner, flags))
            return
        self.bind(node.name, scope)
        self.found.defined.add(node.name)
        self.push(node.decorator_list, scope, flags)
        self.push([node.returns], scope, flags | PASSIVE)
        self.push(node.body, inner, flags)

    def a_class(self, node: ast.ClassDef, scope: int, flags: int) -> None:
        self.bind(node.name, scope)
        self.push(node.decorator_list, scope, flags)
        self.push(node.bases, scope, flags)
        self.push([keyword.value for keyword in node.keywords], scope, flags)
        self.push(node.body, self.scope(scope, is_class=True), flags)

    def comprehension(self, node: Any, scope: int, flags: int) -> None:
        inner = self.scope(scope)
        for field in _FIELDS[type(node)]:
            value = getattr(node, field)
            self.push(value if isinstance(value, list) else [value], inner, flags)

    def scope(self, parent: int, *, is_class: bool = False) -> int:
        self.found.scopes.append(Scope(parent, is_class=is_class))
        return len(self.found.scopes) - 1

    def an_import(self, node: ast.Import, scope: int, flags: int) -> None:
        for alias in node.names:
            self.found.imports.append((alias.name, alias.name, flags, alias, node))
            first = alias.name.partition(".")[0]
            self.found.scopes[scope].imports[alias.asname or first] = alias.name if alias.asname else first

    def import_from(self, node: ast.ImportFrom, scope: int, flags: int) -> None:
        for alias in node.names:
            if node.level or not node.module:
                self.bind(alias.asname or alias.name, scope)  # a relative import is the project's own
                continue
            if alias.name == "*":
                self.found.imports.append((node.module, node.module, flags, alias, node))
                continue
            dotted = f"{node.module}.{alias.name}"
            self.found.imports.append((dotted, node.module, flags, alias, node))
            self.found.scopes[scope].imports[alias.asname or alias.name] = dotted

    def assign(self, node: ast.Assign, scope: int, flags: int) -> None:
        self.push(node.targets, scope, flags)
        self.stack.append((node.value, scope, flags))
        if len(node.targets) == 1 and type(node.targets[0]) is ast.Name:
            self.alias(node.targets[0].id, node.value, scope)

    def annotated(self, node: ast.AnnAssign, scope: int, flags: int) -> None:
        self.push([node.target, node.value], scope, flags)
        self.stack.append((node.annotation, scope, flags | PASSIVE))
        if type(node.target) is ast.Name:
            self.alias(node.target.id, node.annotation, scope, made=True)

    def alias(self, name: str, value: ast.AST, scope: int, *, made: bool = False) -> None:
        """Remember that a name stands for a dotted name, or for what it makes."""
        if type(value) is ast.Call:
            value, made = value.func, True
        chain = chain_of(value)
        if chain is not None and chain != (name,):
            self.found.scopes[scope].aliases[name] = (chain, made)

    def a_try(self, node: ast.Try, scope: int, flags: int) -> None:
        caught = {name for handler in node.handlers for name in _caught(handler)}
        if caught & _MISSING:
            self.push(node.body, scope, flags | GUARDED)
            for handler in node.handlers:
                inner = flags | GUARDED if _caught(handler) & _MISSING else flags
                self.stack.append((handler, scope, inner))
        else:
            # A broad net round a whole program is no readiness; round an import it is.
            broad = bool(caught & _BROAD)
            for statement in node.body:
                ready = broad and isinstance(statement, (ast.Import, ast.ImportFrom))
                self.stack.append((statement, scope, flags | GUARDED if ready else flags))
            self.push(node.handlers, scope, flags)
        self.push(node.orelse, scope, flags)
        self.push(node.finalbody, scope, flags)

    def handler(self, node: ast.ExceptHandler, scope: int, flags: int) -> None:
        if node.name:
            self.bind(node.name, scope)
        self.push([node.type], scope, flags)
        self.push(node.body, scope, flags)

    def test(self, node: ast.If | ast.IfExp, scope: int, flags: int) -> None:
        inner = flags | TESTED if _asks_for_presence(node.test) else flags
        self.stack.append((node.test, scope, inner))
        for part in (node.body, node.orelse):
            self.push(part if isinstance(part, list) else [part], scope, inner)

    def bool_op(self, node: ast.BoolOp, scope: int, flags: int) -> None:
        ready = any(_asks_for_presence(value) for value in node.values)
        self.push(node.values, scope, flags | TESTED if ready else flags)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    chains = [chain_of(one) for one in types]
    return {chain[-1] for chain in chains if chain is not None}


def _asks_for_presence(test: ast.expr) -> bool:
    """Tell whether a test asks whether a name is there, or for a version of 2.0 or newer.

    Whoever asks for torch 1.6 thought of what came then, and of nothing that any rule is about.
    """
    if type(test) in {ast.Name, ast.Attribute, ast.Constant}:
        chain = chain_of(test)
        return chain is not None and _NAMED_VERSION.search(chain[-1]) is not None
    asks = False
    versions: list[int] = []
    for node in ast.walk(test):
        if type(node) is ast.Name:
            name = node.id
        elif type(node) is ast.Attribute:
            name = node.attr
        else:
            if type(node) is ast.Constant and type(node.value) is str and _VERSION.match(node.value):
                versions.append(int(node.value.partition(".")[0]))
            elif type(node) is ast.Tuple and node.elts and type(node.elts[0]) is ast.Constant:
                major = node.elts[0].value
                versions += [major] if type(major) is int else []
            continue
        if name == "hasattr":
            return True
        asks = asks or _NAMED_VERSION.search(name) is not None
    return asks and (not versions or max(versions) > 1)
