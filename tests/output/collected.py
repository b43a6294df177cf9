"""Every sentence for people that stands in the source, read from its syntax trees.

A sentence comes out as a template: ``{}`` for each field of an f-string. Alternatives inside one (``'s' if n else ''``)
are spelled out where they are few; what stands in a field and is a text of ours comes out as a sentence of its own.
"""

from __future__ import annotations

import ast
import itertools
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "torchinstall"
MOST = 8
"""Alternatives that are spelled out inside one sentence; of more, each is a text of its own."""
DEEP = 6
HOLE = "{}"
NAMED = re.compile(r"\{\w*(?:[.\[][^{}]*)?(?:![rsa])?(?::[^{}]*)?\}")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """One module's tree, with its functions and the constants at its top."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(PACKAGE).as_posix()
        self.tree = ast.parse(path.read_text("utf-8"))
        self.inside: dict[ast.AST, Function | None] = {}
        self.owner: dict[ast.AST, ast.ClassDef | None] = {}
        self.functions: dict[str, list[Function]] = {}
        self._walk(self.tree, None, None)
        self.constants = _assigned(self.tree.body)
        self.imported = {
            alias.asname or alias.name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchinstall")
            for alias in node.names
        }

    def _walk(self, node: ast.AST, function: Function | None, owner: ast.ClassDef | None) -> None:
        for child in ast.iter_child_nodes(node):
            self.inside[child] = function
            self.owner[child] = owner
            if isinstance(child, Function):
                self.functions.setdefault(child.name, []).append(child)
                self._walk(child, child, owner)
            else:
                self._walk(child, function, child if isinstance(child, ast.ClassDef) else owner)


def _assigned(body: list[ast.stmt]) -> dict[str, list[ast.expr]]:
    """Return what names are bound to in some statements, nested blocks included."""
    found: dict[str, list[ast.expr]] = {}

    def bind(target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            for one, other in zip(target.elts, value.elts, strict=False):
                bind(one, other)
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.IfExp):
            bind(target, value.body)
            bind(target, value.orelse)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                bind(one, ast.Name(id="?", ctx=ast.Load()))  # nothing is known of it

    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    bind(target, node.value)
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                bind(node.target, node.value)
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in {"append", "extend"}
                and isinstance(node.func.value, ast.Name)
                and node.args
            ):
                listed = node.args[0] if node.func.attr == "extend" else ast.List(elts=[node.args[0]], ctx=ast.Load())
                found.setdefault(node.func.value.id, []).append(listed)
    return found


@cache
def modules() -> dict[str, Module]:
    return {module.name: module for module in (Module(path) for path in sorted(PACKAGE.rglob("*.py")))}


@cache
def functions() -> dict[str, list[tuple[Module, Function]]]:
    found: dict[str, list[tuple[Module, Function]]] = {}
    for module in modules().values():
        for name, some in module.functions.items():
            found.setdefault(name, []).extend((module, one) for one in some)
    return found


@cache
def error_classes() -> frozenset[str]:
    names = {"TorchInstallError"}
    classes = [n for module in modules().values() for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef)]
    before = 0
    while before != len(names):
        before = len(names)
        names |= {c.name for c in classes if any(isinstance(b, ast.Name) and b.id in names for b in c.bases)}
    return frozenset(names)


def plain(text: str) -> str:
    """Return a ``str.format`` template with every field written ``{}``."""
    return NAMED.sub(HOLE, text)


class Reader:
    """Evaluates expressions of one module to the templates that they can become."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.words: set[str] = set()

    def texts(self, node: ast.expr, deep: int = 0) -> list[str] | None:
        """Return the templates of one text; ``None`` where it can't be known."""
        if deep > DEEP:
            return None
        if isinstance(node, ast.Constant):
            return [node.value.replace("{", "{{").replace("}", "}}")] if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return self._product([self._part(part, deep) for part in node.values])
        if isinstance(node, ast.IfExp):
            return self._either([node.body, node.orelse], deep)
        if isinstance(node, ast.BoolOp):
            return self._either(node.values, deep)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._product([self._hole(node.left, deep), self._hole(node.right, deep)])
        if isinstance(node, ast.Name):
            values = self._values(node)
            return self._either(values, deep) if values else None
        if isinstance(node, ast.NamedExpr):
            return self.texts(node.value, deep + 1)
        if isinstance(node, ast.Subscript):
            listed = self.lists(node.value, deep + 1) if isinstance(node.value, ast.Name) else []
            return self._table(node.value, deep) or listed or None
        if isinstance(node, ast.Call):
            return self._call(node, deep)
        return None

    def lists(self, node: ast.expr | None, deep: int = 0) -> list[str]:
        """Return the templates of all texts of a list."""
        if node is None or deep > DEEP:
            return []
        found: list[str] = []
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for one in node.elts:
                if isinstance(one, ast.Starred):
                    found += self.lists(one.value, deep + 1)
                else:
                    found += self.texts(one, deep) or self.lists(one, deep + 1)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            found += self.texts(node.elt, deep + 1) or self.lists(node.elt, deep + 1)
        elif isinstance(node, ast.Subscript):
            found += self.lists(node.value, deep + 1)
        elif isinstance(node, ast.IfExp):
            found += [*self.lists(node.body, deep + 1), *self.lists(node.orelse, deep + 1)]
        elif isinstance(node, ast.BoolOp):
            found += [text for one in node.values for text in self.lists(one, deep + 1)]
        elif isinstance(node, ast.BinOp):
            found += [*self.lists(node.left, deep + 1), *self.lists(node.right, deep + 1)]
        elif isinstance(node, ast.Name):
            found += [text for one in self._values(node) for text in self.lists(one, deep + 1)]
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in {"tuple", "list", "sorted", "set", "fromkeys"} and node.args:
                return self.lists(node.args[0], deep + 1)
            for module, function in self._called(node):
                reader = Reader(module)
                for value in _returned(function):
                    found += reader.lists(value, deep + 1)
                self.words |= reader.words
        elif isinstance(node, (ast.Constant, ast.JoinedStr)):
            found += self.texts(node, deep) or []
        return found

    def _part(self, part: ast.expr, deep: int) -> list[str]:
        if isinstance(part, ast.FormattedValue):
            return self._hole(part.value, deep)
        return self.texts(part, deep) or [HOLE]

    def _hole(self, node: ast.expr, deep: int) -> list[str]:
        """Return what stands in a field: alternatives of ours, or a field whose words are noted."""
        inline = isinstance(node, (ast.IfExp, ast.Constant, ast.JoinedStr, ast.BinOp, ast.Name, ast.BoolOp))
        texts = self.texts(node, deep + 1)
        if texts is None:
            self._joined(node, deep)
            return [HOLE]
        if inline and len(texts) <= MOST // 2:
            return texts
        self.words.update(texts)
        return [HOLE]

    def _joined(self, node: ast.expr, deep: int) -> None:
        """Note the words that ``", ".join`` puts into a field."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "join"
            and node.args
        ):
            self.words.update(self.lists(node.args[0], deep + 1))

    def _product(self, parts: list[list[str]]) -> list[str]:
        while len(list(itertools.islice(itertools.product(*parts), MOST + 1))) > MOST:
            longest = max(range(len(parts)), key=lambda n: len(parts[n]))
            self.words.update(parts[longest])
            parts[longest] = [HOLE]
        return ["".join(one) for one in itertools.product(*parts)]

    def _either(self, nodes: list[ast.expr], deep: int) -> list[str] | None:
        found: list[str] = []
        known = False
        for node in nodes:
            texts = self.texts(node, deep + 1)
            known = known or texts is not None
            none = isinstance(node, ast.Constant) and not isinstance(node.value, str)
            found += texts if texts is not None else [] if none else [HOLE]
        return list(dict.fromkeys(found)) if known else None

    def _values(self, node: ast.Name) -> list[ast.expr]:
        """Return what a name is bound to: in its function, in those around it, or at the module's top."""
        function = self.module.inside.get(node)
        while function is not None:
            arguments = function.args
            bound = _assigned(function.body).get(node.id, [])
            if bound:
                return [value for value in bound if node not in ast.walk(value)]
            names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
            if node.id in names or node.id in {a.arg for a in arguments.kwonlyargs}:
                return self._given(function, node.id, names)
            function = self.module.inside.get(function)
        if node.id in self.module.constants:
            return self.module.constants[node.id]
        return []

    def _given(self, function: Function, name: str, names: list[str]) -> list[ast.expr]:
        """Return what the callers in this module give for a parameter."""
        found: list[ast.expr] = []
        place = names.index(name) - (names[:1] == ["self"]) if name in names else None
        for call in ast.walk(self.module.tree):
            if not isinstance(call, ast.Call):
                continue
            called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if called != function.name:
                continue
            found += [word.value for word in call.keywords if word.arg == name]
            if place is not None and place < len(call.args):
                found.append(call.args[place])
        return found

    def _table(self, node: ast.expr, deep: int) -> list[str] | None:
        """Return the texts of a dictionary that stands in the source."""
        tables = [node] if isinstance(node, ast.Dict) else self._values(node) if isinstance(node, ast.Name) else []
        found: list[str] = []
        for table in tables:
            if isinstance(table, ast.Dict):
                for value in table.values:
                    found += self.texts(value, deep + 1) or []
        return found or None

    def _call(self, node: ast.Call, deep: int) -> list[str] | None:
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "format":
                texts = self.texts(node.func.value, deep + 1)
                return [plain(text.replace("{{", "{").replace("}}", "}")) for text in texts] if texts else None
            if node.func.attr == "get":
                table = self._table(node.func.value, deep) or []
                default = self.texts(node.args[1], deep + 1) if len(node.args) > 1 else None
                return [*table, *(default or [])] if table else None
            if node.func.attr in {"strip", "rstrip", "removesuffix"}:
                return self.texts(node.func.value, deep + 1)
            if (
                node.func.attr == "replace"
                and len(node.args) == 2
                and all(isinstance(one, ast.Constant) for one in node.args)
            ):
                old, new = (str(one.value) for one in node.args if isinstance(one, ast.Constant))
                texts = self.texts(node.func.value, deep + 1)
                return [text.replace(old, new) for text in texts] if texts else None
        found: list[str] = []
        for module, function in self._called(node):
            reader = Reader(module)
            found += reader._either(_returned(function), deep) or []
            self.words |= reader.words
        return found or None

    def _called(self, node: ast.Call) -> list[tuple[Module, Function]]:
        if isinstance(node.func, ast.Name):
            if node.func.id in self.module.functions:
                return [(self.module, one) for one in self.module.functions[node.func.id]]
            if node.func.id in self.module.imported:
                return functions().get(node.func.id, [])
            return []
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "self"
        ):
            return [(self.module, one) for one in self.module.functions.get(node.func.attr, [])]
        return []


def _returned(function: Function) -> list[ast.expr]:
    """Return what a function hands back or yields, functions inside it left out."""
    found: list[ast.expr] = []

    def walk(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (*Function.__args__, ast.Lambda)):  # type: ignore[attr-defined]
                continue
            if (isinstance(child, (ast.Return, ast.Yield)) and child.value is not None) or isinstance(
                child, ast.YieldFrom
            ):
                found.append(child.value)
            walk(child)

    walk(function)
    return found
