"""How names are followed: aliases, scopes, guards, comments; and what only looks like torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchinstall.advise.check import Comments, UnreadableError, check, parse, silenced
from torchinstall.advise.table import Table
from torchinstall.model.advice import Finding

Scan = Callable[..., list[Finding]]


@pytest.fixture
def scan(table: Callable[..., Table]) -> Scan:
    def scan(code: str, **more: object) -> list[Finding]:
        return check(parse(code, "example.py"), "example.py", table(**more))

    return scan


def rules(findings: list[Finding]) -> list[str]:
    return [finding.rule for finding in findings]


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntorch.jit.script(f)",
        "import torch as t\nt.jit.script(f)",
        "import torch.jit\ntorch.jit.script(f)",
        "import torch.jit as j\nj.script(f)",
        "from torch import jit\njit.script(f)",
        "from torch import jit as j\n@j.script\ndef f(): pass",
        "from torch.jit import script",
        "from torch.jit import script as s",
        "def f():\n    import torch\n    return torch.jit.script",
        "import torch\nj = torch.jit\nj.script(f)",
        "import torch\nclass A:\n    def m(self):\n        return torch.jit.script(self)",
        "import torch\n[torch.jit.script(f) for f in fs]",
        "import torch\nx = lambda f: torch.jit.script(f)",
        "async def f():\n    import torch\n    await g(torch.jit.script(f))",
        "import torch\nmatch x:\n    case torch.jit.script: pass",
        "from torch.jit import script\ndef script(f): return f",
    ],
)
def test_a_name_is_followed_to_its_import(scan: Scan, code: str) -> None:
    assert rules(scan(code)) == ["TS001"]


@pytest.mark.parametrize(
    "code",
    [
        "import torchlike as torch\ntorch.jit.script(f)",
        "from .torch import jit\njit.script(f)",
        "from . import torch\ntorch.jit.script(f)",
        "from mine import torch\ntorch.jit.script(f)",
        "import torch\ndef f(torch): return torch.jit.script(g)",
        "import torch\nlambda torch: torch.jit.script(g)",
        "import torch\n[torch.jit.script for torch in mine]",
        "import torch\ndef f():\n    torch = mine()\n    torch.jit.script(g)",
        "import torch\nself.torch.jit.script(g)",
        "import torch\ntorch.jit.script_if_tracing(g)",
        "import torch\ntorch.jitter.script(g)",
        "import torch\n'torch.jit.script(f)'  # torch.jit.script(f)",
        "class A:\n    from torch import jit\n    def m(self): return jit.script(self)",
        "import numpy as np\nnp.load('x')\njit.script(f)\ntorch_jit_script(f)",
        "import torch\nx = torch.jit\nx = other()\ndef f(): return x.script(g)",
    ],
)
def test_what_is_merely_similar_is_not_told(scan: Scan, code: str) -> None:
    assert rules(scan(code)) == []


def test_a_finding_has_its_place(scan: Scan) -> None:
    (finding,) = scan("import torch\n\nif x:\n    y = (1,\n         torch.load(f))\n", installed="2.5.1", to="2.6.0")
    assert (finding.rule, finding.line, finding.column) == ("LOAD001", 5, 10)
    assert finding.seen == "torch.load"
    assert finding.severity == "behavior"
    assert finding.since == "2.6"
    assert "weights_only" in finding.replacement
    assert finding.link.startswith("https://")


def test_a_module_that_is_gone_is_told_once_a_statement(scan: Scan) -> None:
    code = "from torch.ao.quantization.quantizer import (\n    A,\n    B,\n)\n"
    assert [(f.rule, f.line) for f in scan(code)] == [("Q001", 1)]
    code = "from torch.cuda.amp import (\n    autocast,\n    GradScaler,\n)\n"
    assert [(f.rule, f.line) for f in scan(code)] == [("AMP001", 2), ("AMP002", 3)]


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntry:\n    torch.qr(a)\nexcept AttributeError:\n    pass",
        "try:\n    from torchaudio import info\nexcept ImportError:\n    info = None",
        "try:\n    from torchaudio import info\nexcept Exception:\n    info = None",
        "import torchaudio\nif hasattr(torchaudio, 'info'):\n    torchaudio.info(f)",
        "import torch\nx = torch.qr(a) if TORCH_VERSION < (2, 14) else torch.linalg.qr(a)",
        "import torch\nif Version(torch.__version__) < Version('2.14'):\n    torch.qr(a)",
        "import torchaudio\nhasattr(torchaudio, 'info') and torchaudio.info(f)",
        "try:\n    from torch.linalg import qr\nexcept ImportError:\n    import torch\n    torch.qr(a)",
    ],
)
def test_code_that_is_ready_for_it_is_only_informed(scan: Scan, code: str) -> None:
    findings = scan(code)
    assert findings
    assert {(finding.severity, finding.guarded) for finding in findings} == {("info", True)}


def test_a_net_round_a_whole_program_is_no_guard(scan: Scan) -> None:
    (finding,) = scan("import torch\ntry:\n    torch.qr(a)\nexcept Exception:\n    log()")
    assert (finding.severity, finding.guarded) == ("error", False)


@pytest.mark.parametrize(
    ("code", "guarded"),
    [
        ("import torch\ntry:\n    torch.load(f)\nexcept ModuleNotFoundError:\n    pass", False),
        ("import torch\nif TORCH_VERSION >= (2, 6):\n    pass\nelse:\n    torch.load(f)", True),
        ("import torch\nif V(torch.__version__) >= V('1.6.0'):\n    torch.load(f)", False),
        ("import torch\nif torch_version < (1, 13):\n    torch.load(f)", False),
        ("import torch\nif V(torch.__version__) >= V('2.6'):\n    torch.load(f)", True),
        ("import torch\nif conversion > 3:\n    torch.load(f)", False),
    ],
)
def test_which_questions_are_about_the_change(scan: Scan, code: str, guarded: bool) -> None:
    assert [(finding.rule, finding.guarded) for finding in scan(code)] == [("LOAD001", guarded)]


def test_a_type_check_calls_nothing(scan: Scan) -> None:
    code = "import torch\ndef f(m: torch.jit.ScriptModule): return isinstance(m, torch.jit.ScriptModule)"
    assert {(finding.rule, finding.severity) for finding in scan(code)} == {("TS001", "info")}


@pytest.mark.parametrize(
    ("installed", "to", "severity"),
    [
        ("2.7.0", "2.8.0", "warning"),
        ("2.7.0", "2.10.0", "warning"),
        ("2.7.0", "2.11.0", "error"),
        ("2.8.0", "2.10.0", None),
        ("2.10.0", "2.15.0", "error"),
        ("2.11.0", "2.15.0", None),
        (None, "2.7.1", None),
        (None, "2.9.1", "warning"),
        (None, "2.15.0", "error"),
    ],
)
def test_only_what_lies_between_installed_and_target(
    scan: Scan, installed: str | None, to: str, severity: str | None
) -> None:
    found = scan("import torch.ao.quantization.quantize_pt2e", installed=installed, to=to)
    assert [finding.severity for finding in found] == ([severity] if severity else [])


def test_torchscript_becomes_visible_in_2_14(scan: Scan) -> None:
    code = "import torch\ntorch.jit.trace(m, x)"
    assert "hides" in scan(code, installed="2.9.0", to="2.13.0")[0].text
    assert "shown" in scan(code, installed="2.11.0", to="2.14.1")[0].text
    assert scan(code, installed="2.11.0", to="2.13.0") == []


def test_torchscript_on_python_3_14(scan: Scan) -> None:
    code = "import torch\ntorch.jit.script(m)"
    assert "TS003" in rules(scan(code, python="3.14"))
    assert "TS003" not in rules(scan(code, python="3.13"))
    assert "TS003" not in rules(scan(code))


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# torchinstall: ignore", []),
        ("# torchinstall: ignore[LA003]", []),
        ("# noqa  # torchinstall: ignore[TS001, LA003]", []),
        ("# torchinstall:ignore[la003]", []),
        ("# torchinstall: ignore[TS001]", ["LA003"]),
        ("# torchinstall: ignored", ["LA003"]),
        ("# torchinstall", ["LA003"]),
    ],
)
def test_comments_silence_their_line(scan: Scan, comment: str, left: list[str]) -> None:
    code = f"import torch\ntorch.qr(a)  {comment}\ntorch.symeig(a)\n"
    kept, quiet = silenced(scan(code), Comments(code.encode()))
    assert rules(kept) == [*left, "LA001"]
    assert quiet == 1 - len(left)


def test_a_comment_silences_a_file(scan: Scan) -> None:
    code = "# torchinstall: ignore-file[LA003]\nimport torch\ntorch.qr(a)\ntorch.symeig(a)\n"
    assert rules(silenced(scan(code), Comments(code.encode()))[0]) == ["LA001"]
    code = code.replace("[LA003]", "")
    assert silenced(scan(code), Comments(code.encode())) == ([], 2)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print 'hello'", "Python 2"),
        ("try:\n    pass\nexcept A, e:\n    pass", "Python 2"),
        ("def f(:", "line 1"),
        ("x = " + "(" * 5000 + ")" * 5000, "pars"),
        ("a\x00b", "parse"),
    ],
)
def test_what_is_not_python_says_why(code: str, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        parse(code.encode(), "x")


def test_a_deep_expression_is_no_trouble(scan: Scan) -> None:
    code = "import torch\nx = " + " + ".join(["1"] * 600) + "\ny = a" + ".b" * 80 + "\ntorch.qr(x)"
    assert rules(scan(code)) == ["LA003"]


def test_circular_aliases_end(scan: Scan) -> None:
    assert scan("import torch\na = b.c\nb = a.d\na.qr()\nb.qr()") == []
