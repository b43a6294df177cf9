"""Where in the source sentences for people begin: what ``collected`` is asked to read."""

from __future__ import annotations

import ast
from functools import cache

from output.collected import Module, Reader, error_classes, modules, plain

TEXT = {"error", "what", "why", "cause", "remedy", "question", "text"}
LISTS = {"todo", "evidence", "notes"}
CALLS = {"Finding", "from_text", "Verdict", "Line", "Reason", "Change", "Page", "Skipped", "replace"}
FIRST = {"UnreadableError", "RemoteWheelError", "NotAnIndexPage"}
"""Exceptions whose one argument is the sentence."""
LATER = {"skip": 1, "change": 2}
"""Methods that are given a sentence, and the place of it."""
HEARD = {"tell", "ask", "note", "in_words"}
RETURNED: dict[str, tuple[str, ...]] = {
    "app/around.py": ("beforehand", "_listed"),
    "install/journal.py": ("words",),
    "app/export.py": ("_notes", "_of_lock"),
    "app/install.py": ("risks",),
    "app/missing.py": ("words",),
    "app/sync.py": ("found", "_locked", "_lock"),
    "catalog/observe.py": ("_strange",),
    "catalog/update.py": ("why_kept_out",),
    "diagnose/environment.py": ("_way_out",),
    "diagnose/rules_driver.py": ("_minimum", "_needed"),
    "diagnose/rules_missing.py": ("_held_back",),
    "diagnose/say.py": ("take", "evidence"),
    "export/project.py": ("pythons_without_wheels",),
    "install/backend.py": ("words",),
    "install/caution.py": ("lock_manager", "path_too_long", "broken_by"),
    "install/records.py": ("words",),
    "probe/container.py": ("build_marks", "_kind"),
    "probe/nvidia_state.py": ("device_notes", "libcuda_note", "driver_state"),
    "probe/process.py": ("ending",),
    "verify/judge.py": ("_warnings", "_end"),
    "verify/survey.py": ("_half",),
}
"""Functions that hand back sentences which other modules say."""
TABLES: dict[str, tuple[str, ...]] = {
    "cli/common.py": ("STOPPED", "GO_AHEAD"),
    "diagnose/guess.py": ("WHICH_CARD",),
    "diagnose/rules_driver.py": ("_STATES", "_OTHER_STATES"),
    "diagnose/rules_vendor.py": ("_AMD_INDEX",),
    "diagnose/rules_wheel.py": ("_KINDS",),
    "output/text.py": ("UNDETERMINED_TODO", "UNREACHABLE_TODO"),
    "probe/nvidia_state.py": ("_CUDA_CODES",),
    "verify/judge.py": ("_UNASKED", "_NOT_ASKED", "_WINDOWS_CRASHES"),
    "verify/sentences.py": ("SENTENCES",),
}
"""Tables of sentences at the top of a module."""


def _arguments(node: ast.Call, *places: str) -> dict[str, ast.expr]:
    given = {word.arg: word.value for word in node.keywords if word.arg}
    return {**dict(zip(places, node.args, strict=False)), **given}


def _of_call(module: Module, node: ast.Call, reader: Reader) -> list[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    owner = module.owner.get(node)
    own = name == "__init__" and owner is not None and owner.name in error_classes()
    found: list[str] = []
    if name in error_classes() or own:
        given = _arguments(node, "what")
    elif name in CALLS:
        given = _arguments(node)
    elif name in FIRST:
        given = _arguments(node, "what")
    elif name in LATER and len(node.args) == LATER[name] + 1:
        given = {"text": node.args[-1]}
    elif name == "section":
        given = {"text": node.args[0], "todo": node.args[1]}
    elif name in HEARD and node.args:
        found += reader.lists(node.args[0]) or reader.texts(node.args[0]) or []
        given = {}
    else:
        given = {}
    for key, value in given.items():
        if key in TEXT:
            found += reader.texts(value) or []
        elif key in LISTS:
            found += reader.lists(value)
    return found


def _of_dict(node: ast.Dict, reader: Reader) -> list[str]:
    found: list[str] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value in TEXT - {"text"}:
            found += reader.texts(value) or []
        elif isinstance(key, ast.Constant) and key.value in LISTS - {"notes"}:
            found += reader.lists(value)
    return found


def _of_table(module: Module, name: str, reader: Reader) -> list[str]:
    found: list[str] = []
    for value in module.constants[name]:
        for node in ast.walk(value):
            if isinstance(node, ast.Dict):
                texts = [text for one in node.values for text in [*reader.lists(one), *(reader.texts(one) or [])]]
                found += texts
            elif isinstance(node, (ast.Tuple, ast.List)):
                found += reader.lists(node)
        found += reader.texts(value) or []
    return [plain(text.replace("{{", "{").replace("}}", "}")) for text in found]


OWN_TABLES = ("output/advice.py", "output/explain.py", "output/text.py")
"""Modules whose lines have their words in ``phrases_zh`` and ``advice_zh``."""


@cache
def sentences() -> dict[str, str]:
    """Return every template in the source with where it stands."""
    found: dict[str, str] = {}
    for name, module in modules().items():
        if name.startswith(("export/_", "verify/_")):
            continue
        for table in TABLES.get(name, ()):
            for text in _of_table(module, table, Reader(module)):
                found.setdefault(text, f"{name}:{table}")
        if name in OWN_TABLES:
            continue
        for node in ast.walk(module.tree):
            reader = Reader(module)
            texts: list[str] = []
            if isinstance(node, ast.Call):
                texts = _of_call(module, node, reader)
            elif isinstance(node, ast.Dict):
                texts = _of_dict(node, reader)
            elif isinstance(node, ast.FunctionDef) and node.name in RETURNED.get(name, ()):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and inner.value is not None:
                        texts += reader.texts(inner.value) or reader.lists(inner.value)
            for text in [*texts, *reader.words]:
                found.setdefault(text, f"{name}:{getattr(node, 'lineno', 0)}")
    return found
