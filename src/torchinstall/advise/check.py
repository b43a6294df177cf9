"""One Python module against the rules: names are followed to their import, nothing is run."""

from __future__ import annotations

import ast
import re
import warnings

from torchinstall.advise.resolve_names import Names
from torchinstall.advise.syntax import GUARDED, PASSIVE, TESTED, Syntax, chain_of, read
from torchinstall.model.advice import BEHAVIOR, INFO, WARNING, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torchinstall.advise.span import Active
    from torchinstall.advise.table import Table
    from torchinstall.model.advice import Migration

_FAMILY = re.compile(r"(?:func)?torch(?:vision|audio|text|data|_npu)?(?:\.|$)")
_PYTHON_2 = re.compile(
    r"Missing parentheses in call to|exception types must be parenthesized|leading zeros in decimal|<>"
)
_COMMENT = re.compile(rb"#\s*torchinstall:\s*ignore(-file)?(?:\s*\[([^\]]*)\])?(?![\w-])")


class UnreadableError(ValueError):
    """A file isn't Python 3; the text says where and why."""


def parse(source: bytes | str, name: str) -> ast.Module:
    """Return the syntax tree. Raises ``UnreadableError`` for what isn't Python 3, or too deeply nested."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(source, name, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        text = error.msg or "invalid syntax"
        kind = "is Python 2" if _PYTHON_2.search(text) else "doesn't parse as Python 3"
        raise UnreadableError(f"{kind} (line {error.lineno or 0}: {text})") from None
    except (RecursionError, MemoryError):
        raise UnreadableError("is nested too deeply to be parsed") from None
    except ValueError as error:
        raise UnreadableError(f"doesn't parse as Python 3 ({error})") from None
    assert isinstance(tree, ast.Module)  # noqa: S101 - what ONLY_AST and "exec" give
    return tree


def check(tree: ast.Module, file: str, table: Table, *, strings: bool = False) -> list[Finding]:
    """Return the findings of one module, in the order of its lines. ``strings``: look into string constants too."""
    syntax = read(tree, table.watched, strings=strings and bool(table.strings))
    if not any(_FAMILY.match(dotted) for dotted, *_ in syntax.imports):
        return []
    check = _Check(syntax, file, table)
    check.imports()
    check.uses()
    check.calls()
    check.attributes()
    check.strings()
    return sorted(check.found.values(), key=lambda finding: (finding.line, finding.column, finding.rule))


def silenced(findings: Iterable[Finding], comments: Comments) -> tuple[list[Finding], int]:
    """Return the findings without those that a comment says to ignore, and the number of those."""
    given = list(findings)
    kept = [finding for finding in given if not comments.silence(finding)]
    return kept, len(given) - len(kept)


class Comments:
    """The ``# torchinstall: ignore`` comments of a file: on a line, or (``ignore-file``) for all of it."""

    def __init__(self, source: bytes) -> None:
        self._lines: dict[int, frozenset[str]] = {}
        self._file: frozenset[str] | None = None
        if b"torchinstall:" not in source:
            return
        for number, line in enumerate(source.splitlines(), start=1):
            match = _COMMENT.search(line)
            if match is None:
                continue
            rules = frozenset(part.strip().upper() for part in (match[2] or b"").decode("ascii", "replace").split(","))
            rules -= {""}
            if match[1]:
                self._file = rules if self._file is None else self._file | rules
            else:
                self._lines[number] = rules

    def silence(self, finding: Finding) -> bool:
        """Tell whether a finding is to be ignored; a comment without rules is about all of them."""
        if self._file is not None and (not self._file or finding.rule in self._file):
            return True
        rules = self._lines.get(finding.line)
        return rules is not None and (not rules or finding.rule in rules)


class _Check:
    def __init__(self, syntax: Syntax, file: str, table: Table) -> None:
        self.syntax = syntax
        self.file = file
        self.table = table
        self.names = Names(syntax)
        self.found: dict[tuple[str, int, int], Finding] = {}

    def add(self, active: Active, seen: str, flags: int, node: ast.AST) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        key = (active.rule.id, line, column)
        if key not in self.found:
            self.found[key] = finding(active, self.file, line, column, seen, flags)

    def imports(self) -> None:
        table = self.table
        for dotted, module, flags, alias, statement in self.syntax.imports:
            for index in (table.names, table.imports):
                for active, part in index.match(dotted):
                    # A module that is gone is told once a statement, a name of it at the name.
                    whole = module == part or module.startswith(part + ".")
                    self.add(active, part if whole else dotted, flags, statement if whole else alias)

    def uses(self) -> None:
        match = self.table.names.match
        for chain, scope, flags, node in self.syntax.uses:
            dotted = self.names.dotted(chain, scope)
            if dotted is not None:
                for active, _ in match(dotted):
                    self.add(active, dotted, flags, node)

    def calls(self) -> None:
        match = self.table.calls.match
        for chain, scope, flags, node in self.syntax.calls:
            dotted = self.names.dotted(chain, scope)
            if dotted is None:
                continue
            for active, part in match(dotted):
                rule = active.rule
                exact = part == dotted or any(name.endswith(".*") for name in rule.names)
                if exact and _fits(rule, node):
                    self.add(active, dotted, flags, node)

    def attributes(self) -> None:
        table = self.table
        if not table.watched:
            return
        for chain, scope, flags, node in self.syntax.uses:
            if table.watched.isdisjoint(chain):
                continue
            root = self.names.root(chain[0], scope)
            foreign = root is not None and not _FAMILY.match(root)
            own = len(chain) == 2 and chain[0] in {"self", "cls"}  # noqa: PLR2004 - self.name
            if not (foreign or own):
                for part in chain[1:]:
                    self.attribute(part, flags, node)
            if len(chain) == 2 and self.names.maker(chain[0], scope) is not None:  # noqa: PLR2004 - name.method
                self.method(chain[1], self.names.maker(chain[0], scope), flags, node)
        for part, scope, flags, node in self.syntax.attributes:
            self.attribute(part, flags, node)
            if part in table.methods:
                maker = _made_by(node, part)
                self.method(part, self.names.dotted(maker, scope) if maker else None, flags, node)

    def attribute(self, name: str, flags: int, node: ast.Attribute) -> None:
        if name in self.syntax.defined or type(node.ctx) is not ast.Load:
            return
        for active in self.table.attributes.get(name, ()):
            self.add(active, f".{name}", flags, node)

    def method(self, name: str, maker: str | None, flags: int, node: ast.Attribute) -> None:
        for active in self.table.methods.get(name, ()):
            if maker in active.rule.receivers:
                self.add(active, f"Tensor.{name}", flags, node)

    def strings(self) -> None:
        for pattern, active in self.table.strings:
            names = active.rule.names
            if not any(dotted.startswith(name) for dotted, *_ in self.syntax.imports for name in names):
                continue
            for constant in self.syntax.strings:
                match = pattern.search(str(constant.value))
                if match:
                    self.add(active, match[0], 0, constant)


def finding(active: Active, file: str, line: int, column: int, seen: str, flags: int = 0) -> Finding:
    """Return the finding of a rule at a place; what is guarded, or only looked at, is worth knowing and no more."""
    rule, change = active.rule, active.change
    # What still works, but otherwise, raises no ImportError.
    guarded = bool(flags & TESTED) or (bool(flags & GUARDED) and change.severity != BEHAVIOR)
    mild = guarded or (bool(flags & PASSIVE) and change.severity == WARNING)
    return Finding(
        rule=rule.id,
        severity=INFO if mild else change.severity,
        file=file,
        line=line,
        column=column,
        seen=seen,
        text=change.text,
        since="" if change.since == "0" else change.since,
        replacement=rule.replacement,
        link=rule.link,
        guarded=guarded,
    )


def _fits(rule: Migration, node: ast.Call) -> bool:
    keywords = {keyword.arg for keyword in node.keywords}
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if rule.detect == "call-with":
        return rule.keyword in keywords
    if rule.detect == "call-positional":
        return not starred and len(node.args) > rule.positional
    if rule.detect == "call-without":
        # What ** or * may bring can't be seen.
        if rule.keyword in keywords or None in keywords or starred:
            return False
        return rule.argument is None or _argument_fits(rule.argument, node)
    return True


def _argument_fits(argument: Mapping[str, object], node: ast.Call) -> bool:
    """Tell whether an argument matches its pattern; one that isn't given, or isn't a plain text, may."""
    position = argument["position"]
    value = next((keyword.value for keyword in node.keywords if keyword.arg == argument["name"]), None)
    if value is None and isinstance(position, int) and position < len(node.args):
        value = node.args[position]
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return True
    return re.search(str(argument["pattern"]), value.value) is not None


def _made_by(node: ast.AST, part: str) -> tuple[str, ...] | None:
    while isinstance(node, ast.Attribute):
        if node.attr == part and isinstance(node.value, ast.Call):
            return chain_of(node.value.func)
        node = node.value
    return None
